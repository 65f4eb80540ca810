//! Folds along an axis.

use super::convert::{convert, element, gather};
use super::elementwise::{compare, fold, identity};
use super::{Bound, Cx, Result, Tile};
use crate::lir::{BinOp, Builder, CmpOp, Elem, Ty, Val};
use std::collections::BTreeMap;
use std::rc::Rc;
use tilewright_abi::DType;
use tilewright_ir::{CompareOp, Dim, Layout, ReduceOp, Value};

/// Registers that fold together: by the packed index without the axis, in order of the axis.
fn groups(t: &Tile, axis: usize) -> Vec<Vec<usize>> {
    let mask = t.layout.axis_mask(axis);
    let mut map: BTreeMap<u64, Vec<(u64, usize)>> = BTreeMap::new();
    for (r, reg) in t.regs.iter().enumerate() {
        if reg.is_none() {
            continue;
        }
        let index = t.layout.part(Dim::Register, r);
        let list = map.entry(index & !mask).or_default();
        // Registers that repeat another must not be counted twice.
        if !list.iter().any(|(c, _)| *c == index & mask) {
            list.push((index & mask, r));
        }
    }
    map.into_values()
        .map(|mut list| {
            list.sort_unstable();
            list.into_iter().map(|(_, r)| r).collect()
        })
        .collect()
}

/// Lane bits whose basis moves along the axis.
fn lane_bits(t: &Tile, axis: usize) -> Vec<u32> {
    let mask = t.layout.axis_mask(axis);
    let bases = t.layout.bases(Dim::Lane).iter().enumerate();
    bases.filter(|(_, b)| **b & mask != 0).map(|(i, _)| i as u32).collect()
}

/// Lanes `i ^ bit` in place of `i`.
fn swap_lanes(b: &mut Builder, v: Val, bit: u32) -> Val {
    let n = b.ty(v).lanes;
    b.shuffle(v, v, (0..n).map(|i| i ^ (1 << bit)).collect())
}

/// Pairwise in order, so that the depth, and with it the rounding error, is logarithmic.
fn tree<T: Clone>(mut list: Vec<T>, mut f: impl FnMut(T, T) -> T) -> Option<T> {
    while list.len() > 1 {
        let mut next = Vec::with_capacity(list.len().div_ceil(2));
        let mut it = list.into_iter();
        while let Some(x) = it.next() {
            next.push(match it.next() {
                Some(y) => f(x, y),
                None => x,
            });
        }
        list = next;
    }
    list.pop()
}

/// A layout with the axis removed and registers of a reduced tile: which register holds group `g`.
fn reduced(t: &Tile, axis: usize, values: &[(usize, Val)]) -> Tile {
    let mask = t.layout.axis_mask(axis);
    let full = t.layout.without_axis(axis);
    let layout = Rc::new(full.without_repeated_registers());
    let mut shape = t.shape.clone();
    shape.remove(axis);
    // Register bits that only moved along the axis are gone; the others keep their order.
    let kept: Vec<usize> = t
        .layout
        .bases(Dim::Register)
        .iter()
        .enumerate()
        .filter(|(_, b)| **b & !mask != 0)
        .map(|(i, _)| i)
        .collect();
    let mut regs = vec![None; layout.size(Dim::Register)];
    for &(r, v) in values {
        let n = kept.iter().enumerate().fold(0, |n, (to, &from)| n | (r >> from & 1) << to);
        if let Some(slot) = regs.get_mut(n) {
            *slot = Some(v);
        }
    }
    Tile { layout, shape, regs }
}

