//! `sink_loads`: moves loads and what prepares operands down to the product that needs them.
//!
//! Why: tiles are loaded whole before they are used, and LLVM's scheduler does not undo that. In
//! the inner loop of a product the accumulators fill the registers, so operands must come late.
//!
//! Before: all loads of two operand tiles, then all multiply-adds.
//! After: each load stands before the first multiply-add that uses it.
//!
//! Requires: LIR. Ensures: same values; writes keep their order, and no read passes a write. Blocks
//! without anchored operations stay as they are.

use crate::lir::{Func, Module, Op, Val};

/// The pass.
pub(crate) fn run(m: &mut Module) {
    for f in &mut m.funcs {
        for b in 0..f.blocks.len() {
            block(f, b);
        }
    }
}

/// Whether an operation reads memory.
fn reads(op: &Op) -> bool {
    match op {
        Op::Load { .. } => true,
        Op::Call { callee, .. } => callee.starts_with("llvm.masked.gather"),
        _ => false,
    }
}

fn block(f: &mut Func, b: usize) {
    let old = std::mem::take(&mut f.blocks[b].insts);
    if !old.iter().any(|&v| f.inst(v).anchor) {
        f.blocks[b].insts = old;
        return;
    }
    let mut s = Sink { f, pending: vec![false; f.insts.len()], out: Vec::with_capacity(old.len()) };
    for &v in &old {
        s.pending[v.0 as usize] = true;
    }
    // Reads before this position have been placed.
    let mut read = 0;
    for (i, &v) in old.iter().enumerate() {
        let inst = f.inst(v);
        if matches!(inst.op, Op::Phi(_) | Op::Alloca { .. }) {
            s.emit(v);
        } else if inst.op.is_fixed() {
            for &earlier in &old[read..i] {
                if reads(&f.inst(earlier).op) {
                    s.emit(earlier);
                }
            }
            read = i;
            s.emit(v);
        } else if inst.anchor {
            s.emit(v);
        }
    }
    for &v in &old {
        s.emit(v);
    }
    let out = s.out;
    f.blocks[b].insts = out;
}

struct Sink<'a> {
    f: &'a Func,
    pending: Vec<bool>,
    out: Vec<Val>,
}

impl Sink<'_> {
    /// Places an operation after its operands, if it still has to be.
    fn emit(&mut self, v: Val) {
        let mut stack = vec![(v, false)];
        while let Some((v, ready)) = stack.pop() {
            if !self.pending[v.0 as usize] {
                continue;
            }
            if ready {
                self.pending[v.0 as usize] = false;
                self.out.push(v);
                continue;
            }
            stack.push((v, true));
            if !matches!(self.f.inst(v).op, Op::Phi(_)) {
                for o in self.f.inst(v).op.operands().into_iter().rev() {
                    if self.pending[o.0 as usize] {
                        stack.push((o, false));
                    }
                }
            }
        }
    }
}
