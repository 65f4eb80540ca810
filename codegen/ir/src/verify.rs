//! What makes a function right. A function that passes here is executed, lowered and printed without
//! a panic; whatever may be wrong with it is found here, with its place in the kernel's source.
//!
//! Structure
//! 1. Ids are in their tables; a value's recorded origin is its place; a reached instruction or
//!    region stands in exactly one place; regions are nested at most [`crate::MAX_NESTING`] deep (V0004).
//! 2. A region ends in its only `yield`; the function's own yields nothing (V0005).
//! 3. Parameters are views and scalars of at least 8 bits, not tf32, with distinct plain names; the
//!    function's own region has none (V0006).
//! 4. Assumptions fit their parameter: axis, multiple ≥ 1, power-of-two alignment (V0007).
//! 5. A value is used after its definition, in its region or one nested in it (V0003).
//!
//! Types
//! 6. Tiles have 1 to 5 axes, extents ≥ 1, at most [`MAX_TILE_ELEMENTS`]; views 1 to 5 axes (V0015).
//! 7. View elements have at least 8 bits and are not tf32 (V0023).
//! 8. Views are operands of `dim`, `load`, `store` and `atomic` only, and those take views; ops on
//!    tiles take tiles, ops on scalars scalars (V0010).
//! 9. Result types are what [`crate::result_types`] says (V0017).
//!
//! Elements: "arithmetic" is f64, f32, f16, bf16 and integers of 8 to 64 bits
//! 10. `const`: a value of its type (V0016). `iota`: integers of at least 8 bits (V0011).
//! 11. `neg abs add sub mul div rem max min`: arithmetic. `not and or xor`: integers of at least 8 bits,
//!     bool. `shl shr`: integers of at least 8 bits. `sqrt rsqrt recip floor ceil round trunc`: f64, f32,
//!     f16, bf16. `exp exp2 ln log2 sin cos tanh erf`: f32. `fma`: f32, f64 (V0011).
//! 12. Operands of an element-wise op have one type; the condition of `select` is bool of that shape
//!     (V0012).
//! 13. `cmp`: arithmetic; `eq` and `ne` also bool (V0011).
//! 14. `cast`: any to any. `bitcast`: equal width, neither bool, result not tf32 (V0020).
//! 15. `reduce`, `scan`: `max min` on arithmetic; `sum prod` on f32, f64 and integers; `and or xor` as
//!     in 11. `arg_reduce`, `sort`: arithmetic (V0011). Their axis exists (V0014).
//! 16. `histogram`: a rank-1 tile of i32. `philox`: key u64, counters u32 of one type (V0011, V0012).
//!
//! Shapes
//! 17. `reshape` keeps the number of elements; `transpose` is a permutation; `broadcast` keeps the rank
//!     and extents other than 1; `slice` stays inside; `join` takes equal tiles; `split` takes a last
//!     axis of 2 of at least two axes (V0013).
//!
//! Memory
//! 18. One coordinate and one bound per axis of the view; a tile's rank is the view's; a span is an i64
//!     scalar, rows an i32 or i64 tile `[extent]`, a gather one of the tile's shape, a limit an i64
//!     scalar; a single element is at spans (V0021).
//! 19. `store` and `atomic` need a mutable view (V0022) and a value of its element type, as does the
//!     `other` of a load (V0024).
//! 20. `atomic`: add on 32- and 64-bit integers, f32, f64; exchange on those too; the rest on those
//!     integers (V0025).
//! 21. `dim` names an axis of the view (V0014), `program_id` and `num_programs` a grid axis (V0050).
//!
//! Products
//! 22. `mma`: floats of at most 32 bits (not e8m0) to f32, f64 to f64, 4- and 8-bit integers to i32
//!     (V0030); shapes [M, K], [K, N], [M, N] (V0031).
//! 23. `mma_scaled`: as the first of these; scales of f32, e8m0 or f8e4m3 by groups that divide K (V0032).
//!
//! Control flow
//! 24. Bounds and step of `for` are i64 scalars, a constant step ≥ 1; conditions are bool scalars; the
//!     condition region yields one (V0041).
//! 25. Carried values have one type at the start, in region parameters and at each yield; both branches
//!     of an `if` yield the same types; no views are carried or yielded (V0040).

