//! Which GEMM variants there are for a target, and which problem takes which.
//!
//! The register tile is `[block_m, 16]`. `block_m` follows from the vector registers: the sums of a
//! row take `16 / lanes` of them, twice that where integer sums are turned into f32 ones per group,
//! and a few are left for operands. One row and a few rows have their own forms: a decode step
//! wants no surplus rows. Nothing else depends on the target.

use super::epilogue::Epilogue;
use super::form::{Form, Kind};
use super::rows::{Routing, over_chunk, over_routed};
use super::spec::FLOATS;
use crate::common::dispatch::for_float;
use crate::common::format::{PANEL_N, Packed, Source};
use crate::{ImplDef, StageFn};
use tilewright_abi::{Arg, DType, TargetCaps, Variant};
use tilewright_dsl::prelude::*;

/// Block sizes of one variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tiling {
    /// Rows of the register tile.
    pub(crate) block_m: usize,
    /// Rows of `a` that one program passes over its panel.
    pub(crate) chunk_m: usize,
}

/// Rows whose part of `a` should stay in a near cache while panels pass.
const CHUNK_ROWS: usize = 96;
/// More rows do not help once every product has its operand in a register.
const MAX_BLOCK_M: usize = 14;

impl Tiling {
    fn new(block_m: usize) -> Tiling {
        Tiling { block_m, chunk_m: (CHUNK_ROWS / block_m).max(1) * block_m }
    }

    fn variant(self) -> Variant {
        Variant::new().with("bm", self.block_m).with("cm", self.chunk_m)
    }
}

/// The tilings of a kind of kernel, smallest first; each is for `m` of at least its `block_m`.
fn tilings(kind: Kind, caps: &TargetCaps) -> Vec<Tiling> {
    let vectors = PANEL_N.div_ceil(caps.lanes(DType::F32).max(1) as usize);
    let registers = caps.vector_regs as usize;
    let most = match kind {
        Kind::Dense | Kind::Exact | Kind::Channel => {
            registers.saturating_sub(2 + vectors) / vectors
        }
        Kind::Int8 => registers.saturating_sub(2 * vectors) / (2 * vectors),
    };
    let most = most.clamp(1, MAX_BLOCK_M);
    let mut sizes = vec![1];
    sizes.extend((most > 4).then_some(4));
    sizes.extend((most > 1).then_some(most));
    sizes.into_iter().map(Tiling::new).collect()
}

/// The four forms of the epilogue as bindings of one kernel.
#[derive(Clone, Copy)]
struct Tail {
    bias: bool,
    residual: bool,
}

const BARE: Tail = Tail { bias: false, residual: false };
const TAILS: [Tail; 4] = [
    BARE,
    Tail { bias: false, residual: true },
    Tail { bias: true, residual: false },
    Tail { bias: true, residual: true },
];

impl Tail {
    /// Adds the bindings of [`Epilogue::params`] and what they need. An absent operand is bound to
    /// an unread element of workspace.
    fn bind(self, mut def: ImplDef, args: &mut Vec<Arg>, c: DType) -> ImplDef {
        if self.bias {
            def = def.dtype("bias", DType::F32);
            args.push(Arg::tensor("bias"));
        } else {
            def = def.workspace("no_bias", DType::F32, &["1"]);
            args.push(Arg::workspace("no_bias"));
        }
        if self.residual {
            def = def.dtype("residual", c);
            args.push(Arg::tensor("residual"));
        } else {
            def = def.workspace("no_residual", c, &["1", "1"]);
            args.push(Arg::workspace("no_residual"));
        }
        args.push(Arg::tensor("c"));
        args.extend([self.bias, self.residual].map(|b| Arg::axis(i64::from(b))));
        def.dtype("c", c)
    }
}

fn with_dtypes(mut def: ImplDef, form: &Form) -> ImplDef {
    for (name, dtype) in form.tensors() {
        if let Some(dtype) = dtype {
            def = def.dtype(name, dtype);
        }
    }
    def
}

fn chunk_stage(form: Form, tiling: Tiling, name: String) -> StageFn {
    Box::new(move || {
        stage(&name, |s| {
            let tile = form.tile(s);
            for_float!(form.c, C => over_chunk(Epilogue::<C>::params(s), tiling, &*tile))
        })
    })
}

