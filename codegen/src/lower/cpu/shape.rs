//! Constants, shape operations: all by [`gather`].

use super::convert::{gather, inside, is_live, places};
use super::{Bound, Cx, Result, Tile};
use crate::lir::Ty;
use std::rc::Rc;
use tilewright_ir::{Dim, Layout, Value};

impl Cx<'_> {
    pub(super) fn iota(&mut self, result: Value) -> Result<()> {
        let (layout, shape) = (self.layout(result)?, self.f.ty(result).shape().to_vec());
        let elem = self.elem(result);
        let regs = (0..layout.size(Dim::Register))
            .map(|r| {
                is_live(&layout, &shape, r).then(|| {
                    let lanes = (0..layout.size(Dim::Lane)).map(|l| layout.at(r, l)).collect();
                    self.b.const_vec(elem, lanes)
                })
            })
            .collect();
        self.set(result, Bound::Tile(Tile { layout, shape, regs }));
        Ok(())
    }

    pub(super) fn splat(&mut self, x: Value, result: Value) -> Result<()> {
        let (layout, shape) = (self.layout(result)?, self.f.ty(result).shape().to_vec());
        let x = self.scalar(x)?;
        let v = self.b.splat(x, layout.size(Dim::Lane) as u32);
        let n = layout.size(Dim::Register);
        let regs = (0..n).map(|r| is_live(&layout, &shape, r).then_some(v)).collect();
        self.set(result, Bound::Tile(Tile { layout, shape, regs }));
        Ok(())
    }

    /// The result's element at coordinates `c` is that of tile `source(c).0` at `source(c).1`.
    fn rearrange(
        &mut self,
        sources: &[Tile],
        result: Value,
        source: &dyn Fn(&[usize]) -> (usize, Vec<usize>),
    ) -> Result<()> {
        let (layout, shape) = (self.layout(result)?, self.f.ty(result).shape().to_vec());
        let elem = self.elem(result);
        let maps: Vec<_> = sources.iter().map(places).collect();
        let t = gather(&mut self.b, &layout, &shape, elem, &|index, lane| {
            let (n, coords) = source(&layout.unpack(index));
            let from = &sources.get(n)?.layout;
            maps.get(n)?.find(from.pack(&coords), lane)
        });
        self.set(result, Bound::Tile(t));
        Ok(())
    }

    pub(super) fn reshape(&mut self, x: Value, result: Value) -> Result<()> {
        let t = self.tile(x)?;
        let to = self.f.ty(result).shape().to_vec();
        if to.is_empty() {
            let v = super::convert::element(&mut self.b, &t, 0);
            return self.grid_value(v, result);
        }
        let from = t.shape.clone();
        // Renamed bits first: then only a layout change is left, which has a short form.
        if let Some(l) = t.layout.reshape(&from, &to) {
            let renamed = Tile { layout: Rc::new(l), shape: to, regs: t.regs };
            return self.set_tile(result, &renamed);
        }
        self.rearrange(&[t], result, &|c| {
            let mut flat = c.iter().zip(&to).fold(0, |f, (c, n)| f * n + c);
            let mut coords = vec![0; from.len()];
            for (c, n) in coords.iter_mut().zip(&from).rev() {
                *c = flat % n;
                flat /= n;
            }
            (0, coords)
        })
    }

    pub(super) fn transpose(&mut self, x: Value, perm: &[usize], result: Value) -> Result<()> {
        let t = self.tile(x)?;
        let shape = self.f.ty(result).shape().to_vec();
        let layout = Rc::new(t.layout.transpose(perm));
        self.set_tile(result, &Tile { layout, shape, regs: t.regs })
    }

    pub(super) fn broadcast(&mut self, x: Value, result: Value) -> Result<()> {
        let (t, to) = (self.tile(x)?, self.layout(result)?);
        let from = t.shape.clone();
        // An operand that already repeats along the result's lanes needs no shuffle.
        let wanted = Rc::new(to.shrink_axes(&from));
        let elem = self.elem(x);
        let t = super::convert::convert(&mut self.b, &t, &wanted, elem);
        let shape = self.f.ty(result).shape().to_vec();
        let n = to.size(Dim::Register);
        let regs = (0..n)
            .map(|r| if is_live(&to, &shape, r) { t.regs.get(r).copied().flatten() } else { None })
            .collect();
        self.set(result, Bound::Tile(Tile { layout: to, shape, regs }));
        Ok(())
    }

    pub(super) fn slice(&mut self, x: Value, starts: &[usize], result: Value) -> Result<()> {
        let t = self.tile(x)?;
        self.rearrange(&[t], result, &|c| (0, c.iter().zip(starts).map(|(c, s)| c + s).collect()))
    }

    pub(super) fn join(&mut self, lhs: Value, rhs: Value, result: Value) -> Result<()> {
        let (l, r) = (self.tile(lhs)?, self.tile(rhs)?);
        self.rearrange(&[l, r], result, &|c| {
            let (last, rest) = c.split_last().map_or((0, c), |(l, r)| (*l, r));
            (last & 1, rest.to_vec())
        })
    }

    pub(super) fn split(&mut self, x: Value, first: Value, second: Value) -> Result<()> {
        let t = self.tile(x)?;
        for (n, result) in [first, second].into_iter().enumerate() {
            if self.f.ty(result).shape().is_empty() {
                let v = super::convert::element(&mut self.b, &t, n as u64);
                self.grid_value(v, result)?;
                continue;
            }
            self.rearrange(std::slice::from_ref(&t), result, &|c| {
                let mut coords = c.to_vec();
                coords.push(n);
                (0, coords)
            })?;
        }
        Ok(())
    }

    /// The tile with lanes that lie outside its shape set to a constant.
    pub(super) fn fill_outside(&mut self, t: &Tile, bits: u64) -> Tile {
        let mut out = t.clone();
        let lanes = t.layout.size(Dim::Lane);
        for (r, reg) in out.regs.iter_mut().enumerate() {
            let Some(v) = reg else { continue };
            let mask: Vec<u64> = (0..lanes)
                .map(|l| u64::from(inside(&t.layout, &t.shape, t.layout.at(r, l))))
                .collect();
            if mask.contains(&0) {
                let ty: Ty = self.b.ty(*v);
                let mask = self.b.const_vec(crate::lir::Elem::I1, mask);
                let fill = self.b.konst(ty, bits);
                *v = self.b.select(mask, *v, fill);
            }
        }
        out
    }

    /// The layout of a tile in row-major order with `lanes` lanes along the last axis.
    pub(super) fn natural(&self, shape: &[usize], lanes: usize) -> Rc<Layout> {
        let total: u32 = Layout::empty(shape).out_bits();
        let bits = (lanes.trailing_zeros()).min(total) as u8;
        Rc::new(Layout::row_major(shape, &[(Dim::Lane, bits)]))
    }
}
