//! Rules 15 and 17: shapes and axes.

use super::elements::{arithmetic, reduction};
use super::{Rule, Verifier};
use crate::codes;
use crate::diag::Diagnostic;
use crate::func::Value;
use crate::op::TileOp;

fn elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, extent| n.checked_mul(*extent))
}

fn misfit(op: &TileOp, what: String) -> Diagnostic {
    let name = op.name();
    Diagnostic::new(codes::SHAPE, format!("the shape of this `{name}` does not fit")).label(what)
}

impl Verifier<'_> {
    pub(super) fn axis(&self, op: &TileOp, axis: usize, rank: usize) -> Rule {
        if axis < rank {
            return Ok(());
        }
        let message = format!("`{}` along axis {axis} of something with {rank}", op.name());
        Err(Diagnostic::new(codes::AXIS, message).note("axes are counted from 0"))
    }

    pub(super) fn shapes(&self, op: &TileOp) -> Rule {
        if let TileOp::Splat { x, shape } = op {
            self.scalar(op, *x)?;
            return match shape.len() {
                0 => Err(misfit(op, "a tile has at least one axis".to_owned())),
                _ => Ok(()),
            };
        }
        let operands = op.operands();
        let Some(&x) = operands.first() else { return Ok(()) };
        let from = self.tile(op, x)?;
        match op {
            TileOp::Reshape { shape, .. } => {
                if shape.is_empty() || elements(shape) != elements(from) {
                    return Err(misfit(op, format!("{from:?} to {shape:?}")));
                }
                Ok(())
            }
            TileOp::Transpose { perm, .. } => {
                let mut sorted = perm.clone();
                sorted.sort_unstable();
                if !sorted.into_iter().eq(0..from.len()) {
                    return Err(misfit(
                        op,
                        format!("{perm:?} does not permute {} axes", from.len()),
                    ));
                }
                Ok(())
            }
            TileOp::Broadcast { shape, .. } => {
                let fits = |(a, b): (&usize, &usize)| a == b || *a == 1;
                if shape.len() != from.len() || !from.iter().zip(shape).all(fits) {
                    return Err(misfit(op, format!("{from:?} to {shape:?}")));
                }
                Ok(())
            }
            TileOp::Slice { starts, shape, .. } => {
                let inside = |((start, len), extent): ((&usize, &usize), &usize)| {
                    start.checked_add(*len).is_some_and(|end| end <= *extent)
                };
                let ranks = shape.len() == from.len() && starts.len() == from.len();
                if !ranks || !starts.iter().zip(shape).zip(from).all(inside) {
                    return Err(misfit(op, format!("{shape:?} at {starts:?} of {from:?}")));
                }
                Ok(())
            }
            TileOp::Join { lhs, rhs } => {
                self.tile(op, *rhs)?;
                self.same(op, *lhs, *rhs)
            }
            TileOp::Split { .. } => {
                if from.len() < 2 || from.last() != Some(&2) {
                    return Err(misfit(
                        op,
                        format!("the last of at least two axes is 2, not {from:?}"),
                    ));
                }
                Ok(())
            }
            TileOp::Reduce { op: fold, axis, .. } | TileOp::Scan { op: fold, axis, .. } => {
                self.axis(op, *axis, from.len())?;
                self.element(op, x, reduction(*fold, self.ty(x).elem()))
            }
            TileOp::ArgReduce { axis, .. } | TileOp::Sort { axis, .. } => {
                self.axis(op, *axis, from.len())?;
                self.element(op, x, self.arithmetic_value(x))
            }
            _ => Ok(()),
        }
    }

    fn arithmetic_value(&self, v: Value) -> bool {
        arithmetic(self.ty(v).elem())
    }
}