mod control;
mod elements;
mod memory;
mod products;
mod shapes;
mod signature;
mod structure;

use crate::builder::result_types;
use crate::codes;
use crate::diag::Diagnostic;
use crate::func::*;
use crate::op::TileOp;
use crate::span::Span;
use crate::types::Type;
use tilewright_abi::DType;

/// The most elements a tile may have.
pub const MAX_TILE_ELEMENTS: usize = 1 << 20;
/// The most axes a tile or view may have.
pub const MAX_RANK: usize = 5;
/// Messages are collected up to this many.
const MAX_MESSAGES: usize = 100;

/// Checks every rule; all faults found, in program order.
pub fn verify(f: &Func) -> Result<(), Vec<Diagnostic>> {
    // The later rules index the tables, so they run only on a sound structure.
    structure::check(f)?;
    let mut v = Verifier { f, visible: vec![false; f.values.len()], errors: Vec::new() };
    v.signature();
    v.region(Func::BODY);
    if v.errors.is_empty() { Ok(()) } else { Err(v.errors) }
}

struct Verifier<'f> {
    f: &'f Func,
    /// Values whose definition was passed and whose region is open.
    visible: Vec<bool>,
    errors: Vec<Diagnostic>,
}

/// What a rule gives: the first fault of an instruction.
type Rule = Result<(), Diagnostic>;

impl<'f> Verifier<'f> {
    fn report(&mut self, d: Diagnostic) {
        if self.errors.len() < MAX_MESSAGES {
            self.errors.push(d);
        }
    }

    fn show(&mut self, values: &[Value], visible: bool) {
        for v in values {
            if let Some(slot) = self.visible.get_mut(v.index()) {
                *slot = visible;
            }
        }
    }

    fn region(&mut self, r: RegionId) {
        let region = self.f.region(r);
        self.show(&region.params, true);
        for i in &region.insts {
            let inst = self.f.inst(*i);
            self.inst(inst);
            self.show(&inst.results, true);
        }
        for i in &region.insts {
            self.show(&self.f.inst(*i).results, false);
        }
        self.show(&region.params, false);
    }

    fn inst(&mut self, inst: &'f InstData) {
        let hidden = inst.op.operands().into_iter().find(|v| !self.visible[v.index()]);
        let checked = match hidden {
            Some(v) => Err(self.hidden(v, &inst.op)),
            None => self.rule(inst).and_then(|()| self.results(inst)),
        };
        if let Err(d) = checked {
            let d = if d.span.is_known() { d } else { d.at(&inst.span) };
            self.report(d);
        }
        for r in inst.op.regions() {
            self.region(r);
        }
    }

    fn hidden(&self, v: Value, op: &TileOp) -> Diagnostic {
        let message = format!("`{}` uses a value that does not exist here", op.name());
        let d = Diagnostic::new(codes::VISIBILITY, message);
        let d = d.note("the value was made in a loop or branch that has ended, or is made later");
        let d = d.help("let the region yield the value and use the result instead");
        match self.f.def_inst(v).map(|i| &self.f.inst(i).span) {
            Some(Span { file, line, col, .. }) if *line != 0 => {
                d.note(format!("the value was made at {file}:{line}:{col}"))
            }
            _ => d,
        }
    }

    fn rule(&self, inst: &InstData) -> Rule {
        match &inst.op {
            TileOp::Const(_)
            | TileOp::Iota { .. }
            | TileOp::Unary { .. }
            | TileOp::Binary { .. }
            | TileOp::Compare { .. }
            | TileOp::Fma { .. }
            | TileOp::Select { .. }
            | TileOp::Cast { .. }
            | TileOp::Bitcast { .. }
            | TileOp::Histogram { .. }
            | TileOp::Philox { .. } => self.elements(&inst.op),
            TileOp::Splat { .. }
            | TileOp::Reshape { .. }
            | TileOp::Transpose { .. }
            | TileOp::Broadcast { .. }
            | TileOp::Slice { .. }
            | TileOp::Join { .. }
            | TileOp::Split { .. }
            | TileOp::Reduce { .. }
            | TileOp::ArgReduce { .. }
            | TileOp::Scan { .. }
            | TileOp::Sort { .. } => self.shapes(&inst.op),
            TileOp::Dim { .. }
            | TileOp::Load { .. }
            | TileOp::Store { .. }
            | TileOp::Atomic { .. }
            | TileOp::ProgramId { .. }
            | TileOp::NumPrograms { .. } => self.memory(&inst.op),
            TileOp::Mma { .. } | TileOp::MmaScaled { .. } => self.products(&inst.op),
            TileOp::For { .. } | TileOp::While { .. } | TileOp::If { .. } => self.control(&inst.op),
            // Where a `yield` stands is a matter of structure, what it yields of the op around it.
            TileOp::Yield { .. } => Ok(()),
        }
    }

