//! Sorting along an axis: each row goes to stack memory as unsigned keys whose order is the order
//! wanted, a helper sorts keys and positions together, and the values follow their positions.

use super::reduce::indices;
use super::{Cx, Result, Tile, cast, convert, helpers};
use crate::lir::{BinOp, Builder, CastOp, CmpOp, Elem, Ty, Val};
use std::collections::BTreeMap;
use tilewright_abi::{DType, Kind};
use tilewright_ir::Value;

impl Cx<'_> {
    /// `Sort`.
    pub(super) fn sort(
        &mut self,
        x: Value,
        axis: usize,
        descending: bool,
        result: Value,
        position: Value,
    ) -> Result<()> {
        let d = self.dtype(x);
        let elem = self.elem(x);
        let t = self.tile(x)?;
        let n = t.shape[axis];
        let mut keys = t.clone();
        for v in keys.regs.iter_mut().flatten() {
            *v = key(&mut self.b, *v, d, descending);
        }
        let (values, keys) = (convert::places(&t), convert::places(&keys));
        let mut rows: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for index in indices(&t) {
            rows.entry(index & !t.layout.axis_mask(axis)).or_default().push(index);
        }
        let size = n as u64;
        let (k0, k1) = (self.b.alloca(size * 8), self.b.alloca(size * 8));
        let (p0, p1) = (self.b.alloca(size * 4), self.b.alloca(size * 4));
        let store = if elem == Elem::I1 { Elem::I8 } else { elem };
        let originals = self.b.alloca(size * u64::from(store.bytes()));
        let (mut sorted, mut origins) = (BTreeMap::new(), BTreeMap::new());
        for row in rows.values() {
            for (i, index) in row.iter().enumerate() {
                let (Some((v, l)), Some((k, m))) = (values.find(*index, 0), keys.find(*index, 0))
                else {
                    return self.bug("an element is missing");
                };
                let (v, k) = (self.b.extract(v, l), self.b.extract(k, m));
                let v = self.memory_form(v, d);
                self.put(originals, i, v);
                self.put(k0, i, k);
                let at = self.b.konst(Ty::scalar(Elem::I32), i as u64);
                self.put(p0, i, at);
            }
            let count = self.b.i64(n as i64);
            self.b.call_effect(helpers::SORT, &[k0, p0, k1, p1, count], None);
            for (i, index) in row.iter().enumerate() {
                let p = self.b.gep_imm(p0, i as i64 * 4);
                let at = self.b.load(p, Ty::scalar(Elem::I32), 4);
                let wide = self.b.cast(CastOp::ZExt, at, Elem::I64);
                let bytes = self.b.bin_imm(BinOp::Mul, wide, u64::from(store.bytes()));
                let p = self.b.gep(originals, bytes);
                let v = self.load_scalar(p, d);
                sorted.insert(*index, (v, 0));
                origins.insert(*index, (at, 0));
            }
        }
        for (value, map, elem) in [(result, sorted, elem), (position, origins, Elem::I32)] {
            let layout = self.layout(value)?;
            let find = |i: u64, _: u32| map.get(&i).copied();
            let tile: Tile = convert::gather(&mut self.b, &layout, &t.shape, elem, &find);
            self.set(value, super::Bound::Tile(tile));
        }
        Ok(())
    }

    fn put(&mut self, buffer: Val, i: usize, v: Val) {
        let bytes = self.b.ty(v).elem.bytes();
        let p = self.b.gep_imm(buffer, i as i64 * i64::from(bytes));
        self.b.store(v, p, bytes);
    }
}

/// An unsigned 64-bit key in sorting order. −0 equals +0, every NaN is the one largest value.
fn key(b: &mut Builder, x: Val, d: DType, descending: bool) -> Val {
    let wide = match d.kind() {
        Kind::Float => {
            let f = if d == DType::F64 { x } else { cast::to_f32(b, x, d) };
            let ty = b.ty(f);
            let zero = b.float(ty, 0.0);
            // x + 0 turns −0 into +0 and changes nothing else.
            let f = b.bin(BinOp::FAdd, f, zero);
            let int = ty.elem.int();
            let bits = b.bits_as(f, int);
            let top = u64::from(int.bits()) - 1;
            let sign = b.bin_imm(BinOp::AShr, bits, top);
            let flip = b.bin_imm(BinOp::Or, sign, 1 << top);
            let ordered = b.bin(BinOp::Xor, bits, flip);
            let nan = b.cmp(CmpOp::Uno, f, f);
            let most = b.konst(ty.with(int), u64::MAX);
            let ordered = b.select(nan, most, ordered);
            b.cast(CastOp::ZExt, ordered, Elem::I64)
        }
        Kind::Signed => {
            let w = b.cast(CastOp::SExt, x, Elem::I64);
            b.bin_imm(BinOp::Xor, w, 1 << 63)
        }
        Kind::Unsigned | Kind::Bool => b.cast(CastOp::ZExt, x, Elem::I64),
    };
    if descending { b.not(wide) } else { wide }
}
