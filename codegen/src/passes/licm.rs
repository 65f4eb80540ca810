//! `licm`: moves what does not change out of loops.
//!
//! Why: LLVM does this for what it can see to be invariant, but row tables and index tiles are
//! many operations by then, and facts about them are found on tile IR.
//!
//! Before: `for … { %5 = iota : tile<6xi64>; %6 = splat %n : tile<6xi64>; … }`.
//! After: both stand before the loop.
//!
//! Requires: verified tile IR. Ensures: only operations without effects move, only ones whose
//! registers are few or free: scalars, constants, index tiles and shape changes of them.

use super::cse::is_pure;
use crate::pass::{Changed, PassCx, Program};
use tilewright_ir::{Def, Diagnostic, Func, RegionId, TileOp, Value};

/// A tile of at most this many elements may wait in registers while a loop runs.
const SMALL: usize = 16;

/// The pass.
pub(crate) fn run(p: &mut Program, _: &PassCx<'_>) -> Result<Changed, Vec<Diagnostic>> {
    let mut home = vec![None; p.func.values.len()];
    for (r, region) in p.func.regions.iter().enumerate() {
        for &v in &region.params {
            home[v.index()] = Some(RegionId(r as u32));
        }
        for i in &region.insts {
            for &v in &p.func.inst(*i).results {
                home[v.index()] = Some(RegionId(r as u32));
            }
        }
    }
    let mut changed = false;
    region(&mut p.func, Func::BODY, &mut home, &mut changed);
    Ok(Changed(changed))
}

fn region(f: &mut Func, r: RegionId, home: &mut [Option<RegionId>], changed: &mut bool) {
    let mut at = 0;
    while at < f.region(r).insts.len() {
        let i = f.region(r).insts[at];
        let op = &f.inst(i).op;
        let is_loop = matches!(op, TileOp::For { .. } | TileOp::While { .. });
        for inner in op.regions() {
            region(f, inner, home, changed);
            if !is_loop {
                continue;
            }
            let list = f.region(inner).insts.clone();
            let (mut kept, mut moved) = (Vec::new(), Vec::new());
            for j in list {
                let inst = f.inst(j);
                let invariant = inst.op.operands().iter().all(|v| home[v.index()] != Some(inner));
                if invariant && is_pure(&inst.op) && is_light(f, &inst.results) {
                    for v in &inst.results {
                        home[v.index()] = Some(r);
                    }
                    moved.push(j);
                } else {
                    kept.push(j);
                }
            }
            if !moved.is_empty() {
                *changed = true;
                f.regions[inner.index()].insts = kept;
                let n = moved.len();
                let outer = &mut f.regions[r.index()].insts;
                outer.splice(at..at, moved);
                at += n;
            }
        }
        at += 1;
    }
}

fn is_light(f: &Func, results: &[Value]) -> bool {
    results.iter().all(|&v| {
        let elements: usize = f.ty(v).shape().iter().product();
        elements <= SMALL || is_constant(f, v)
    })
}

/// A splat of a constant costs nothing: it is an operand.
fn is_constant(f: &Func, v: Value) -> bool {
    let Def::Result(i, _) = f.values[v.index()].def else { return false };
    match &f.inst(i).op {
        TileOp::Splat { x, .. } => {
            f.def_inst(*x).is_some_and(|i| matches!(f.inst(i).op, TileOp::Const(_)))
        }
        _ => false,
    }
}