/// `gemm.<packed>` for each tiling and epilogue.
fn chunk_impls(form: Form, op: &str, caps: &TargetCaps) -> Vec<ImplDef> {
    let mut out = Vec::new();
    for tiling in tilings(form.kind, caps) {
        let name = format!("{op}.{}.{}-{}", form.algorithm(), form.a, form.c);
        let kernel = format!("{name}.{}", tiling.variant());
        for tail in TAILS {
            let mut def = ImplDef::new(form.algorithm(), tiling.variant());
            def = with_dtypes(def, &form).priority(tiling.block_m as i32);
            if tiling.block_m > 1 {
                def = def.when(&format!("m >= {}", tiling.block_m));
            }
            let mut args = form.args();
            let def = tail.bind(def, &mut args, form.c);
            let stage = chunk_stage(form, tiling, format!("{op}_{}", form.algorithm()));
            let grid = chunk_grid(tiling);
            out.push(def.launch(kernel.clone(), stage, args, &[&grid[0], &grid[1]]));
        }
    }
    out
}

fn chunk_grid(tiling: Tiling) -> [String; 2] {
    [format!("ceil_div(n, {PANEL_N})"), format!("ceil_div(m, {})", tiling.chunk_m)]
}

/// Operand types that `gemm.<packed>` has kernels for: of `a` and `c`.
fn types(p: Packed) -> Vec<(DType, DType)> {
    let same = FLOATS.map(|d| (d, d));
    let int8 = FLOATS.map(|c| (DType::I8, c));
    match (p, p.group()) {
        (Packed::I8, _) => int8.to_vec(),
        (_, Some(_)) => [int8, same].concat(),
        (_, None) => [&same[..], &[(DType::BF16, DType::F32), (DType::F16, DType::F32)]].concat(),
    }
}

/// The implementations of `gemm.<packed>`.
pub(crate) fn packed_impls(p: Packed, caps: &TargetCaps) -> Vec<ImplDef> {
    let op = format!("gemm.{}", p.name());
    let forms = types(p).into_iter().map(|(a, c)| Form::new(p, a, c, caps));
    forms.flat_map(|form| chunk_impls(form, &op, caps)).collect()
}

/// The implementations of `moe.gemm_<packed>`: one block size, fixed by the alignment of the slots.
pub(crate) fn routed_impls(p: Packed, block_m: usize, caps: &TargetCaps) -> Vec<ImplDef> {
    let op = format!("moe.gemm_{}", p.name());
    let one = |(a, c): (DType, DType)| {
        let form = Form::new(p, a, c, caps);
        let variant = Variant::new().with("bm", block_m);
        let name = format!("{op}.{}.{a}-{c}.{variant}", form.algorithm());
        let symbol = format!("{op}_{}", form.algorithm());
        let stage: StageFn = Box::new(move || {
            stage(&symbol, |s| {
                let tile = form.tile(s);
                for_float!(c, C => {
                    let e = Epilogue::<C>::params(s);
                    over_routed(e, Routing::params(s), block_m, &*tile)
                })
            })
        });
        let mut args = form.args();
        let def = with_dtypes(ImplDef::new(form.algorithm(), variant), &form);
        let def = BARE.bind(def, &mut args, c);
        args.extend([Arg::tensor("slots"), Arg::tensor("experts"), Arg::axis("slots_per_row")]);
        let grid = format!("ceil_div(n, {PANEL_N})");
        def.launch(name, stage, args, &[&grid, "num_blocks"])
    };
    types(p).into_iter().map(one).collect()
}

/// The implementations of `gemm.plain`: pack `b` into workspace, then the product with a packed weight.
pub(crate) fn plain_impls(caps: &TargetCaps) -> Vec<ImplDef> {
    let mut out = Vec::new();
    for source in [Source::F32, Source::BF16, Source::F16] {
        let d = source.dtype();
        for c in if d == DType::F32 { vec![d] } else { vec![d, DType::F32] } {
            let form = Form::new(source.packed(), d, c, caps);
            let packed = super::spec::panel_lens(source.packed()).codes;
            for def in chunk_impls(form, &format!("gemm.{d}"), caps) {
                out.push(with_packing(def, source, &packed));
            }
        }
    }
    out
}

/// `def` with `b` packed first.
fn with_packing(mut def: ImplDef, source: Source, len: &str) -> ImplDef {
    let panels = format!("ceil_div(n, {PANEL_N})");
    def = def.dtype("b", source.dtype());
    def = def.workspace("panels", source.dtype(), &[&panels, len]);
    for launch in &mut def.launches {
        for arg in &mut launch.args {
            if *arg == Arg::tensor("b") {
                *arg = Arg::workspace("panels");
            }
        }
    }
    let args = vec![Arg::tensor("b"), Arg::workspace("panels"), Arg::axis(0), Arg::axis(1)];
    let (kernel, stage) = super::pack::kernel(source);
    let product = std::mem::take(&mut def.launches);
    def = def.launch(kernel, stage, args, &[&panels]);
    def.launches.extend(product);
    def.algorithm = format!("pack_{}", def.algorithm);
    def
}
