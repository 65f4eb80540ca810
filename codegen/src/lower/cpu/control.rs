//! The function's frame, and structured control flow as blocks with phis.

use super::elementwise::{elem_of, memory_elem};
use super::{Bound, Cx, Result, Tile, View};
use crate::lir::{BinOp, CastOp, CmpOp, Elem, Ty, Val};
use std::rc::Rc;
use tilewright_abi::DType;
use tilewright_ir::{Fact, RegionId, Type, Value};

const I64: Ty = Ty::scalar(Elem::I64);

impl Cx<'_> {
    /// The frame: reads the arguments, then runs the body once for each program id.
    pub(super) fn function(&mut self) -> Result<()> {
        let (args, grid) = (self.b.arg(0), self.b.arg(1));
        let (begin, end) = (self.b.arg(2), self.b.arg(3));
        self.parameters(args)?;
        for axis in 0..3 {
            let p = self.b.gep_imm(grid, axis * 8);
            let v = self.b.load(p, I64, 8);
            self.grid.push(v);
        }
        let entry = self.b.current();
        let (head, body, done) = (self.b.block(), self.b.block(), self.b.block());
        self.b.br(head);
        self.b.switch_to(head);
        let id = self.b.phi(I64);
        self.b.add_incoming(id, entry, begin);
        let more = self.b.cmp(CmpOp::Slt, id, end);
        self.b.cond_br(more, body, done);
        self.b.switch_to(body);
        let (g0, g1) = (self.grid[0], self.grid[1]);
        let x = self.b.bin(BinOp::URem, id, g0);
        let rest = self.b.bin(BinOp::UDiv, id, g0);
        let y = self.b.bin(BinOp::URem, rest, g1);
        let z = self.b.bin(BinOp::UDiv, rest, g1);
        self.program_id = vec![x, y, z];
        self.region(tilewright_ir::Func::BODY)?;
        let last = self.b.current();
        let next = self.b.bin_imm(BinOp::Add, id, 1);
        self.b.add_incoming(id, last, next);
        self.b.br(head);
        self.b.switch_to(done);
        self.b.ret(None);
        Ok(())
    }

    fn parameters(&mut self, args: Val) -> Result<()> {
        let f = self.f;
        let mut word = 0i64;
        for (n, p) in f.params.iter().enumerate() {
            let at = self.b.gep_imm(args, word * 8);
            match f.ty(p.value) {
                Type::View(v) => {
                    let base = self.b.load(at, Ty::scalar(Elem::Ptr), 8);
                    let rank = v.rank as i64;
                    let words =
                        |cx: &mut Self, first: i64, fact: &dyn Fn(&Fact, usize) -> Option<u64>| {
                            (0..v.rank)
                                .map(|axis| {
                                    let known = f.assumes.iter().filter(|a| a.param == n);
                                    match known.filter_map(|a| fact(&a.fact, axis)).next() {
                                        Some(c) => cx.b.i64(c as i64),
                                        None => {
                                            let p = cx.b.gep_imm(args, (first + axis as i64) * 8);
                                            cx.b.load(p, I64, 8)
                                        }
                                    }
                                })
                                .collect::<Vec<_>>()
                        };
                    let dims = words(self, word + 1, &|fact, axis| match fact {
                        Fact::DimEquals(a, n) if *a == axis => Some(*n),
                        _ => None,
                    });
                    let strides = words(self, word + 1 + rank, &|fact, axis| match fact {
                        Fact::StrideEquals(a, n) if *a == axis => Some(*n),
                        _ => None,
                    });
                    let view = View { base, dims, strides, dtype: v.elem };
                    self.set(p.value, Bound::View(Rc::new(view)));
                    word += 1 + 2 * rank;
                }
                Type::Scalar(d) => {
                    let v = self.load_scalar(at, *d);
                    self.set(p.value, Bound::Scalar(v));
                    word += 1;
                }
                Type::Tile(_) => return self.bug("a tile is a parameter"),
            }
        }
        Ok(())
    }

    /// One element of memory in register form.
    pub(super) fn load_scalar(&mut self, ptr: Val, d: DType) -> Val {
        let elem = memory_elem(d);
        let v = self.b.load(ptr, Ty::scalar(elem), elem.bytes());
        if d == DType::Bool { self.b.cmp_imm(CmpOp::Ne, v, 0) } else { v }
    }

    /// The memory form of a register.
    pub(super) fn memory_form(&mut self, v: Val, d: DType) -> Val {
        if d == DType::Bool { self.b.cast(CastOp::ZExt, v, Elem::I8) } else { v }
    }

    /// The registers of a value, in a fixed order.
    fn flatten(&self, v: Value) -> Result<Vec<Val>> {
        match self.env.get(v.index()) {
            Some(Bound::Scalar(x)) => Ok(vec![*x]),
            Some(Bound::Tile(t)) => Ok(t.regs.iter().flatten().copied().collect()),
            _ => self.bug("a carried value is missing"),
        }
    }

    /// The registers of `v` in the layout of `like`.
    fn flatten_like(&mut self, v: Value, like: Value) -> Result<Vec<Val>> {
        if self.f.ty(v).shape().is_empty() {
            return self.flatten(v);
        }
        let layout = self.layout(like)?;
        let t = self.tile_in(v, &layout)?;
        Ok(t.regs.iter().flatten().copied().collect())
    }

    /// Binds `v` to registers given in the order of [`Cx::flatten`].
    fn unflatten(&mut self, v: Value, regs: &[Val]) -> Result<()> {
        let shape = self.f.ty(v).shape().to_vec();
        if shape.is_empty() {
            let x = regs.first().copied();
            return match x {
                Some(x) => {
                    self.set(v, Bound::Scalar(x));
                    Ok(())
                }
                None => self.bug("a carried value is missing"),
            };
        }
        let layout = self.layout(v)?;
        let mut next = regs.iter();
        let n = layout.size(tilewright_ir::Dim::Register);
        let regs = (0..n)
            .map(|r| {
                super::convert::is_live(&layout, &shape, r).then(|| next.next().copied()).flatten()
            })
            .collect();
        self.set(v, Bound::Tile(Tile { layout, shape, regs }));
        Ok(())
    }

    /// Phis for values that have the types and layouts of `params`, entered with `inits`.
    fn carry(&mut self, params: &[Value], inits: &[Value]) -> Result<Vec<Vec<Val>>> {
        let mut all = Vec::new();
        for (&p, &init) in params.iter().zip(inits) {
            all.push(self.flatten_like(init, p)?);
        }
        Ok(all)
    }

    fn phis(&mut self, entry: crate::lir::Block, starts: &[Vec<Val>]) -> Vec<Vec<Val>> {
        starts
            .iter()
            .map(|regs| {
                regs.iter()
                    .map(|&v| {
                        let ty = self.b.ty(v);
                        let phi = self.b.phi(ty);
                        self.b.add_incoming(phi, entry, v);
                        phi
                    })
                    .collect()
            })
            .collect()
    }

    /// Adds the back edge: the values yielded by `region`, in the layouts of `params`.
    fn back_edge(&mut self, params: &[Value], region: RegionId, phis: &[Vec<Val>]) -> Result<()> {
        let f = self.f;
        let mut next = Vec::new();
        for (&p, &v) in params.iter().zip(f.yields(region)) {
            next.push(self.flatten_like(v, p)?);
        }
        let from = self.b.current();
        for (phis, next) in phis.iter().zip(next) {
            for (&phi, v) in phis.iter().zip(next) {
                self.b.add_incoming(phi, from, v);
            }
        }
        Ok(())
    }

    /// Binds results to the values of region parameters, converting where their layouts differ.
    fn results_from(
        &mut self,
        results: &[Value],
        params: &[Value],
        regs: &[Vec<Val>],
    ) -> Result<()> {
        for ((&result, &param), regs) in results.iter().zip(params).zip(regs) {
            self.unflatten(param, regs)?;
            match self.env.get(param.index()) {
                Some(Bound::Tile(t)) => {
                    let t = t.clone();
                    self.set_tile(result, &t)?;
                }
                Some(other) => {
                    let other = other.clone();
                    self.set(result, other);
                }
                None => return self.bug("a carried value is missing"),
            }
        }
        Ok(())
    }

    /// `For`.
    pub(super) fn for_loop(
        &mut self,
        [lo, hi, step]: [Value; 3],
        inits: &[Value],
        body: RegionId,
        results: &[Value],
    ) -> Result<()> {
        let f = self.f;
        let (lo, hi, step) = (self.scalar(lo)?, self.scalar(hi)?, self.scalar(step)?);
        let Some((&iv, params)) = f.region(body).params.split_first() else {
            return self.bug("a loop has no counter");
        };
        let starts = self.carry(params, inits)?;
        let entry = self.b.current();
        let (head, inside, done) = (self.b.block(), self.b.block(), self.b.block());
        self.b.br(head);
        self.b.switch_to(head);
        let count = self.b.phi(I64);
        self.b.add_incoming(count, entry, lo);
        let phis = self.phis(entry, &starts);
        let more = self.b.cmp(CmpOp::Slt, count, hi);
        self.b.cond_br(more, inside, done);
        self.b.switch_to(inside);
        self.set(iv, Bound::Scalar(count));
        for (&p, regs) in params.iter().zip(&phis) {
            self.unflatten(p, regs)?;
        }
        self.region(body)?;
        self.back_edge(params, body, &phis)?;
        let from = self.b.current();
        let next = self.b.bin(BinOp::Add, count, step);
        self.b.add_incoming(count, from, next);
        self.b.br(head);
        self.b.switch_to(done);
        self.results_from(results, params, &phis)
    }

    /// `While`.
    pub(super) fn while_loop(
        &mut self,
        inits: &[Value],
        cond: RegionId,
        body: RegionId,
        results: &[Value],
    ) -> Result<()> {
        let f = self.f;
        let params = &f.region(cond).params;
        let starts = self.carry(params, inits)?;
        let entry = self.b.current();
        let (head, inside, done) = (self.b.block(), self.b.block(), self.b.block());
        self.b.br(head);
        self.b.switch_to(head);
        let phis = self.phis(entry, &starts);
        for (&p, regs) in params.iter().zip(&phis) {
            self.unflatten(p, regs)?;
        }
        self.region(cond)?;
        let Some(&test) = f.yields(cond).first() else {
            return self.bug("a condition yields nothing");
        };
        let test = self.scalar(test)?;
        self.b.cond_br(test, inside, done);
        self.b.switch_to(inside);
        let own = f.region(body).params.clone();
        self.results_from(&own, params, &phis)?;
        self.region(body)?;
        self.back_edge(params, body, &phis)?;
        self.b.br(head);
        self.b.switch_to(done);
        self.results_from(results, params, &phis)
    }

    /// `If`.
    pub(super) fn branch(
        &mut self,
        cond: Value,
        then_region: RegionId,
        else_region: RegionId,
        results: &[Value],
    ) -> Result<()> {
        let f = self.f;
        let cond = self.scalar(cond)?;
        let (then, other, join) = (self.b.block(), self.b.block(), self.b.block());
        self.b.cond_br(cond, then, other);
        let mut ends = Vec::new();
        for (block, region) in [(then, then_region), (other, else_region)] {
            self.b.switch_to(block);
            self.region(region)?;
            let mut regs = Vec::new();
            for (&r, &v) in results.iter().zip(f.yields(region)) {
                regs.push(self.flatten_like(v, r)?);
            }
            ends.push((self.b.current(), regs));
            self.b.br(join);
        }
        self.b.switch_to(join);
        let (Some((a, left)), Some((b, right))) = (ends.first(), ends.get(1)) else {
            return Ok(());
        };
        for ((&r, left), right) in results.iter().zip(left).zip(right) {
            let mut regs = Vec::new();
            for (&x, &y) in left.iter().zip(right) {
                let ty = self.b.ty(x);
                let phi = self.b.phi(ty);
                self.b.add_incoming(phi, *a, x);
                self.b.add_incoming(phi, *b, y);
                regs.push(phi);
            }
            self.unflatten(r, &regs)?;
        }
        Ok(())
    }

    /// Register type of a value's elements.
    pub(super) fn elem(&self, v: Value) -> Elem {
        elem_of(self.dtype(v))
    }
}
