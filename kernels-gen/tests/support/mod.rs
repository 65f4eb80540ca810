//! Runs the registry's implementations on the interpreter, as a plan would on a device.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeMap;
use tilewright_abi::{Arg, DType, Expr, Family, MmaCap, TargetCaps, TargetId};
use tilewright_codegen::interp::{self, convert};
use tilewright_ir::Rounding;
use tilewright_kernels::{ImplDef, OpEntry, registry};

/// A row-major tensor on the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub dtype: DType,
    pub dims: Vec<i64>,
    pub bytes: Vec<u8>,
    /// Elements between rows of a rank-2 tensor; at least its columns.
    pub row_stride: i64,
}

impl Tensor {
    /// From values, rounded to the dtype.
    pub fn new(dtype: DType, dims: &[i64], values: &[f64]) -> Tensor {
        let size = dtype.bytes_for(1);
        let bytes = values.iter().flat_map(|&x| encode(dtype, x)[..size].to_vec()).collect();
        Tensor::raw(dtype, dims, bytes)
    }

    pub fn raw(dtype: DType, dims: &[i64], bytes: Vec<u8>) -> Tensor {
        let row_stride = dims.last().copied().unwrap_or(1);
        assert_eq!(bytes.len(), dims.iter().product::<i64>() as usize * dtype.bytes_for(1));
        Tensor { dtype, dims: dims.to_vec(), bytes, row_stride }
    }

    /// All bits set: NaN for floats, −1 or the maximum for integers.
    pub fn poisoned(dtype: DType, dims: &[i64]) -> Tensor {
        let n = dims.iter().product::<i64>() as usize * dtype.bytes_for(1);
        Tensor::raw(dtype, dims, vec![0xff; n])
    }

    /// Rank 2 with poisoned space between the rows.
    pub fn spread(&self, row_stride: i64) -> Tensor {
        let size = self.dtype.bytes_for(1);
        let mut bytes = vec![0xff; (self.dims[0] * row_stride) as usize * size];
        let len = self.dims[1] as usize * size;
        for i in 0..self.dims[0] as usize {
            let at = i * row_stride as usize * size;
            bytes[at..at + len].copy_from_slice(&self.bytes[i * len..(i + 1) * len]);
        }
        Tensor { bytes, row_stride, ..self.clone() }
    }

    pub fn values(&self) -> Vec<f64> {
        let size = self.dtype.bytes_for(1);
        let value = |e: &[u8]| {
            let mut word = [0u8; 8];
            word[..size].copy_from_slice(e);
            let bits = u64::from_le_bytes(word);
            match self.dtype.is_float() {
                true => convert::decode(self.dtype, bits),
                false => convert::decode_int(self.dtype, bits) as i64 as f64,
            }
        };
        let all: Vec<f64> = self.bytes.chunks_exact(size).map(value).collect();
        let cols = self.dims.last().copied().unwrap_or(1) as usize;
        if cols == 0 {
            return Vec::new();
        }
        all.chunks(self.row_stride as usize).flat_map(|row| row[..cols].to_vec()).collect()
    }
}

fn encode(dtype: DType, x: f64) -> [u8; 8] {
    let bits = match dtype.is_float() {
        true => convert::encode(dtype, x, Rounding::NearestEven, false),
        false => convert::encode_int(dtype, x as i64 as u64),
    };
    bits.to_le_bytes()
}

/// A fixed sequence of numbers in −1 .. 1.
pub struct Noise(pub u64);

impl Noise {
    pub fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as u32
    }

    pub fn float(&mut self) -> f64 {
        f64::from(self.bits()) / f64::from(1u32 << 30) - 1.0
    }

    pub fn floats(&mut self, n: i64) -> Vec<f64> {
        (0..n).map(|_| self.float()).collect()
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.bits() as u8).collect()
    }
}

/// Capabilities like those of AVX2.
pub fn caps() -> TargetCaps {
    let cap = |a, b, acc, k_group| MmaCap { a, b, acc, k_group };
    TargetCaps {
        id: TargetId::new("cpu/x86-64-v3"),
        family: Family::Cpu,
        vector_bytes: 32,
        vector_regs: 16,
        mma: vec![
            cap(DType::F32, DType::F32, DType::F32, 1),
            cap(DType::BF16, DType::BF16, DType::F32, 2),
            cap(DType::I8, DType::U8, DType::I32, 4),
        ],
    }
}

pub type Tensors = BTreeMap<&'static str, Tensor>;

/// A problem: an op, its axes, attributes and scalars.
pub struct Problem<'a> {
    pub op: &'a str,
    pub axes: &'a [(&'a str, i64)],
    pub attrs: &'a [(&'a str, &'a str)],
    pub scalars: &'a [(&'a str, f64)],
}

pub fn entry(op: &str) -> OpEntry {
    registry().into_iter().find(|e| e.spec.name == op).unwrap_or_else(|| panic!("no op {op}"))
}

fn matches(entry: &OpEntry, def: &ImplDef, p: &Problem<'_>, tensors: &Tensors) -> bool {
    let sym = |s: &str| p.axes.iter().find(|a| a.0 == s).map(|a| a.1);
    let dtypes = entry.spec.tensors.iter().all(|t| {
        let stated = def.dtypes.get(&t.name).copied();
        match tensors.get(t.name.as_str()) {
            Some(given) => stated.or_else(|| t.implied_dtype()) == Some(given.dtype),
            None => t.optional && stated.is_none(),
        }
    });
    let attrs = entry.spec.attrs.iter().all(|a| {
        let default = a.values[0].as_str();
        let wanted = p.attrs.iter().find(|x| x.0 == a.name).map_or(default, |x| x.1);
        def.attrs.get(&a.name).map_or(default, String::as_str) == wanted
    });
    dtypes && attrs && def.when.iter().all(|c| c.eval(&sym) == Some(true))
}

