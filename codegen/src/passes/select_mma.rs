//! `select_mma`: chooses instructions and register forms for each matrix product.
//!
//! Why: layouts are assigned outwards from products, so their forms are chosen first, and lowering
//! chooses nothing.
//!
//! Before: `mma %a, %b, %acc`.
//! After: the same with a plan beside it: a row of the target's table, which axis runs along the
//! lanes, and the three layouts that the instructions want.
//!
//! Requires: verified tile IR. Ensures: every `mma` and `mma_scaled` has a plan.

use crate::pass::{Changed, PassCx, Program};
use crate::target::{MmaForm, TargetDesc};
use std::rc::Rc;
use tilewright_abi::{DType, Kind};
use tilewright_ir::{BinaryOp, Diagnostic, Dim, Func, Layout, TileOp, Value, bits_for};

/// How the lanes are used; see the lowering of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MmaKind {
    /// Lanes along N.
    Outer,
    /// Lanes along M.
    OuterM,
    /// Lanes along K.
    Dot,
}

/// The form of one product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MmaPlan {
    pub(crate) kind: MmaKind,
    pub(crate) form: MmaForm,
    pub(crate) group: u32,
    /// For `Maddubs`: sums of pairs of products that surely fit an i16; 0: not even one.
    pub(crate) partial: u32,
    pub(crate) a: Rc<Layout>,
    pub(crate) b: Rc<Layout>,
    pub(crate) acc: Rc<Layout>,
}

impl MmaPlan {
    /// K elements of one instruction.
    pub(crate) fn k_step(&self) -> usize {
        self.group as usize
    }

    /// One line of text.
    pub(crate) fn describe(&self) -> String {
        format!("{:?} {:?} k_group {} partial {}", self.kind, self.form, self.group, self.partial)
    }
}

/// The pass.
pub(crate) fn run(p: &mut Program, cx: &PassCx<'_>) -> Result<Changed, Vec<Diagnostic>> {
    let mut plans = Vec::new();
    unwiden(&mut p.func, cx.target);
    for i in p.func.regions.iter().flat_map(|r| &r.insts) {
        let (a, b, acc, scaled) = match &p.func.inst(*i).op {
            TileOp::Mma { a, b, acc } => (*a, *b, *acc, false),
            TileOp::MmaScaled { a, b, acc, .. } => (*a, *b, *acc, true),
            _ => continue,
        };
        plans.push((i.0, plan(&p.func, cx.target, [a, b, acc], scaled)));
    }
    let changed = !plans.is_empty();
    p.mma.extend(plans);
    Ok(Changed(changed))
}

/// A product of bf16 operands widened to f32 is the product of the bf16 operands: where the target
/// multiplies pairs in f32 arithmetic, the result is the same and takes fewer instructions.
fn unwiden(f: &mut Func, target: &TargetDesc) {
    let row = target.mma_row(DType::BF16, DType::BF16, DType::F32);
    if row.is_none_or(|r| r.form != MmaForm::PairFma) {
        return;
    }
    let narrow = |f: &Func, v: Value| match &f.inst(f.def_inst(v)?).op {
        TileOp::Cast { x, to: DType::F32, .. } if f.ty(*x).elem() == DType::BF16 => Some(*x),
        _ => None,
    };
    for i in 0..f.insts.len() {
        let TileOp::Mma { a, b, acc } = f.insts[i].op else { continue };
        let (m, k, n) = (f.ty(a).shape()[0], f.ty(b).shape()[0], f.ty(b).shape()[1]);
        // Halves of pairs need registers beside the sums: two for each vector of columns.
        let columns = n.div_ceil(target.vector_bytes as usize / 4);
        let fits = m * columns + 2 * columns + 3 <= target.vector_regs as usize;
        let even = k.is_multiple_of(2) && fits;
        if let (Some(a), Some(b), true) = (narrow(f, a), narrow(f, b), even) {
            f.insts[i].op = TileOp::Mma { a, b, acc };
        }
    }
}

