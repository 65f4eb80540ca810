//! `assign_layouts`: gives each tile a layout.
//!
//! Why: every operation is unrolled over the registers of its result's layout; operands in another
//! layout are converted, so neighbours should agree, and products should get what they want.
//!
//! Before: tiles without layouts.
//! After: a layout for each tile value. Products' accumulators and wide operands come first, then
//! narrow operands that come straight from memory, then everything else in row-major order. From
//! each value that has got one, the layout spreads over element-wise operations, shape operations
//! (renamed) and loops, to values that have none yet.
//!
//! Requires: plans for products. Ensures: every tile value of a region has a layout of its shape,
//! a permutation of bits with repetitions.

use super::select_mma::is_narrow;
use crate::pass::{Changed, PassCx, Program};
use std::collections::VecDeque;
use std::rc::Rc;
use tilewright_ir::{Def, Diagnostic, Dim, Func, Layout, RegionId, TileOp, Value};

struct State<'a> {
    f: &'a Func,
    layouts: Vec<Option<Rc<Layout>>>,
    /// Instructions that read each value.
    users: Vec<Vec<u32>>,
    /// The instruction that owns each region, and the region each instruction stands in.
    owners: Vec<Option<u32>>,
    homes: Vec<Option<RegionId>>,
    queue: VecDeque<Value>,
}

/// The pass.
pub(crate) fn run(p: &mut Program, cx: &PassCx<'_>) -> Result<Changed, Vec<Diagnostic>> {
    let f = &p.func;
    // Instructions that stand in no region are dead and have no say.
    let mut users = vec![Vec::new(); f.values.len()];
    let mut owners = vec![None; f.regions.len()];
    let mut homes = vec![None; f.insts.len()];
    for (r, region) in f.regions.iter().enumerate() {
        for i in &region.insts {
            homes[i.index()] = Some(RegionId(r as u32));
            for v in f.inst(*i).op.operands() {
                users[v.index()].push(i.0);
            }
            for inner in f.inst(*i).op.regions() {
                owners[inner.index()] = Some(i.0);
            }
        }
    }
    let layouts = vec![None; f.values.len()];
    let mut s = State { f, layouts, users, owners, homes, queue: VecDeque::new() };
    for (&n, plan) in &p.mma {
        let inst = &f.insts[n as usize];
        if let TileOp::Mma { acc, .. } | TileOp::MmaScaled { acc, .. } = &inst.op {
            for v in inst.results.iter().chain([acc]) {
                s.seed(*v, plan.acc.clone());
            }
        }
    }
    s.spread();
    for (&n, plan) in &p.mma {
        if let TileOp::Mma { a, b, .. } | TileOp::MmaScaled { a, b, .. } = &f.insts[n as usize].op {
            for (v, l) in [(*a, &plan.a), (*b, &plan.b)] {
                if !is_narrow(l) {
                    s.seed(v, l.clone());
                }
            }
        }
    }
    s.spread();
    for (&n, plan) in &p.mma {
        if let TileOp::Mma { a, b, .. } = &f.insts[n as usize].op {
            for (v, l) in [(*a, &plan.a), (*b, &plan.b)] {
                if is_narrow(l) {
                    s.narrow_chain(v, l.clone());
                }
            }
        }
    }
    for bytes in [4u32, 8, 2, 1] {
        for v in 0..f.values.len() {
            let ty = &f.values[v].ty;
            let own = ty.elem().bits().div_ceil(8);
            if ty.shape().is_empty() || s.layouts[v].is_some() || own != bytes {
                continue;
            }
            let lanes = (cx.target.vector_bytes / own).trailing_zeros();
            let lanes = lanes.min(Layout::empty(ty.shape()).out_bits()) as u8;
            let l = Layout::row_major(ty.shape(), &[(Dim::Lane, lanes)]);
            s.seed(Value(v as u32), Rc::new(l));
            s.spread();
        }
    }
    p.layouts = s.layouts;
    Ok(Changed(true))
}

