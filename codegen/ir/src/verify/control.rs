//! Rules 24 and 25: loops and branches.

use super::{Rule, Verifier};
use crate::codes;
use crate::diag::Diagnostic;
use crate::func::{RegionId, Value};
use crate::op::{Literal, TileOp};
use crate::types::Type;
use tilewright_abi::DType;

fn list(types: &[&Type]) -> String {
    match types {
        [] => "nothing".to_owned(),
        _ => types.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", "),
    }
}

impl<'f> Verifier<'f> {
    fn types(&self, values: &[Value]) -> Vec<&'f Type> {
        values.iter().map(|v| self.ty(*v)).collect()
    }

    pub(super) fn control(&self, op: &TileOp) -> Rule {
        match op {
            TileOp::For { lo, hi, step, inits, body } => {
                for (what, v) in [("start", lo), ("end", hi), ("step", step)] {
                    self.control_scalar(op, what, *v, DType::I64)?;
                }
                if let Some(TileOp::Const(Literal { bits, .. })) =
                    self.f.def_inst(*step).map(|i| &self.f.inst(i).op)
                    && (*bits as i64) < 1
                {
                    let message = format!("the step of this loop is {}", *bits as i64);
                    return Err(Diagnostic::new(codes::CONTROL, message).help("count upwards"));
                }
                let mut want = vec![&Type::Scalar(DType::I64)];
                want.extend(self.carried(op, inits)?);
                self.params(op, *body, &want)?;
                self.yields(op, *body, want.get(1..).unwrap_or(&[]))
            }
            TileOp::While { inits, cond, body } => {
                let want = self.carried(op, inits)?;
                self.params(op, *cond, &want)?;
                self.params(op, *body, &want)?;
                let yielded = self.types(self.f.yields(*cond));
                if yielded != [&Type::Scalar(DType::Bool)] {
                    let message = "the condition of `while` is not one bool";
                    let label = format!("it yields {}", list(&yielded));
                    return Err(Diagnostic::new(codes::CONTROL, message).label(label));
                }
                self.yields(op, *body, &want)
            }
            TileOp::If { cond, then_region, else_region } => {
                self.control_scalar(op, "condition", *cond, DType::Bool)?;
                let want = self.carried(op, self.f.yields(*then_region))?;
                self.params(op, *then_region, &[])?;
                self.params(op, *else_region, &[])?;
                self.yields(op, *else_region, &want)
            }
            _ => Ok(()),
        }
    }

    fn control_scalar(&self, op: &TileOp, what: &str, v: Value, want: DType) -> Rule {
        let ty = self.ty(v);
        if *ty == Type::Scalar(want) {
            return Ok(());
        }
        let message = format!("the {what} of this `{}` is not one `{want}`", op.name());
        Err(Diagnostic::new(codes::CONTROL, message).label(format!("this is `{ty}`")))
    }

    fn carried(&self, op: &TileOp, values: &[Value]) -> Result<Vec<&'f Type>, Diagnostic> {
        let types = self.types(values);
        match types.iter().find(|t| matches!(t, Type::View(_))) {
            None => Ok(types),
            Some(view) => {
                let message = format!("`{}` carries a view", op.name());
                let d = Diagnostic::new(codes::CONTROL, message).label(format!("`{view}`"));
                Err(d.help("choose an index instead, and one view"))
            }
        }
    }

    fn params(&self, op: &TileOp, r: RegionId, want: &[&Type]) -> Rule {
        let have = self.types(&self.f.region(r).params);
        if have == want {
            return Ok(());
        }
        let message =
            format!("a region of this `{}` takes other values than it is given", op.name());
        let label = format!("it takes {}, it is given {}", list(&have), list(want));
        Err(Diagnostic::new(codes::CARRIED, message).label(label))
    }

    fn yields(&self, op: &TileOp, r: RegionId, want: &[&Type]) -> Rule {
        let have = self.types(self.f.yields(r));
        if have == want {
            return Ok(());
        }
        let label = format!("{} here, {} before", list(&have), list(want));
        Err(match op {
            TileOp::If { .. } => {
                let message = "the branches of this `if` give different types";
                Diagnostic::new(codes::CARRIED, message).label(label)
            }
            _ => {
                let message = format!("a value changes its type in this `{}`", op.name());
                Diagnostic::new(codes::CARRIED, message).label(label).help("cast the new value")
            }
        })
    }
}