    /// Rules 6 and 9.
    fn results(&self, inst: &InstData) -> Rule {
        let follow = result_types(self.f, &inst.op);
        let stated: Vec<&Type> = inst.results.iter().map(|v| self.f.ty(*v)).collect();
        if !follow.iter().eq(stated.iter().copied()) {
            let text = |types: Vec<&Type>| {
                types.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ")
            };
            let message = format!("the result of `{}` has another type", inst.op.name());
            return Err(Diagnostic::new(codes::RESULT, message).label(format!(
                "its operands give {}, it is declared {}",
                text(follow.iter().collect()),
                text(stated)
            )));
        }
        follow.iter().try_for_each(tile_size)
    }

    fn ty(&self, v: Value) -> &'f Type {
        self.f.ty(v)
    }

    /// Rule 8: a tile or scalar.
    fn data(&self, op: &TileOp, v: Value) -> Rule {
        match self.ty(v) {
            Type::View(_) => Err(self.form(op, "a tile or a scalar", v)),
            Type::Scalar(_) | Type::Tile(_) => Ok(()),
        }
    }

    /// Rule 8: a tile; its shape.
    fn tile(&self, op: &TileOp, v: Value) -> Result<&'f [usize], Diagnostic> {
        match self.ty(v) {
            Type::Tile(t) => Ok(&t.shape),
            Type::View(_) | Type::Scalar(_) => Err(self.form(op, "a tile", v)),
        }
    }

    /// Rule 8: a scalar; its type.
    fn scalar(&self, op: &TileOp, v: Value) -> Result<DType, Diagnostic> {
        match self.ty(v) {
            Type::Scalar(d) => Ok(*d),
            Type::View(_) | Type::Tile(_) => Err(self.form(op, "a scalar", v)),
        }
    }

    fn form(&self, op: &TileOp, wants: &str, v: Value) -> Diagnostic {
        let ty = self.ty(v);
        let d = Diagnostic::new(codes::FORM, format!("`{}` takes {wants} here", op.name()))
            .label(format!("this is `{ty}`"));
        match ty {
            Type::View(_) => d.help("load from the view first"),
            Type::Scalar(_) => d.help("make it a tile with `splat`"),
            Type::Tile(_) => d,
        }
    }

    fn same(&self, op: &TileOp, a: Value, b: Value) -> Rule {
        let (a, b) = (self.ty(a), self.ty(b));
        if a == b {
            return Ok(());
        }
        let d = Diagnostic::new(
            codes::OPERANDS,
            format!("the operands of `{}` have different types", op.name()),
        );
        let d = d.label(format!("`{a}` and `{b}`"));
        Err(if a.elem() != b.elem() { d.help("cast one of them") } else { d })
    }
}

/// Rule 6 for a result.
fn tile_size(ty: &Type) -> Rule {
    let Type::Tile(t) = ty else { return Ok(()) };
    let fault = match t.shape.len() {
        0 => "a tile has at least one axis".to_owned(),
        n if n > MAX_RANK => format!("a tile has at most {MAX_RANK} axes, this one {n}"),
        _ if t.is_empty() => "every extent of a tile is at least 1".to_owned(),
        _ if t.len() > MAX_TILE_ELEMENTS => {
            format!("a tile has at most {MAX_TILE_ELEMENTS} elements")
        }
        _ => return Ok(()),
    };
    Err(Diagnostic::new(codes::TILE_SIZE, fault).label(format!("`{ty}`")))
}
