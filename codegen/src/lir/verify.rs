//! Checks what the lowering promises of a function; a fault here is a fault of the lowering.
//!
//! Rules: every block ends; operands are defined above their use in the same block, or in another
//! block; operand types fit the operation; a phi has one value for each predecessor.

use super::op::*;

/// The first broken rule, as text.
pub fn verify(m: &Module) -> Result<(), String> {
    m.funcs.iter().try_for_each(|f| function(f).map_err(|e| format!("@{}: {e}", f.name)))
}

fn function(f: &Func) -> Result<(), String> {
    let mut home = vec![None; f.insts.len()];
    for (b, block) in f.blocks.iter().enumerate() {
        for (i, v) in block.insts.iter().enumerate() {
            home[v.0 as usize] = Some((b, i));
        }
    }
    let mut preds: Vec<Vec<u32>> = vec![Vec::new(); f.blocks.len()];
    for (b, block) in f.blocks.iter().enumerate() {
        let targets = match &block.term {
            Some(Term::Br(t)) => vec![*t],
            Some(Term::CondBr { then, other, .. }) => vec![*then, *other],
            Some(Term::Ret(_)) => vec![],
            None => return Err(format!("b{b} has no end")),
        };
        for t in targets {
            preds.get_mut(t.0 as usize).ok_or(format!("b{b} goes nowhere"))?.push(b as u32);
        }
    }
    for (b, block) in f.blocks.iter().enumerate() {
        for (i, &v) in block.insts.iter().enumerate() {
            let inst = f.inst(v);
            if let Op::Phi(from) = &inst.op {
                let mut got: Vec<u32> = from.iter().map(|p| p.0.0).collect();
                let mut want = preds[b].clone();
                got.sort_unstable();
                want.sort_unstable();
                if got != want || from.iter().any(|p| f.ty(p.1) != inst.ty) {
                    return Err(format!("v{} does not fit its predecessors", v.0));
                }
                continue;
            }
            for o in inst.op.operands() {
                let inline = matches!(f.inst(o).op, Op::Const(_) | Op::ConstVec(_) | Op::Arg(_));
                match home[o.0 as usize] {
                    Some((ob, oi)) if ob == b && oi >= i => {
                        return Err(format!("v{} is used before it is defined", o.0));
                    }
                    None if !inline => return Err(format!("v{} stands in no block", o.0)),
                    _ => {}
                }
            }
            types(f, inst).map_err(|e| format!("v{}: {e}", v.0))?;
        }
    }
    Ok(())
}

fn types(f: &Func, inst: &Inst) -> Result<(), String> {
    let ty = |v: Val| f.ty(v);
    let fits = match &inst.op {
        Op::Bin(op, a, b) => {
            let float = matches!(op, BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv);
            ty(*a) == ty(*b) && ty(*a) == inst.ty && inst.ty.elem.is_float() == float
        }
        Op::Cmp(_, a, b) => ty(*a) == ty(*b),
        Op::Select(c, a, b) => {
            let lanes = ty(*c).lanes;
            ty(*a) == ty(*b) && (lanes == 0 || lanes == ty(*a).lanes) && ty(*c).elem == Elem::I1
        }
        Op::Shuffle(a, b, mask) => {
            ty(*a) == ty(*b) && mask.iter().all(|&m| m < 2 * ty(*a).lanes) && ty(*a).lanes > 0
        }
        Op::Extract(a, lane) => *lane < ty(*a).lanes,
        Op::Insert(a, x, lane) => *lane < ty(*a).lanes && ty(*x).elem == ty(*a).elem,
        Op::Splat(x) => ty(*x).lanes == 0,
        Op::Cast(CastOp::Bitcast, a) => ty(*a).bits() == inst.ty.bits(),
        Op::Cast(_, a) => ty(*a).lanes == inst.ty.lanes,
        Op::Load { ptr, .. } | Op::Store { ptr, .. } => ty(*ptr) == Ty::scalar(Elem::Ptr),
        Op::Gep { offset, .. } => ty(*offset).elem == Elem::I64,
        Op::Const(_)
        | Op::ConstVec(_)
        | Op::Arg(_)
        | Op::Alloca { .. }
        | Op::Call { .. }
        | Op::CmpXchg { .. }
        | Op::AtomicRmw { .. }
        | Op::Border(_)
        | Op::Phi(_) => true,
    };
    if fits { Ok(()) } else { Err(format!("operands do not fit {:?}", inst.op)) }
}
