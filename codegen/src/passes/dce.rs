//! `dce`: removes operations whose results nobody uses.
//!
//! Why: the passes before leave them; a load that is not needed would still be made.
//!
//! Before: `%1 = cast %0 rne : tile<8xf32>` without uses.
//! After: nothing.
//!
//! Requires: verified tile IR. Ensures: what writes memory stays, and loops and branches that hold
//! such an operation.

use crate::pass::{Changed, PassCx, Program};
use tilewright_ir::{Diagnostic, Func, RegionId, TileOp};

/// The pass.
pub(crate) fn run(p: &mut Program, _: &PassCx<'_>) -> Result<Changed, Vec<Diagnostic>> {
    let f = &mut p.func;
    let mut used = vec![false; f.values.len()];
    let mut effects = vec![false; f.insts.len()];
    find_effects(f, Func::BODY, &mut effects);
    // Uses spread from effects; a loop that is needed needs what it carries.
    loop {
        let before = used.iter().filter(|u| **u).count();
        mark(f, Func::BODY, &effects, &mut used);
        if used.iter().filter(|u| **u).count() == before {
            break;
        }
    }
    let mut changed = false;
    sweep(f, Func::BODY, &effects, &used, &mut changed);
    Ok(Changed(changed))
}

/// Notes instructions that write memory or hold one that does, or that may not end.
fn find_effects(f: &Func, r: RegionId, effects: &mut [bool]) -> bool {
    let mut any = false;
    for &i in &f.region(r).insts {
        let op = &f.inst(i).op;
        let mut own = op.writes_memory() || matches!(op, TileOp::While { .. });
        for inner in op.regions() {
            own |= find_effects(f, inner, effects);
        }
        effects[i.index()] = own;
        any |= own;
    }
    any
}

fn is_needed(f: &Func, i: tilewright_ir::Inst, effects: &[bool], used: &[bool]) -> bool {
    let inst = f.inst(i);
    effects[i.index()]
        || matches!(inst.op, TileOp::Yield { .. })
        || inst.results.iter().any(|v| used[v.index()])
}

fn mark(f: &Func, r: RegionId, effects: &[bool], used: &mut [bool]) {
    for &i in f.region(r).insts.iter().rev() {
        if !is_needed(f, i, effects, used) {
            continue;
        }
        let inst = f.inst(i);
        for v in inst.op.operands() {
            used[v.index()] = true;
        }
        for inner in inst.op.regions() {
            mark(f, inner, effects, used);
        }
    }
}

fn sweep(f: &mut Func, r: RegionId, effects: &[bool], used: &[bool], changed: &mut bool) {
    let list = f.region(r).insts.clone();
    let kept: Vec<_> = list.iter().copied().filter(|&i| is_needed(f, i, effects, used)).collect();
    *changed |= kept.len() != list.len();
    for &i in &kept {
        for inner in f.inst(i).op.regions() {
            sweep(f, inner, effects, used, changed);
        }
    }
    f.regions[r.index()].insts = kept;
}
