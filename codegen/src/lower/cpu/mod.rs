//! Lowering of scheduled tile IR for host processors.
//!
//! In: a function with a layout for each tile and a plan for each mma. Out: a LIR module whose
//! first function is `void (ptr args, ptr grid, i64 begin, i64 end)`; it runs the program ids
//! `begin .. end`, counted along axis 0 first. `args` has one 8-byte word for a scalar and for a
//! view its address, its extents and its strides in elements.
//!
//! A tile is a list of vectors, one for each register number of its layout. Every operation is
//! unrolled over them. A lane outside the tile holds some number, never an undefined one.

mod cast;
mod control;
mod convert;
mod elementwise;
mod helpers;
mod math;
mod memory;
mod microkernel;
mod reduce;
mod scatter;
mod shape;
mod sort;
mod special;

use crate::lir::{Builder, Elem, Module, Op, Ty, Val};
use crate::pass::Program;
use crate::target::TargetDesc;
use elementwise::elem_of;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use tilewright_abi::DType;
use tilewright_ir::{Diagnostic, Dim, Func, Inst, Layout, RegionId, TileOp, Value};

/// A tile in registers.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    layout: Rc<Layout>,
    shape: Vec<usize>,
    /// By register number; `None` where the whole register lies outside the tile.
    regs: Vec<Option<Val>>,
}

/// A view's words.
#[derive(Clone, Debug)]
struct View {
    base: Val,
    dims: Vec<Val>,
    /// In elements.
    strides: Vec<Val>,
    dtype: DType,
}

/// What a tile-IR value is in LIR.
#[derive(Clone, Debug)]
enum Bound {
    Nothing,
    Scalar(Val),
    Tile(Tile),
    View(Rc<View>),
}

/// State of the lowering of one function.
struct Cx<'a> {
    program: &'a Program,
    f: &'a Func,
    target: &'a TargetDesc,
    b: Builder,
    env: Vec<Bound>,
    grid: Vec<Val>,
    program_id: Vec<Val>,
    /// Stack memory of the slow paths, of which one runs at a time.
    scratch: Option<Val>,
    inst: Inst,
}

type Result<T> = std::result::Result<T, Diagnostic>;

/// Lowers a whole function.
pub(crate) fn lower(
    program: &Program,
    target: &TargetDesc,
    symbol: &str,
) -> std::result::Result<Module, Diagnostic> {
    let f = &program.func;
    let (ptr, i64) = (Ty::scalar(Elem::Ptr), Ty::scalar(Elem::I64));
    let mut b = Builder::new(symbol, &[ptr, ptr, i64, i64], None);
    b.func.exported = true;
    let mut cx = Cx {
        program,
        f,
        target,
        b,
        env: vec![Bound::Nothing; f.values.len()],
        grid: Vec::new(),
        program_id: Vec::new(),
        scratch: None,
        inst: Inst(0),
    };
    cx.function()?;
    let mut module = Module { funcs: vec![cx.b.func], texts: Vec::new() };
    add_helpers(&mut module);
    Ok(module)
}

/// Adds the text of each helper called.
fn add_helpers(m: &mut Module) {
    let mut names = BTreeSet::new();
    for f in &m.funcs {
        for inst in &f.insts {
            if let Op::Call { callee, .. } = &inst.op {
                names.insert(callee.clone());
            }
        }
    }
    m.texts = names.into_iter().filter_map(|n| helpers::text(&n).map(|t| (n, t))).collect();
}

impl<'a> Cx<'a> {
    fn fail<T>(&self, code: &'static str, message: impl Into<String>) -> Result<T> {
        Err(Diagnostic::new(code, message).at(&self.f.inst(self.inst).span))
    }

    /// A fault of this compiler, told as one.
    fn bug<T>(&self, what: &str) -> Result<T> {
        self.fail("L0009", format!("{what}; this is a fault of the compiler, please report it"))
    }

    /// Stack memory for one access; what another access left there is gone.
    fn scratch(&mut self, bytes: u64) -> Val {
        match self.scratch {
            Some(v) => {
                self.b.grow(v, bytes);
                v
            }
            None => {
                let v = self.b.alloca(bytes);
                self.scratch = Some(v);
                v
            }
        }
    }

    fn dtype(&self, v: Value) -> DType {
        self.f.ty(v).elem()
    }

