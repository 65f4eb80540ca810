//! `cse`: computes equal things once.
//!
//! Why: staging writes every index expression and constant anew at each use, and facts about a
//! value are only found where the value is one.
//!
//! Before: `%3 = const 16 : i64` … `%9 = const 16 : i64`.
//! After: uses of `%9` use `%3`.
//!
//! Requires: verified tile IR. Ensures: a value stands for another only where it is visible; reads
//! and writes of memory stay apart.

use super::subst::Subst;
use crate::pass::{Changed, PassCx, Program};
use std::collections::HashMap;
use tilewright_ir::{Diagnostic, Func, RegionId, TileOp, Value};

/// The pass.
pub(crate) fn run(p: &mut Program, _: &PassCx<'_>) -> Result<Changed, Vec<Diagnostic>> {
    let f = &mut p.func;
    let mut subst = Subst::new(f);
    // Looked up only, never walked: the order of hashing leaves no trace.
    let mut known = vec![HashMap::new()];
    region(f, Func::BODY, &mut known, &mut subst);
    subst.apply(f);
    Ok(Changed(subst.is_changed()))
}

/// Whether two equal operations give equal results wherever they stand.
pub(super) fn is_pure(op: &TileOp) -> bool {
    match op {
        TileOp::Load { .. }
        | TileOp::Store { .. }
        | TileOp::Atomic { .. }
        | TileOp::For { .. }
        | TileOp::While { .. }
        | TileOp::If { .. }
        | TileOp::Yield { .. } => false,
        TileOp::Const(_)
        | TileOp::Iota { .. }
        | TileOp::Splat { .. }
        | TileOp::Unary { .. }
        | TileOp::Binary { .. }
        | TileOp::Compare { .. }
        | TileOp::Fma { .. }
        | TileOp::Select { .. }
        | TileOp::Cast { .. }
        | TileOp::Bitcast { .. }
        | TileOp::Reshape { .. }
        | TileOp::Transpose { .. }
        | TileOp::Broadcast { .. }
        | TileOp::Slice { .. }
        | TileOp::Join { .. }
        | TileOp::Split { .. }
        | TileOp::Dim { .. }
        | TileOp::Mma { .. }
        | TileOp::MmaScaled { .. }
        | TileOp::Reduce { .. }
        | TileOp::ArgReduce { .. }
        | TileOp::Scan { .. }
        | TileOp::Sort { .. }
        | TileOp::Histogram { .. }
        | TileOp::Philox { .. }
        | TileOp::ProgramId { .. }
        | TileOp::NumPrograms { .. } => true,
    }
}

fn region(
    f: &mut Func,
    r: RegionId,
    known: &mut Vec<HashMap<TileOp, Vec<Value>>>,
    subst: &mut Subst,
) {
    for i in f.region(r).insts.clone() {
        f.insts[i.index()].op.map_operands(&mut |v| subst.get(v));
        let inst = &f.insts[i.index()];
        if is_pure(&inst.op) {
            if let Some(first) = known.iter().rev().find_map(|k| k.get(&inst.op)) {
                for (&from, &to) in inst.results.iter().zip(first) {
                    subst.replace(from, to);
                }
            } else if let Some(own) = known.last_mut() {
                own.insert(inst.op.clone(), inst.results.clone());
            }
        }
        for inner in f.insts[i.index()].op.regions() {
            known.push(HashMap::new());
            region(f, inner, known, subst);
            known.pop();
        }
    }
}