impl State<'_> {
    fn seed(&mut self, v: Value, l: Rc<Layout>) {
        let slot = &mut self.layouts[v.index()];
        if slot.is_none() && !self.f.ty(v).shape().is_empty() {
            *slot = Some(l);
            self.queue.push_back(v);
        }
    }

    fn spread(&mut self) {
        while let Some(v) = self.queue.pop_front() {
            let f = self.f;
            match f.values[v.index()].def {
                Def::Result(i, _) if self.homes[i.index()].is_some() => self.through(i.0),
                Def::Result(..) => {}
                Def::RegionParam(r, _) => self.region_param(r),
                Def::Param(_) => {}
            }
            for u in self.users[v.index()].clone() {
                self.through(u);
            }
        }
    }

    fn get(&self, v: Value) -> Option<Rc<Layout>> {
        self.layouts[v.index()].clone()
    }

    /// Makes values that must be equal agree where one has a layout.
    fn equal(&mut self, values: &[Value]) {
        if let Some(l) = values.iter().find_map(|&v| self.get(v)) {
            for &v in values {
                self.seed(v, l.clone());
            }
        }
    }

    /// Spreads layouts between the operands and results of an instruction.
    fn through(&mut self, n: u32) {
        let f = self.f;
        let inst = &f.insts[n as usize];
        let results = &inst.results;
        match &inst.op {
            TileOp::Unary { .. }
            | TileOp::Binary { .. }
            | TileOp::Compare { .. }
            | TileOp::Fma { .. }
            | TileOp::Select { .. }
            | TileOp::Cast { .. }
            | TileOp::Bitcast { .. }
            | TileOp::Philox { .. }
            | TileOp::Scan { .. } => {
                let mut all = results.clone();
                all.extend(inst.op.operands());
                all.retain(|v| !f.ty(*v).shape().is_empty());
                self.equal(&all);
            }
            TileOp::Sort { .. } => self.equal(results),
            TileOp::Transpose { x, perm } => {
                if let Some(l) = self.get(*x) {
                    self.seed(results[0], Rc::new(l.transpose(perm)));
                }
                if let Some(l) = self.get(results[0]) {
                    let mut inverse = vec![0; perm.len()];
                    for (to, &from) in perm.iter().enumerate() {
                        inverse[from] = to;
                    }
                    self.seed(*x, Rc::new(l.transpose(&inverse)));
                }
            }
            TileOp::Reshape { x, shape } => {
                let from = f.ty(*x).shape();
                if let Some(l) = self.get(*x).and_then(|l| l.reshape(from, shape)) {
                    self.seed(results[0], Rc::new(l));
                }
                if let Some(l) = self.get(results[0]).and_then(|l| l.reshape(shape, from)) {
                    self.seed(*x, Rc::new(l));
                }
            }
            TileOp::Broadcast { x, .. } => {
                if let Some(l) = self.get(results[0]) {
                    let l = l.shrink_axes(f.ty(*x).shape()).without_repeated_registers();
                    self.seed(*x, Rc::new(l));
                }
            }
            TileOp::Slice { x, starts, shape } => {
                let from = f.ty(*x).shape();
                if let Some(l) = self.get(*x)
                    && let Some(l) = sliced(&l, from, starts, shape)
                {
                    self.seed(results[0], Rc::new(l));
                }
                if let Some(l) = self.get(results[0]) {
                    self.seed(*x, Rc::new(grown(&l, from)));
                }
            }
            TileOp::Join { lhs, rhs } => {
                self.equal(&[*lhs, *rhs]);
                let shape = f.ty(results[0]).shape();
                if let Some(l) = self.get(*lhs) {
                    self.seed(
                        results[0],
                        Rc::new(grown(&l.with_unit_axis(shape.len() - 1), shape)),
                    );
                }
                if let Some(l) = self.get(results[0]) {
                    let l = Rc::new(without_last(&l));
                    self.seed(*lhs, l.clone());
                    self.seed(*rhs, l);
                }
            }
            TileOp::Split { x } => {
                self.equal(results);
                let shape = f.ty(*x).shape();
                if let Some(l) = self.get(*x) {
                    let l = Rc::new(without_last(&l));
                    self.seed(results[0], l.clone());
                    self.seed(results[1], l);
                }
                if let Some(l) = self.get(results[0]) {
                    self.seed(*x, Rc::new(grown(&l.with_unit_axis(shape.len() - 1), shape)));
                }
            }
            TileOp::Reduce { x, axis, .. } | TileOp::ArgReduce { x, axis, .. } => {
                self.equal(results);
                if let Some(l) = self.get(*x) {
                    let l = Rc::new(l.without_axis(*axis).without_repeated_registers());
                    for &r in results {
                        self.seed(r, l.clone());
                    }
                }
            }
            TileOp::For { inits, body, .. } => {
                let params: Vec<Value> = f.region(*body).params.iter().skip(1).copied().collect();
                self.carried(inits, &[(params, *body)], results);
            }
            TileOp::While { inits, cond, body } => {
                let of = |r: RegionId| f.region(r).params.clone();
                self.carried(inits, &[(of(*cond), *body), (of(*body), *body)], results);
            }
            TileOp::If { then_region, else_region, .. } => {
                for (n, &r) in results.iter().enumerate() {
                    let mut all = vec![r];
                    all.extend(f.yields(*then_region).get(n));
                    all.extend(f.yields(*else_region).get(n));
                    self.equal(&all);
                }
            }
            TileOp::Yield { .. } => {
                if let Some(owner) = self.owner(n) {
                    self.through(owner);
                }
            }
            TileOp::Const(_)
            | TileOp::Iota { .. }
            | TileOp::Splat { .. }
            | TileOp::Dim { .. }
            | TileOp::Load { .. }
            | TileOp::Store { .. }
            | TileOp::Atomic { .. }
            | TileOp::Mma { .. }
            | TileOp::MmaScaled { .. }
            | TileOp::Histogram { .. }
            | TileOp::ProgramId { .. }
            | TileOp::NumPrograms { .. } => {}
        }
    }

    fn carried(&mut self, inits: &[Value], regions: &[(Vec<Value>, RegionId)], results: &[Value]) {
        for (n, &r) in results.iter().enumerate() {
            // A region's own values first: what happens inside the loop counts most.
            let mut all = Vec::new();
            for (params, body) in regions {
                all.extend(params.get(n));
                all.extend(self.f.yields(*body).get(n));
            }
            all.push(r);
            all.extend(inits.get(n));
            self.equal(&all);
        }
    }

    fn region_param(&mut self, r: RegionId) {
        if let Some(n) = self.owners[r.index()] {
            self.through(n);
        }
    }

    /// The instruction that owns the region in which instruction `n` stands.
    fn owner(&self, n: u32) -> Option<u32> {
        self.homes[n as usize].and_then(|r| self.owners[r.index()])
    }

    /// Whether a value has one use, or is only taken apart.
    fn is_only_sliced(&self, v: Value) -> bool {
        let users = &self.users[v.index()];
        let slice = |u: &u32| matches!(self.f.insts[*u as usize].op, TileOp::Slice { .. });
        users.len() <= 1 || users.iter().all(slice)
    }

    /// Gives a narrow operand's layout to the values between it and memory, if nothing else uses
    /// them: arithmetic on repeated lanes would be wasted.
    fn narrow_chain(&mut self, v: Value, l: Rc<Layout>) {
        let f = self.f;
        let mut chain = vec![(v, l)];
        loop {
            let Some((v, l)) = chain.last().cloned() else { return };
            match &self.layouts[v.index()] {
                // Another slice of the same value has led here with the same wish.
                Some(have) if *have == l => break,
                Some(_) => return,
                None if !self.is_only_sliced(v) => return,
                None => {}
            }
            let Some(i) = f.def_inst(v) else { return };
            match &f.inst(i).op {
                TileOp::Load { .. } => break,
                TileOp::Transpose { x, perm } => {
                    let mut inverse = vec![0; perm.len()];
                    for (to, &from) in perm.iter().enumerate() {
                        inverse[from] = to;
                    }
                    chain.push((*x, Rc::new(l.transpose(&inverse))));
                }
                TileOp::Reshape { x, shape } => match l.reshape(shape, f.ty(*x).shape()) {
                    Some(l) => chain.push((*x, Rc::new(l))),
                    None => return,
                },
                TileOp::Slice { x, .. } => chain.push((*x, Rc::new(grown(&l, f.ty(*x).shape())))),
                TileOp::Cast { x, .. } | TileOp::Bitcast { x, .. } => chain.push((*x, l)),
                _ => return,
            }
        }
        for (v, l) in chain {
            self.layouts[v.index()] = Some(l);
        }
    }
}

