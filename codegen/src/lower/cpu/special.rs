//! Random numbers.

use super::{Bound, Cx, Result, Tile};
use crate::lir::{BinOp, Builder, CastOp, Elem, Val};
use tilewright_ir::{Dim, Value};

impl Cx<'_> {
    /// `Philox`: first word of Philox4x32-10.
    pub(super) fn philox(&mut self, key: Value, counter: &[Value; 4], result: Value) -> Result<()> {
        let key = self.scalar(key)?;
        let k0 = self.b.cast(CastOp::Trunc, key, Elem::I32);
        let high = self.b.bin_imm(BinOp::LShr, key, 32);
        let k1 = self.b.cast(CastOp::Trunc, high, Elem::I32);
        let shape = self.f.ty(result).shape().to_vec();
        if shape.is_empty() {
            let c = counter.iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
            let v = rounds(&mut self.b, [c[0], c[1], c[2], c[3]], k0, k1);
            self.set(result, Bound::Scalar(v));
            return Ok(());
        }
        let layout = self.layout(result)?;
        let lanes = layout.size(Dim::Lane) as u32;
        let (k0, k1) = (self.b.splat(k0, lanes), self.b.splat(k1, lanes));
        let mut words = Vec::new();
        for &v in counter {
            if self.f.ty(v).shape().is_empty() {
                let s = self.scalar(v)?;
                let s = self.b.splat(s, lanes);
                words.push(vec![Some(s); layout.size(Dim::Register)]);
            } else {
                words.push(self.tile_in(v, &layout)?.regs);
            }
        }
        let mut regs = Vec::new();
        for r in 0..layout.size(Dim::Register) {
            if !super::convert::is_live(&layout, &shape, r) {
                regs.push(None);
                continue;
            }
            let c: Vec<Val> = words.iter().filter_map(|w| w.get(r).copied().flatten()).collect();
            let [a, b, c, d] = c[..] else { return self.bug("a counter word is missing") };
            regs.push(Some(rounds(&mut self.b, [a, b, c, d], k0, k1)));
        }
        self.set(result, Bound::Tile(Tile { layout, shape, regs }));
        Ok(())
    }
}

/// Ten rounds.
fn rounds(b: &mut Builder, mut c: [Val; 4], mut k0: Val, mut k1: Val) -> Val {
    for round in 0..10 {
        if round > 0 {
            k0 = b.bin_imm(BinOp::Add, k0, 0x9E37_79B9);
            k1 = b.bin_imm(BinOp::Add, k1, 0xBB67_AE85);
        }
        let (hi0, lo0) = multiply(b, c[0], 0xD251_1F53);
        let (hi1, lo1) = multiply(b, c[2], 0xCD9E_8D57);
        let x = b.bin(BinOp::Xor, hi1, c[1]);
        let x = b.bin(BinOp::Xor, x, k0);
        let y = b.bin(BinOp::Xor, hi0, c[3]);
        let y = b.bin(BinOp::Xor, y, k1);
        c = [x, lo1, y, lo0];
    }
    c[0]
}

/// High and low word of a product.
fn multiply(b: &mut Builder, x: Val, m: u64) -> (Val, Val) {
    let wide = b.cast(CastOp::ZExt, x, Elem::I64);
    let p = b.bin_imm(BinOp::Mul, wide, m);
    let high = b.bin_imm(BinOp::LShr, p, 32);
    (b.cast(CastOp::Trunc, high, Elem::I32), b.cast(CastOp::Trunc, p, Elem::I32))
}