    fn set(&mut self, v: Value, bound: Bound) {
        if let Some(slot) = self.env.get_mut(v.index()) {
            *slot = bound;
        }
    }

    fn scalar(&self, v: Value) -> Result<Val> {
        match self.env.get(v.index()) {
            Some(Bound::Scalar(x)) => Ok(*x),
            _ => self.bug("a scalar is missing"),
        }
    }

    fn view(&self, v: Value) -> Result<Rc<View>> {
        match self.env.get(v.index()) {
            Some(Bound::View(x)) => Ok(x.clone()),
            _ => self.bug("a view is missing"),
        }
    }

    fn tile(&self, v: Value) -> Result<Tile> {
        match self.env.get(v.index()) {
            Some(Bound::Tile(t)) => Ok(t.clone()),
            _ => self.bug("a tile is missing"),
        }
    }

    /// The layout that the passes chose for a value.
    fn layout(&self, v: Value) -> Result<Rc<Layout>> {
        match self.program.layouts.get(v.index()) {
            Some(Some(l)) => Ok(l.clone()),
            _ => self.bug("a tile has no layout"),
        }
    }

    /// A tile operand in a given layout.
    fn tile_in(&mut self, v: Value, layout: &Rc<Layout>) -> Result<Tile> {
        let t = self.tile(v)?;
        let elem = elem_of(self.dtype(v));
        Ok(convert::convert(&mut self.b, &t, layout, elem))
    }

    /// Binds a result, converted to the layout chosen for it.
    fn set_tile(&mut self, v: Value, t: &Tile) -> Result<()> {
        let layout = self.layout(v)?;
        let elem = elem_of(self.dtype(v));
        let t = convert::convert(&mut self.b, t, &layout, elem);
        self.set(v, Bound::Tile(t));
        Ok(())
    }

    /// Applies `f` register by register to operands of one form; the result has the layout of `to`.
    fn map(
        &mut self,
        to: Value,
        operands: &[Value],
        f: impl Fn(&mut Builder, &[Val]) -> Val,
    ) -> Result<()> {
        if self.f.ty(to).shape().is_empty() {
            let xs = operands.iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
            let y = f(&mut self.b, &xs);
            self.set(to, Bound::Scalar(y));
            return Ok(());
        }
        let layout = self.layout(to)?;
        let tiles =
            operands.iter().map(|&v| self.tile_in(v, &layout)).collect::<Result<Vec<_>>>()?;
        // Registers that repeat others are computed once.
        let mut done: BTreeMap<Vec<Val>, Val> = BTreeMap::new();
        let mut regs = Vec::with_capacity(layout.size(Dim::Register));
        for r in 0..layout.size(Dim::Register) {
            let xs: Option<Vec<Val>> =
                tiles.iter().map(|t| t.regs.get(r).copied().flatten()).collect();
            regs.push(xs.map(|xs| match done.get(&xs) {
                Some(&y) => y,
                None => {
                    let y = f(&mut self.b, &xs);
                    done.insert(xs, y);
                    y
                }
            }));
        }
        let shape = self.f.ty(to).shape().to_vec();
        self.set(to, Bound::Tile(Tile { layout, shape, regs }));
        Ok(())
    }

    /// Lowers the instructions of a region but its `yield`.
    fn region(&mut self, r: RegionId) -> Result<()> {
        let f = self.f;
        for &i in &f.region(r).insts {
            self.inst = i;
            self.instruction(i)?;
        }
        Ok(())
    }