/// The layout of a slice, if it starts where whole registers do.
fn sliced(l: &Layout, from: &[usize], starts: &[usize], shape: &[usize]) -> Option<Layout> {
    let target = Layout::empty(shape);
    for axis in 0..shape.len() {
        let size = 1usize << target.axis_bits()[axis];
        if shape[axis] != from[axis] && !starts[axis].is_multiple_of(size) {
            return None;
        }
    }
    let cut = |v: u64| -> u64 {
        let c = l.unpack(v);
        let c: Vec<usize> =
            c.iter().zip(target.axis_bits()).map(|(c, bits)| c & ((1usize << bits) - 1)).collect();
        target.pack(&c)
    };
    let keep = |v: &u64| *v == 0 || cut(*v) != 0;
    if !l.bases(Dim::Lane).iter().all(keep) {
        return None;
    }
    let register = l.bases(Dim::Register).iter().filter(|v| keep(v)).map(|&v| cut(v)).collect();
    let lane = l.bases(Dim::Lane).iter().map(|&v| cut(v)).collect();
    Some(Layout::from_bases(shape, register, lane))
}

/// The layout of a tile with longer axes: the new bits go to registers.
fn grown(l: &Layout, shape: &[usize]) -> Layout {
    let target = Layout::empty(shape);
    let map = |&v: &u64| target.pack(&l.unpack(v));
    let mut register: Vec<u64> = l.bases(Dim::Register).iter().map(map).collect();
    for axis in 0..shape.len() {
        for bit in l.axis_bits()[axis]..target.axis_bits()[axis] {
            register.push(1 << (target.shift(axis) + u32::from(bit)));
        }
    }
    Layout::from_bases(shape, register, l.bases(Dim::Lane).iter().map(map).collect())
}

/// The layout of one half of a tile whose last axis is taken apart.
fn without_last(l: &Layout) -> Layout {
    let last = l.rank().saturating_sub(1);
    let mask = l.axis_mask(last);
    let keep = |v: &&u64| **v & mask == 0;
    let shape: Vec<usize> = l.axis_bits()[..last].iter().map(|b| 1usize << b).collect();
    let shift = l.axis_bits().last().copied().unwrap_or(0);
    let get = |dim| l.bases(dim).iter().filter(keep).map(|v| v >> shift).collect();
    Layout::from_bases(&shape, get(Dim::Register), get(Dim::Lane))
}