/// Runs every implementation that applies, each on its own copy of the tensors; gives them all.
pub fn run_all(p: &Problem<'_>, tensors: &Tensors) -> Vec<(String, Tensors)> {
    let entry = entry(p.op);
    let sym = |s: &str| p.axes.iter().find(|a| a.0 == s).map(|a| a.1);
    for t in &entry.spec.tensors {
        if let Some(given) = tensors.get(t.name.as_str()) {
            let dims: Vec<i64> = t.shape.iter().map(|e| e.eval(&sym).expect("an axis")).collect();
            assert_eq!(dims, given.dims, "{}: shape of {}", p.op, t.name);
        }
    }
    let mut out = Vec::new();
    for def in (entry.impls)(&caps()) {
        if matches(&entry, &def, p, tensors) {
            let mut own = tensors.clone();
            run(&entry, &def, p, &mut own);
            out.push((def.to_impl(p.op).id(), own));
        }
    }
    assert!(!out.is_empty(), "{}: no implementation applies", p.op);
    out
}

fn run(entry: &OpEntry, def: &ImplDef, p: &Problem<'_>, tensors: &mut Tensors) {
    let sym = |s: &str| p.axes.iter().find(|a| a.0 == s).map(|a| a.1);
    let eval = |e: &Expr| e.eval(&sym).unwrap_or_else(|| panic!("{}: `{e}`", p.op));
    let scratch = |w: &tilewright_abi::Workspace| {
        let dims: Vec<i64> = w.dims.iter().map(eval).collect();
        (w.name.clone(), Tensor::poisoned(w.dtype, &dims))
    };
    let mut workspace: BTreeMap<String, Tensor> = def.workspace.iter().map(scratch).collect();
    for launch in &def.launches {
        let func = (launch.stage)().unwrap_or_else(|d| panic!("{}", d[0].render()));
        let mut held: Vec<Option<Tensor>> = Vec::new();
        for arg in &launch.args {
            held.push(match arg {
                Arg::Tensor { name, view } => {
                    let mut t = tensors[name.as_str()].clone();
                    if let Some(dims) = view {
                        t.dims = dims.iter().map(eval).collect();
                        t.row_stride = t.dims.last().copied().unwrap_or(1);
                    }
                    Some(t)
                }
                Arg::Workspace(name) => Some(workspace[name].clone()),
                Arg::Scalar(_) | Arg::Axis(_) => None,
            });
        }
        let grid = [0, 1, 2].map(|i| eval(&launch.grid[i]));
        let mut args = Vec::new();
        for ((arg, held), param) in launch.args.iter().zip(&mut held).zip(&func.params) {
            let elem = func.ty(param.value).elem();
            args.push(match (arg, held) {
                (_, Some(t)) => {
                    let mut strides = vec![1i64; t.dims.len()];
                    for i in (1..t.dims.len()).rev() {
                        let extent = if i + 1 == t.dims.len() { t.row_stride } else { t.dims[i] };
                        strides[i - 1] = strides[i] * extent;
                    }
                    let (data, dtype, dims) = (&mut t.bytes[..], t.dtype, t.dims.clone());
                    interp::Arg::View { data, dtype, dims, strides, offset: 0 }
                }
                (Arg::Scalar(name), None) => {
                    let spec = entry.spec.scalar(name).expect("a scalar of the spec");
                    let given = p.scalars.iter().find(|s| s.0 == name).map(|s| s.1);
                    let value = given.or(spec.default).expect("a value");
                    match elem.is_float() {
                        true => interp::Arg::float(elem, value),
                        false => interp::Arg::int(elem, value as i64),
                    }
                }
                (Arg::Axis(e), None) => interp::Arg::int(elem, eval(e)),
                _ => unreachable!(),
            });
        }
        let options = interp::Options { check_races: true, max_steps: None };
        if let Err(d) = interp::run_with(&func, &mut args, grid, &options) {
            panic!("{}: {}", launch.kernel, d.render());
        }
        drop(args);
        for ((arg, held), param) in launch.args.iter().zip(held).zip(&func.params) {
            let mutable = matches!(func.ty(param.value), tilewright_ir::Type::View(v) if v.mutable);
            match (arg, held) {
                (Arg::Tensor { name, .. }, Some(t)) if mutable => {
                    tensors.get_mut(name.as_str()).expect("bound").bytes = t.bytes;
                }
                (Arg::Workspace(name), Some(t)) if mutable => {
                    workspace.get_mut(name).expect("bound").bytes = t.bytes;
                }
                _ => {}
            }
        }
    }
}

/// `‖got − want‖ ≤ bound · ‖want‖`, and not a NaN on one side only.
pub fn assert_close(what: &str, got: &[f64], want: &[f64], bound: f64) {
    assert_eq!(got.len(), want.len(), "{what}: length");
    let (mut error, mut norm) = (0.0, 0.0);
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert_eq!(g.is_nan(), w.is_nan(), "{what}: element {i}: {g} for {w}");
        if !w.is_nan() && g != w {
            error += (g - w) * (g - w);
        }
        if w.is_finite() {
            norm += w * w;
        }
    }
    let first = got.iter().zip(want).position(|(g, w)| (g - w).abs() > bound * norm.sqrt());
    assert!(
        error.sqrt() <= bound * norm.sqrt(),
        "{what}: relative error {:e} above {bound:e}, first at {first:?}",
        (error / norm).sqrt()
    );
}
