//! `canonicalize`: removes operations that do nothing and computes those on constants.
//!
//! Why: kernels are written for many dtypes and shapes, so many casts, reshapes and index sums are
//! void in one variant; later passes then see through them.
//!
//! Before: `%1 = cast %0 rne : tile<8xf32>` of an f32 tile, `%4 = add %2, %3 : i64` of constants.
//! After: uses of `%1` use `%0`; `%4` is a constant.
//!
//! Requires: verified tile IR. Ensures: same results; what is unused now is left for `dce`.

use super::subst::Subst;
use crate::pass::{Changed, PassCx, Program};
use tilewright_abi::DType;
use tilewright_ir::{BinaryOp, CompareOp, Diagnostic, Func, Literal, TileOp, Value};

/// The pass.
pub(crate) fn run(p: &mut Program, _: &PassCx<'_>) -> Result<Changed, Vec<Diagnostic>> {
    let f = &mut p.func;
    let mut subst = Subst::new(f);
    let mut folded = false;
    for n in 0..f.insts.len() {
        f.insts[n].op.map_operands(&mut |v| subst.get(v));
        let Some(&result) = f.insts[n].results.first() else { continue };
        if let Some(v) = same(f, &f.insts[n].op) {
            subst.replace(result, v);
        } else if let Some(op) = simpler(f, &f.insts[n].op) {
            f.insts[n].op = op;
            folded = true;
        }
    }
    subst.apply(f);
    Ok(Changed(folded || subst.is_changed()))
}

fn op(f: &Func, v: Value) -> Option<&TileOp> {
    f.def_inst(v).map(|i| &f.inst(i).op)
}

/// The value of an `i64` or bool constant.
fn constant(f: &Func, v: Value) -> Option<i64> {
    match op(f, v)? {
        TileOp::Const(l) if matches!(l.dtype, DType::I64 | DType::Bool) => Some(l.bits as i64),
        _ => None,
    }
}

/// The operand that an operation merely repeats.
fn same(f: &Func, o: &TileOp) -> Option<Value> {
    let shape = |v: Value| f.ty(v).shape();
    match o {
        TileOp::Cast { x, to, saturate, .. } => {
            let void = f.ty(*x).elem() == *to && !(*saturate && to.is_float());
            void.then_some(*x)
        }
        TileOp::Bitcast { x, to } if f.ty(*x).elem() == *to => Some(*x),
        TileOp::Reshape { x, shape: s }
        | TileOp::Broadcast { x, shape: s }
        | TileOp::Slice { x, shape: s, .. }
            if shape(*x) == s && !s.is_empty() =>
        {
            Some(*x)
        }
        TileOp::Transpose { x, perm } if perm.iter().enumerate().all(|(i, p)| i == *p) => Some(*x),
        TileOp::Select { cond, on_true, on_false } => match constant(f, *cond) {
            Some(0) => Some(*on_false),
            Some(_) => Some(*on_true),
            None if on_true == on_false => Some(*on_true),
            None => None,
        },
        TileOp::Binary { op, lhs, rhs }
            if *f.ty(*lhs) == tilewright_ir::Type::Scalar(DType::I64) =>
        {
            match (op, constant(f, *lhs), constant(f, *rhs)) {
                (BinaryOp::Add | BinaryOp::Sub, _, Some(0))
                | (BinaryOp::Mul | BinaryOp::Div, _, Some(1)) => Some(*lhs),
                (BinaryOp::Add, Some(0), _) | (BinaryOp::Mul, Some(1), _) => Some(*rhs),
                (BinaryOp::Min | BinaryOp::Max, _, _) if lhs == rhs => Some(*lhs),
                _ => None,
            }
        }
        _ => None,
    }
}

/// An operation with the same result and less to do.
fn simpler(f: &Func, o: &TileOp) -> Option<TileOp> {
    let index = |v: i64| TileOp::Const(Literal { dtype: DType::I64, bits: v as u64 });
    match o {
        TileOp::Binary { op, lhs, rhs } if f.ty(*lhs).elem() == DType::I64 => {
            let (x, y) = (constant(f, *lhs)?, constant(f, *rhs)?);
            Some(index(match op {
                BinaryOp::Add => x.wrapping_add(y),
                BinaryOp::Sub => x.wrapping_sub(y),
                BinaryOp::Mul => x.wrapping_mul(y),
                BinaryOp::Div if y == 0 => 0,
                BinaryOp::Div => x.wrapping_div(y),
                BinaryOp::Rem if y == 0 => 0,
                BinaryOp::Rem => x.wrapping_rem(y),
                BinaryOp::Max => x.max(y),
                BinaryOp::Min => x.min(y),
                BinaryOp::And => x & y,
                BinaryOp::Or => x | y,
                BinaryOp::Xor => x ^ y,
                BinaryOp::Shl | BinaryOp::Shr => return None,
            }))
        }
        TileOp::Compare { op, lhs, rhs } if f.ty(*lhs).elem() == DType::I64 => {
            let (x, y) = (constant(f, *lhs)?, constant(f, *rhs)?);
            let holds = match op {
                CompareOp::Eq => x == y,
                CompareOp::Ne => x != y,
                CompareOp::Lt => x < y,
                CompareOp::Le => x <= y,
                CompareOp::Gt => x > y,
                CompareOp::Ge => x >= y,
            };
            Some(TileOp::Const(Literal { dtype: DType::Bool, bits: u64::from(holds) }))
        }
        TileOp::Reshape { x, shape } if !shape.is_empty() => match op(f, *x)? {
            TileOp::Reshape { x: inner, .. } if !f.ty(*inner).shape().is_empty() => {
                Some(TileOp::Reshape { x: *inner, shape: shape.clone() })
            }
            TileOp::Splat { x, .. } => Some(TileOp::Splat { x: *x, shape: shape.clone() }),
            _ => None,
        },
        TileOp::Broadcast { x, shape } | TileOp::Slice { x, shape, .. } => match op(f, *x)? {
            TileOp::Splat { x, .. } => Some(TileOp::Splat { x: *x, shape: shape.clone() }),
            _ => None,
        },
        TileOp::Transpose { x, perm } => match op(f, *x)? {
            TileOp::Transpose { x: inner, perm: first } => {
                let both = perm.iter().map(|&p| first.get(p).copied().unwrap_or(0)).collect();
                Some(TileOp::Transpose { x: *inner, perm: both })
            }
            _ => None,
        },
        _ => None,
    }
}