fn plan(f: &Func, target: &TargetDesc, [a, b, acc]: [Value; 3], scaled: bool) -> MmaPlan {
    let (m, n, k) = (f.ty(a).shape()[0], f.ty(b).shape()[1], f.ty(b).shape()[0]);
    let (da, db, dc) = (f.ty(a).elem(), f.ty(b).elem(), f.ty(acc).elem());
    let row = if scaled { None } else { target.mma_row(da, db, dc) };
    // A row whose group does not fit K would mostly add zeros.
    let row = row.filter(|r| k >= r.k_group as usize);
    let (form, group) = row.map_or((MmaForm::Fma, 1), |r| (r.form, r.k_group));
    let lanes = (target.vector_bytes / (dc.bits() / 8)).max(1);
    let lane_bits = lanes.trailing_zeros() as u8;
    let group_bits = group.trailing_zeros() as u8;
    let span = (lanes * group) as usize;
    let (nb, mb) = (bits_for(n), bits_for(m));
    // In the dot form every sum's lanes are added up, about 2.6 operations a sum; in the outer form
    // B is transposed in registers, about 3 shuffles for each vector of it.
    let adding = 2.6 * (m * n) as f64;
    let transposing = 3.0 * (n * k) as f64 / f64::from(lanes * group);
    let kind = if k.is_multiple_of(span)
        && k.is_power_of_two()
        && memory_axis(f, b) == Some(0)
        && k > 1
        && !scaled
        && adding <= transposing
    {
        MmaKind::Dot
    } else if nb < lane_bits && mb > nb {
        MmaKind::OuterM
    } else {
        MmaKind::Outer
    };
    let partial = match (form, kind) {
        (MmaForm::Maddubs, MmaKind::OuterM) => partial_sums(f, target, a, b),
        (MmaForm::Maddubs, MmaKind::Outer | MmaKind::Dot) => partial_sums(f, target, b, a),
        _ => 0,
    };
    let (sa, sb, sc) = ([m, k], [k, n], [m, n]);
    let (a, b, acc) = match kind {
        MmaKind::Dot => {
            let along = |shape: &[usize; 2], axis: usize| {
                layout(shape, &[(axis, group_bits + lane_bits)], 0, axis)
            };
            let used = lane_bits.min(nb);
            (along(&sa, 1), along(&sb, 0), layout(&sc, &[(1, used)], lane_bits - used, 1))
        }
        MmaKind::Outer | MmaKind::OuterM => {
            let on_m = kind == MmaKind::OuterM;
            let own = lane_bits.min(if on_m { mb } else { nb });
            // An instruction needs 128 bits.
            let least = if form == MmaForm::Fma { 0 } else { 2 };
            let idle = (least - i8_of(own)).max(0) as u8;
            let lanes = own + idle;
            let axis = usize::from(!on_m);
            let acc = layout(&sc, &[(axis, own)], idle, axis);
            let a = match on_m {
                true => layout(&sa, &[(1, group_bits), (0, own)], idle, 0),
                false => layout(&sa, &[(1, group_bits)], lanes, 1),
            };
            let b = match on_m {
                true => layout(&sb, &[(0, group_bits)], lanes, 0),
                false => layout(&sb, &[(0, group_bits), (1, own)], idle, 1),
            };
            (a, b, acc)
        }
    };
    MmaPlan { kind, form, group, partial, a: Rc::new(a), b: Rc::new(b), acc: Rc::new(acc) }
}

fn i8_of(bits: u8) -> i8 {
    bits as i8
}

/// Lanes from `parts` (axis, bits) in order and `idle` repeated ones; registers run along `first`
/// before the other axis.
fn layout(shape: &[usize; 2], parts: &[(usize, u8)], idle: u8, first: usize) -> Layout {
    let empty = Layout::empty(shape);
    let mut used = [0u8; 2];
    let mut lane = Vec::new();
    let bit = |axis: usize, used: &mut [u8; 2]| {
        let n = used[axis];
        used[axis] += 1;
        if n < empty.axis_bits()[axis] { 1u64 << (empty.shift(axis) + u32::from(n)) } else { 0 }
    };
    for &(axis, bits) in parts {
        for _ in 0..bits {
            lane.push(bit(axis, &mut used));
        }
    }
    lane.extend(std::iter::repeat_n(0, idle as usize));
    let mut register = Vec::new();
    for axis in [first, 1 - first] {
        while used[axis] < empty.axis_bits()[axis] {
            register.push(bit(axis, &mut used));
        }
    }
    Layout::from_bases(shape, register, lane)
}

/// The axis along which a tile's elements are neighbours in memory, as far as that can be followed.
fn memory_axis(f: &Func, v: Value) -> Option<usize> {
    let inst = f.inst(f.def_inst(v)?);
    match &inst.op {
        TileOp::Load { shape, .. } => shape.len().checked_sub(1),
        TileOp::Unary { x, .. }
        | TileOp::Cast { x, .. }
        | TileOp::Bitcast { x, .. }
        | TileOp::Slice { x, .. } => memory_axis(f, *x),
        TileOp::Binary { lhs, rhs, .. } => memory_axis(f, *lhs).or_else(|| memory_axis(f, *rhs)),
        TileOp::Transpose { x, perm } => {
            let axis = memory_axis(f, *x)?;
            perm.iter().position(|&p| p == axis)
        }
        TileOp::Reshape { x, shape } => {
            // The innermost axis longer than 1 stays the innermost.
            let axis = memory_axis(f, *x)?;
            let from = f.ty(*x).shape();
            if from[axis + 1..].iter().any(|&n| n != 1) {
                return None;
            }
            let to = shape.iter().rposition(|&n| n != 1)?;
            (shape[to] >= from[axis]).then_some(to)
        }
        _ => None,
    }
}