impl Cx<'_> {
    /// Binds a reduced tile, or the scalar that is left of a rank-1 tile.
    fn set_reduced(&mut self, result: Value, t: &Tile) -> Result<()> {
        if t.shape.is_empty() {
            let v = t.regs.first().copied().flatten();
            let v = v.map(|v| self.b.extract(v, 0));
            return self.grid_value(v, result);
        }
        self.set_tile(result, t)
    }

    /// `Reduce`.
    pub(super) fn reduce(
        &mut self,
        op: ReduceOp,
        x: Value,
        axis: usize,
        result: Value,
    ) -> Result<()> {
        let d = self.dtype(x);
        let t = self.tile(x)?;
        // Narrow floats are folded in f32 and rounded at the end.
        let (t, wide) = if d.is_float() && !matches!(d, DType::F32 | DType::F64) {
            let mut t = t;
            for v in t.regs.iter_mut().flatten() {
                *v = super::cast::to_f32(&mut self.b, *v, d);
            }
            (t, DType::F32)
        } else {
            (t, d)
        };
        let t = self.fill_outside(&t, identity(op, wide));
        let bits = lane_bits(&t, axis);
        let mut values = Vec::new();
        for group in groups(&t, axis) {
            let regs: Vec<Val> = group.iter().filter_map(|&r| t.regs[r]).collect();
            let b = &mut self.b;
            let Some(mut v) = tree(regs, |x, y| fold(b, op, wide, x, y)) else { continue };
            for &bit in &bits {
                let other = swap_lanes(&mut self.b, v, bit);
                v = fold(&mut self.b, op, wide, v, other);
            }
            if wide != d {
                let rounding = tilewright_ir::Rounding::NearestEven;
                v = super::cast::from_f32(&mut self.b, v, d, rounding, false);
            }
            values.push((group[0], v));
        }
        let t = reduced(&t, axis, &values);
        self.set_reduced(result, &t)
    }

    /// `ArgReduce`.
    pub(super) fn arg_reduce(
        &mut self,
        max: bool,
        x: Value,
        axis: usize,
        result: Value,
        position: Value,
    ) -> Result<()> {
        let d = self.dtype(x);
        let t = self.tile(x)?;
        let lanes = t.layout.size(Dim::Lane);
        let bits = lane_bits(&t, axis);
        let extent = t.shape[axis];
        let (mut values, mut positions) = (Vec::new(), Vec::new());
        for group in groups(&t, axis) {
            let mut pairs = Vec::new();
            for &r in &group {
                let Some(v) = t.regs[r] else { continue };
                let at = |l: usize| {
                    let index = t.layout.at(r, l);
                    (index & t.layout.axis_mask(axis)) >> t.layout.shift(axis)
                };
                let list: Vec<u64> = (0..lanes).map(at).collect();
                pairs.push((v, self.b.const_vec(Elem::I32, list)));
            }
            let b = &mut self.b;
            let better = |b: &mut Builder, x: (Val, Val), y: (Val, Val)| {
                let first = chooses_first(b, max, d, extent, x, y);
                (b.select(first, x.0, y.0), b.select(first, x.1, y.1))
            };
            let Some(mut best) = tree(pairs, |x, y| better(b, x, y)) else { continue };
            for &bit in &bits {
                let other =
                    (swap_lanes(&mut self.b, best.0, bit), swap_lanes(&mut self.b, best.1, bit));
                best = better(&mut self.b, best, other);
            }
            values.push((group[0], best.0));
            positions.push((group[0], best.1));
        }
        let (v, p) = (reduced(&t, axis, &values), reduced(&t, axis, &positions));
        self.set_reduced(result, &v)?;
        self.set_reduced(position, &p)
    }

    /// A layout with one lane group along some other axis, so that a fold in order along `axis`
    /// runs from register to register.
    fn along_registers(&self, t: &Tile, axis: usize) -> Rc<Layout> {
        let mut sizes = vec![0u8; t.shape.len()];
        let other = (0..t.shape.len()).rev().find(|&a| a != axis && t.shape[a] > 1);
        if let Some(a) = other {
            let lanes = t.layout.size(Dim::Lane).trailing_zeros() as u8;
            sizes[a] = lanes.min(t.layout.axis_bits()[a]);
        }
        let order: Vec<usize> = (0..t.shape.len()).rev().collect();
        Rc::new(Layout::blocked(&t.shape, [&[][..], &sizes, &[]], &order))
    }

    /// `Scan`: in order, so that float sums round as written.
    pub(super) fn scan(
        &mut self,
        op: ReduceOp,
        x: Value,
        axis: usize,
        result: Value,
    ) -> Result<()> {
        let d = self.dtype(x);
        let elem = self.elem(x);
        let t = self.tile(x)?;
        let layout = self.along_registers(&t, axis);
        let mut t = convert(&mut self.b, &t, &layout, elem);
        for group in groups(&t, axis) {
            let mut acc: Option<Val> = None;
            for r in group {
                let Some(v) = t.regs[r] else { continue };
                let next = match acc {
                    Some(a) => fold(&mut self.b, op, d, a, v),
                    None => v,
                };
                t.regs[r] = Some(next);
                acc = Some(next);
            }
        }
        self.set_tile(result, &t)
    }

    /// `Histogram`.
    pub(super) fn histogram(&mut self, x: Value, bins: usize, result: Value) -> Result<()> {
        let t = self.tile(x)?;
        let n = t.shape.iter().product::<usize>();
        let input = self.spill(&t, Elem::I32, &|index| index as i64 * 4, n as u64 * 4);
        let counts = self.b.alloca(bins as u64 * 4);
        let (zero, size) = (self.b.konst(Ty::scalar(Elem::I32), 0), self.b.i64(bins as i64));
        self.b.call_effect(super::helpers::fill(4), &[counts, size, zero], None);
        let n = self.b.i64(n as i64);
        let bins = self.b.konst(Ty::scalar(Elem::I32), bins as u64);
        self.b.call_effect(super::helpers::HISTOGRAM, &[input, n, counts, bins], None);
        self.unspill(counts, Elem::I32, &|index| index as i64 * 4, result)
    }

    /// Writes a tile to stack memory element by element at `place(packed index)` bytes.
    pub(super) fn spill(
        &mut self,
        t: &Tile,
        elem: Elem,
        place: &dyn Fn(u64) -> i64,
        bytes: u64,
    ) -> Val {
        let buffer = self.b.alloca(bytes);
        for index in indices(t) {
            let Some(v) = element(&mut self.b, t, index) else { continue };
            let v = if elem == Elem::I8 && self.b.ty(v).elem == Elem::I1 {
                self.b.cast(crate::lir::CastOp::ZExt, v, Elem::I8)
            } else {
                v
            };
            let p = self.b.gep_imm(buffer, place(index));
            self.b.store(v, p, elem.bytes());
        }
        buffer
    }

    /// Reads a result tile back from stack memory.
    pub(super) fn unspill(
        &mut self,
        buffer: Val,
        elem: Elem,
        place: &dyn Fn(u64) -> i64,
        result: Value,
    ) -> Result<()> {
        let (layout, shape) = (self.layout(result)?, self.f.ty(result).shape().to_vec());
        let own = self.elem(result);
        let mut map = BTreeMap::new();
        let blank = Tile { layout: layout.clone(), shape: shape.clone(), regs: Vec::new() };
        for index in indices(&blank) {
            let p = self.b.gep_imm(buffer, place(index));
            let v = self.b.load(p, Ty::scalar(elem), elem.bytes());
            let v = if own == Elem::I1 { self.b.cmp_imm(CmpOp::Ne, v, 0) } else { v };
            map.insert(index, (v, 0));
        }
        let t = gather(&mut self.b, &layout, &shape, own, &|i, _| map.get(&i).copied());
        self.set(result, Bound::Tile(t));
        Ok(())
    }
}

