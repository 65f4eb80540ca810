//! Accesses with their own coordinate for each element: masked gathers and scatters; and atomics.

use super::convert::{convert, gather, inside, is_live, places};
use super::elementwise::memory_elem;
use super::{Bound, Cx, Result, Tile};
use crate::lir::{BinOp, CastOp, CmpOp, Elem, Op, Ty, Val};
use std::rc::Rc;
use tilewright_abi::DType;
use tilewright_ir::{Access, AtomicOp, Coord, Dim, Layout, Value};

impl Cx<'_> {
    /// Whether this access needs a coordinate for each element.
    pub(super) fn is_scattered(access: &Access) -> bool {
        let rows = access.coords.iter().filter(|c| matches!(c, Coord::Rows(_))).count();
        let last_is_rows = matches!(access.coords.last(), Some(Coord::Rows(_)));
        rows > 1 || last_is_rows || access.coords.iter().any(|c| matches!(c, Coord::Gather(_)))
    }

    /// Addresses and masks of a scattered access, register by register of `layout`.
    fn addresses(
        &mut self,
        access: &Access,
        shape: &[usize],
        layout: &Rc<Layout>,
    ) -> Result<Vec<Option<(Val, Val)>>> {
        let view = self.view(access.view)?;
        let n = layout.size(Dim::Register);
        let lanes = layout.size(Dim::Lane);
        let mut tiles = Vec::new();
        for (axis, coord) in access.coords.iter().enumerate() {
            tiles.push(match coord {
                Coord::Span(_) => None,
                Coord::Gather(v) => {
                    let t = self.tile(*v)?;
                    let elem = self.elem(*v);
                    Some(convert(&mut self.b, &t, layout, elem))
                }
                Coord::Rows(v) => {
                    let t = self.tile(*v)?;
                    let map = places(&t);
                    let elem = self.elem(*v);
                    Some(gather(&mut self.b, layout, shape, elem, &|index, lane| {
                        let c = (index & layout.axis_mask(axis)) >> layout.shift(axis);
                        map.find(c, lane)
                    }))
                }
            });
        }
        let wide = Ty::vector(Elem::I64, lanes as u32);
        let mut limits = Vec::new();
        for (axis, bound) in access.bounds.iter().enumerate() {
            let stride = self.stride_bytes(&view, axis);
            let limit = self.limit_of(&view, axis, bound)?;
            let stride = self.b.splat(stride, lanes as u32);
            limits.push((stride, limit.map(|l| self.b.splat(l, lanes as u32))));
        }
        let mut out = Vec::new();
        for r in 0..n {
            if !is_live(layout, shape, r) {
                out.push(None);
                continue;
            }
            let inside_lanes: Vec<u64> =
                (0..lanes).map(|l| u64::from(inside(layout, shape, layout.at(r, l)))).collect();
            let mut mask = self.b.const_vec(Elem::I1, inside_lanes);
            let mut sum = self.b.konst(wide, 0);
            for (axis, coord) in access.coords.iter().enumerate() {
                let (at, signed) = match (coord, &tiles[axis]) {
                    (Coord::Span(origin), _) => {
                        let own: Vec<u64> = (0..lanes)
                            .map(|l| layout.unpack(layout.at(r, l))[axis] as u64)
                            .collect();
                        let own = self.b.const_vec(Elem::I64, own);
                        let origin = self.scalar(*origin)?;
                        let origin = self.b.splat(origin, lanes as u32);
                        (self.b.bin(BinOp::Add, own, origin), false)
                    }
                    (_, Some(t)) => match t.regs.get(r).copied().flatten() {
                        Some(v) => (self.b.cast(CastOp::SExt, v, Elem::I64), true),
                        None => return self.bug("a coordinate is missing"),
                    },
                    (_, None) => return self.bug("a coordinate is missing"),
                };
                let (stride, limit) = limits[axis];
                if signed || limit.is_some() {
                    let ok = self.b.cmp_imm(CmpOp::Sge, at, 0);
                    mask = self.b.bin(BinOp::And, mask, ok);
                }
                if let Some(limit) = limit {
                    let ok = self.b.cmp(CmpOp::Slt, at, limit);
                    mask = self.b.bin(BinOp::And, mask, ok);
                }
                let bytes = self.b.bin(BinOp::Mul, at, stride);
                sum = self.b.bin(BinOp::Add, sum, bytes);
            }
            let ptrs = self.b.gep(view.base, sum);
            out.push(Some((ptrs, mask)));
        }
        Ok(out)
    }

    pub(super) fn gather_load(
        &mut self,
        access: &Access,
        shape: &[usize],
        other: Val,
        result: Value,
        layout: &Rc<Layout>,
    ) -> Result<()> {
        let dtype = self.dtype(access.view);
        let elem = memory_elem(dtype);
        let lanes = layout.size(Dim::Lane) as u32;
        let other = self.memory_form(other, dtype);
        let other = self.b.splat(other, lanes);
        let ty = Ty::vector(elem, lanes);
        let places = self.addresses(access, shape, layout)?;
        let name = format!("llvm.masked.gather.{}.v{lanes}p0", ty.suffix());
        let mut regs = Vec::new();
        for place in places {
            regs.push(
                place.map(|(ptrs, mask)| self.b.call(name.clone(), &[ptrs, mask, other], ty)),
            );
        }
        let t = Tile { layout: layout.clone(), shape: shape.to_vec(), regs };
        let t = if dtype == DType::Bool { self.bools(&t) } else { t };
        self.set(result, Bound::Tile(t));
        Ok(())
    }

    pub(super) fn scatter_store(&mut self, access: &Access, t: &Tile, dtype: DType) -> Result<()> {
        let elem = memory_elem(dtype);
        let lanes = t.layout.size(Dim::Lane) as u32;
        let ty = Ty::vector(elem, lanes);
        let places = self.addresses(access, &t.shape, &t.layout)?;
        let name = format!("llvm.masked.scatter.{}.v{lanes}p0", ty.suffix());
        for (place, reg) in places.into_iter().zip(&t.regs) {
            let (Some((ptrs, mask)), Some(v)) = (place, reg) else { continue };
            let v = self.memory_form(*v, dtype);
            self.b.call_effect(name.clone(), &[v, ptrs, mask], None);
        }
        Ok(())
    }

    /// `Atomic`, one element at a time in row-major order, each behind its own test.
    pub(super) fn atomic(&mut self, op: AtomicOp, access: &Access, value: Value) -> Result<()> {
        let dtype = self.dtype(access.view);
        if self.f.ty(value).shape().is_empty() {
            let a = self.box_access(access, &vec![1; access.coords.len()])?;
            let v = self.scalar(value)?;
            self.atomic_one(op, dtype, a.start, v, a.inside);
            return Ok(());
        }
        let t = self.tile(value)?;
        let places = self.addresses(access, &t.shape, &t.layout)?;
        let mut list = Vec::new();
        for (r, reg) in t.regs.iter().enumerate() {
            let (Some(v), Some(Some((ptrs, mask)))) = (reg, places.get(r)) else { continue };
            for lane in 0..t.layout.size(Dim::Lane) {
                let index = t.layout.at(r, lane);
                if inside(&t.layout, &t.shape, index) {
                    list.push((index, *v, *ptrs, *mask, lane as u32));
                }
            }
        }
        list.sort_by_key(|l| (l.0, l.4));
        list.dedup_by_key(|l| l.0);
        for (_, v, ptrs, mask, lane) in list {
            let (v, ptr) = (self.b.extract(v, lane), self.b.extract(ptrs, lane));
            let mask = self.b.extract(mask, lane);
            self.atomic_one(op, dtype, ptr, v, Some(mask));
        }
        Ok(())
    }

    fn atomic_one(&mut self, op: AtomicOp, dtype: DType, ptr: Val, v: Val, mask: Option<Val>) {
        let join = self.b.block();
        if let Some(mask) = mask {
            let act = self.b.block();
            self.b.cond_br(mask, act, join);
            self.b.switch_to(act);
        }
        let float = dtype.is_float();
        let signed = dtype.kind() == tilewright_abi::Kind::Signed;
        let name = match op {
            AtomicOp::Add if float => "fadd",
            AtomicOp::Add => "add",
            AtomicOp::Max if signed => "max",
            AtomicOp::Max => "umax",
            AtomicOp::Min if signed => "min",
            AtomicOp::Min => "umin",
            AtomicOp::And => "and",
            AtomicOp::Or => "or",
            AtomicOp::Xor => "xor",
            AtomicOp::Exchange => "xchg",
        };
        let ty = self.b.ty(v);
        self.b.push(Op::AtomicRmw { op: name, ptr, value: v }, ty);
        self.b.br(join);
        self.b.switch_to(join);
    }
}