/// How many sums of two products fit an i16. Of two signed operands the wide one gives its sign to the
/// narrow one, which must then not be −128; vectors of 512 bits have no instruction for that.
fn partial_sums(f: &Func, target: &TargetDesc, wide: Value, narrow: Value) -> u32 {
    let magnitudes = (magnitude(f, wide, 0), magnitude(f, narrow, 0));
    let signs = (f.ty(wide).elem().kind(), f.ty(narrow).elem().kind());
    let fits = match signs {
        (Kind::Unsigned, Kind::Signed) | (Kind::Signed, Kind::Unsigned) => true,
        (Kind::Signed, Kind::Signed) => magnitudes.1 <= 127 && target.vector_bytes <= 32,
        _ => false,
    };
    let pair = 2 * magnitudes.0 * magnitudes.1;
    if fits { 32767u64.checked_div(pair).unwrap_or(0) as u32 } else { 0 }
}

/// The largest absolute value that an integer tile can hold, by looking at how it was made.
fn magnitude(f: &Func, v: Value, depth: u32) -> u64 {
    let d = f.ty(v).elem();
    let whole = match d.kind() {
        Kind::Signed => 1u64 << (d.bits() - 1),
        Kind::Bool => 1,
        Kind::Unsigned | Kind::Float => u64::MAX >> (64 - d.bits()),
    };
    let Some(i) = f.def_inst(v).filter(|_| depth < 16) else { return whole };
    let of = |x: Value| magnitude(f, x, depth + 1);
    let found = match &f.inst(i).op {
        TileOp::Cast { x, to, .. } => {
            let from = f.ty(*x).elem();
            let keeps = from.kind() == Kind::Unsigned || to.kind() == Kind::Signed;
            if from.is_int() && keeps { of(*x) } else { whole }
        }
        TileOp::Bitcast { x, to } if f.ty(*x).elem().kind() == Kind::Unsigned => {
            let m = of(*x);
            // Same bits: still the same number if the sign bit is clear.
            if m < 1 << (to.bits() - 1) { m } else { whole }
        }
        TileOp::Reshape { x, .. }
        | TileOp::Transpose { x, .. }
        | TileOp::Broadcast { x, .. }
        | TileOp::Slice { x, .. }
        | TileOp::Split { x } => of(*x),
        TileOp::Splat { x, .. } => constant(f, *x).unwrap_or(whole),
        TileOp::Join { lhs, rhs } => of(*lhs).max(of(*rhs)),
        TileOp::Select { on_true, on_false, .. } => of(*on_true).max(of(*on_false)),
        TileOp::Binary { op: BinaryOp::And, lhs, rhs } if d.kind() == Kind::Unsigned => {
            of(*lhs).min(of(*rhs))
        }
        TileOp::Binary { op: BinaryOp::Or, lhs, rhs } if d.kind() == Kind::Unsigned => {
            let bits = 64 - of(*lhs).max(of(*rhs)).leading_zeros();
            if bits == 0 { 0 } else { u64::MAX >> (64 - bits) }
        }
        TileOp::Binary { op: BinaryOp::Shr, lhs, rhs } if d.kind() == Kind::Unsigned => {
            match splat_constant(f, *rhs) {
                Some(n) if n < 64 => of(*lhs) >> n,
                _ => of(*lhs),
            }
        }
        TileOp::Binary { op: BinaryOp::Shl, lhs, rhs } if d.kind() == Kind::Unsigned => {
            match splat_constant(f, *rhs) {
                Some(n) if n < 32 => of(*lhs).saturating_mul(1 << n),
                _ => whole,
            }
        }
        TileOp::Binary { op: BinaryOp::Max, lhs, rhs } if d.kind() == Kind::Signed => {
            match splat_constant(f, *rhs) {
                Some(n) if is_negative(f, *rhs) => of(*lhs).min((whole - 1).max(n)),
                _ => whole,
            }
        }
        TileOp::Binary { op: BinaryOp::Add, lhs, rhs } => of(*lhs).saturating_add(of(*rhs)),
        TileOp::Binary { op: BinaryOp::Sub, lhs, rhs } if d.kind() == Kind::Signed => {
            of(*lhs).saturating_add(of(*rhs))
        }
        _ => whole,
    };
    found.min(whole)
}

fn constant(f: &Func, v: Value) -> Option<u64> {
    match &f.inst(f.def_inst(v)?).op {
        TileOp::Const(l) if l.dtype.kind() == Kind::Unsigned => Some(l.bits),
        TileOp::Const(l) if l.dtype.is_int() => Some((l.bits as i64).unsigned_abs()),
        _ => None,
    }
}

fn splat_constant(f: &Func, v: Value) -> Option<u64> {
    match &f.inst(f.def_inst(v)?).op {
        TileOp::Splat { x, .. } => constant(f, *x),
        TileOp::Const(_) => constant(f, v),
        _ => None,
    }
}

/// Whether a tile is a negative constant.
fn is_negative(f: &Func, v: Value) -> bool {
    match f.def_inst(v).map(|i| &f.inst(i).op) {
        Some(TileOp::Splat { x, .. }) => is_negative(f, *x),
        Some(TileOp::Const(l)) => l.dtype.kind() == Kind::Signed && (l.bits as i64) < 0,
        _ => false,
    }
}

/// Whether a layout repeats one element in all lanes of a register.
pub(crate) fn is_narrow(l: &Layout) -> bool {
    l.bases(Dim::Lane).iter().filter(|b| **b == 0).count() >= 2
}