/// Packed indices of a tile's elements, in row-major order.
pub(super) fn indices(t: &Tile) -> Vec<u64> {
    let all = 0..1u64 << t.layout.out_bits();
    all.filter(|&i| super::convert::inside(&t.layout, &t.shape, i)).collect()
}

/// Whether (value, index) `x` wins over `y`: NaN first, then the greater or smaller value, then the
/// lower index. Indices past the extent lose.
fn chooses_first(
    b: &mut Builder,
    max: bool,
    d: DType,
    extent: usize,
    x: (Val, Val),
    y: (Val, Val),
) -> Val {
    let op = if max { CompareOp::Gt } else { CompareOp::Lt };
    let mut wins = compare(b, op, d, x.0, y.0);
    let mut ties = compare(b, CompareOp::Eq, d, x.0, y.0);
    if d.is_float() {
        let (xn, yn) =
            (compare(b, CompareOp::Ne, d, x.0, x.0), compare(b, CompareOp::Ne, d, y.0, y.0));
        let y_number = b.not(yn);
        let nan_wins = b.bin(BinOp::And, xn, y_number);
        let both = b.bin(BinOp::And, xn, yn);
        // A NaN never compares as less or greater, so only these two cases are missing.
        wins = b.bin(BinOp::Or, wins, nan_wins);
        ties = b.bin(BinOp::Or, ties, both);
    }
    let lower = b.cmp(CmpOp::Ult, x.1, y.1);
    let by_index = b.bin(BinOp::And, ties, lower);
    let mut first = b.bin(BinOp::Or, wins, by_index);
    if !extent.is_power_of_two() {
        let limit = extent as u64;
        let x_in = b.cmp_imm(CmpOp::Ult, x.1, limit);
        let y_in = b.cmp_imm(CmpOp::Ult, y.1, limit);
        let y_out = b.not(y_in);
        first = b.bin(BinOp::Or, first, y_out);
        first = b.bin(BinOp::And, first, x_in);
    }
    first
}