    fn instruction(&mut self, i: Inst) -> Result<()> {
        let f = self.f;
        let inst = f.inst(i);
        let out = |n: usize| inst.results.get(n).copied().unwrap_or(Value(u32::MAX));
        let result = out(0);
        match &inst.op {
            TileOp::Const(l) => {
                let ty = Ty::scalar(elem_of(l.dtype));
                let v = self.b.konst(ty, elementwise::literal_bits(*l));
                self.set(result, Bound::Scalar(v));
                Ok(())
            }
            TileOp::Iota { .. } => self.iota(result),
            TileOp::Splat { x, .. } => self.splat(*x, result),
            TileOp::Unary { op, x } => {
                let (op, d) = (*op, self.dtype(*x));
                self.map(result, &[*x], |b, v| elementwise::unary(b, op, d, v[0]))
            }
            TileOp::Binary { op, lhs, rhs } => {
                let (op, d) = (*op, self.dtype(*lhs));
                self.map(result, &[*lhs, *rhs], |b, v| elementwise::binary(b, op, d, v[0], v[1]))
            }
            TileOp::Compare { op, lhs, rhs } => {
                let (op, d) = (*op, self.dtype(*lhs));
                self.map(result, &[*lhs, *rhs], |b, v| elementwise::compare(b, op, d, v[0], v[1]))
            }
            TileOp::Fma { a, b, c } => {
                let d = self.dtype(*a);
                self.map(result, &[*a, *b, *c], |b, v| elementwise::fma(b, d, v[0], v[1], v[2]))
            }
            TileOp::Select { cond, on_true, on_false } => {
                self.map(result, &[*cond, *on_true, *on_false], |b, v| b.select(v[0], v[1], v[2]))
            }
            TileOp::Cast { x, to, rounding, saturate } => {
                let (from, to, rounding, saturate) = (self.dtype(*x), *to, *rounding, *saturate);
                self.map(result, &[*x], |b, v| cast::cast(b, v[0], from, to, rounding, saturate))
            }
            TileOp::Bitcast { x, to } => {
                let (to, elem) = (*to, elem_of(*to));
                self.map(result, &[*x], |b, v| {
                    let bits = b.bits_as(v[0], elem);
                    cast::extend_nibble(b, bits, to)
                })
            }
            TileOp::Reshape { x, .. } => self.reshape(*x, result),
            TileOp::Transpose { x, perm } => self.transpose(*x, perm, result),
            TileOp::Broadcast { x, .. } => self.broadcast(*x, result),
            TileOp::Slice { x, starts, .. } => self.slice(*x, starts, result),
            TileOp::Join { lhs, rhs } => self.join(*lhs, *rhs, result),
            TileOp::Split { x } => self.split(*x, result, out(1)),
            TileOp::Dim { view, axis } => {
                let view = self.view(*view)?;
                match view.dims.get(*axis) {
                    Some(&d) => self.set(result, Bound::Scalar(d)),
                    None => return self.bug("a view's axis is missing"),
                }
                Ok(())
            }
            TileOp::Load { access, shape, other } => self.load(access, shape, *other, result),
            TileOp::Store { access, value } => self.store(access, *value),
            TileOp::Atomic { op, access, value } => self.atomic(*op, access, *value),
            TileOp::Mma { a, b, acc } => self.mma(*a, *b, *acc, result),
            TileOp::MmaScaled { a, scale_a, b, scale_b, acc, group } => {
                self.mma_scaled([*a, *scale_a, *b, *scale_b, *acc], *group, result)
            }
            TileOp::Reduce { op, x, axis } => self.reduce(*op, *x, *axis, result),
            TileOp::ArgReduce { max, x, axis } => self.arg_reduce(*max, *x, *axis, result, out(1)),
            TileOp::Scan { op, x, axis } => self.scan(*op, *x, *axis, result),
            TileOp::Sort { x, axis, descending } => {
                self.sort(*x, *axis, *descending, result, out(1))
            }
            TileOp::Histogram { x, bins } => self.histogram(*x, *bins, result),
            TileOp::Philox { key, counter } => self.philox(*key, counter, result),
            TileOp::ProgramId { axis } => {
                let v = self.program_id.get(*axis).copied();
                self.grid_value(v, result)
            }
            TileOp::NumPrograms { axis } => {
                let v = self.grid.get(*axis).copied();
                self.grid_value(v, result)
            }
            TileOp::For { lo, hi, step, inits, body } => {
                self.for_loop([*lo, *hi, *step], inits, *body, &inst.results)
            }
            TileOp::While { inits, cond, body } => {
                self.while_loop(inits, *cond, *body, &inst.results)
            }
            TileOp::If { cond, then_region, else_region } => {
                self.branch(*cond, *then_region, *else_region, &inst.results)
            }
            TileOp::Yield { .. } => Ok(()),
        }
    }

    fn grid_value(&mut self, v: Option<Val>, result: Value) -> Result<()> {
        match v {
            Some(v) => self.set(result, Bound::Scalar(v)),
            None => return self.bug("a grid axis is missing"),
        }
        Ok(())
    }
}
