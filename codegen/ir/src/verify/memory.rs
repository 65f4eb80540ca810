//! Rules 18 to 21: views, accesses and grid axes.

use super::{Rule, Verifier};
use crate::codes;
use crate::diag::Diagnostic;
use crate::func::Value;
use crate::op::*;
use crate::types::{Type, ViewType};
use tilewright_abi::DType;

fn access_fault(what: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::ACCESS, what)
}

fn atomic(op: AtomicOp, d: DType) -> bool {
    let wide = d.bits() >= 32;
    match op {
        AtomicOp::Add | AtomicOp::Exchange => wide && d != DType::TF32,
        AtomicOp::Max | AtomicOp::Min | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => {
            wide && d.is_int()
        }
    }
}

impl<'f> Verifier<'f> {
    fn view(&self, op: &TileOp, v: Value) -> Result<&'f ViewType, Diagnostic> {
        match self.ty(v) {
            Type::View(view) => Ok(view),
            ty @ (Type::Scalar(_) | Type::Tile(_)) => {
                let message = format!("`{}` takes a view here", op.name());
                Err(Diagnostic::new(codes::FORM, message).label(format!("this is `{ty}`")))
            }
        }
    }

    pub(super) fn memory(&self, op: &TileOp) -> Rule {
        match op {
            TileOp::Dim { view, axis } => {
                let view = self.view(op, *view)?;
                self.axis(op, *axis, view.rank)
            }
            TileOp::ProgramId { axis } | TileOp::NumPrograms { axis } if *axis > 2 => {
                let message = format!("`{}` of grid axis {axis}", op.name());
                Err(Diagnostic::new(codes::GRID_AXIS, message)
                    .note("a grid has the axes 0, 1 and 2"))
            }
            TileOp::Load { access, shape, other } => {
                let view = self.view(op, access.view)?;
                self.access(access, view, shape)?;
                match other {
                    Some(v) => {
                        self.scalar(op, *v)?;
                        self.memory_type(op, *v, view)
                    }
                    None => Ok(()),
                }
            }
            TileOp::Store { access, value } | TileOp::Atomic { access, value, .. } => {
                let view = self.view(op, access.view)?;
                if !view.mutable {
                    let message = format!("`{}` to a read-only view", op.name());
                    let d = Diagnostic::new(codes::READ_ONLY, message);
                    return Err(d.help("declare the parameter as a mutable view"));
                }
                self.data(op, *value)?;
                self.access(access, view, self.ty(*value).shape())?;
                self.memory_type(op, *value, view)?;
                match op {
                    TileOp::Atomic { op: kind, .. } if !atomic(*kind, view.elem) => {
                        let message =
                            format!("`atomic {}` is not defined on `{}`", kind.name(), view.elem);
                        Err(Diagnostic::new(codes::ATOMIC, message))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn memory_type(&self, op: &TileOp, v: Value, view: &ViewType) -> Rule {
        let ty = self.ty(v);
        if ty.elem() == view.elem {
            return Ok(());
        }
        let message = format!("`{}` of another type than the view's elements", op.name());
        let d = Diagnostic::new(codes::MEMORY_TYPE, message);
        Err(d.label(format!("`{ty}`, the view has `{}`", view.elem)).help("cast the value"))
    }

    /// Rule 18. An empty `shape` is one element.
    fn access(&self, a: &Access, view: &ViewType, shape: &[usize]) -> Rule {
        let rank = view.rank;
        if a.coords.len() != rank || a.bounds.len() != rank {
            let (coords, bounds) = (a.coords.len(), a.bounds.len());
            let message = format!("a view of {rank} axes at {coords} coordinates, {bounds} bounds");
            return Err(access_fault(message));
        }
        if !shape.is_empty() && shape.len() != rank {
            return Err(access_fault(format!(
                "a tile of {} axes in a view of {rank}",
                shape.len()
            ))
            .note("axes of extent 1 stand for a fixed coordinate"));
        }
        for (axis, coord) in a.coords.iter().enumerate() {
            let (v, want): (Value, &[usize]) = match coord {
                Coord::Span(v) if *self.ty(*v) == Type::Scalar(DType::I64) => continue,
                Coord::Span(v) => {
                    let message = format!("the coordinate on axis {axis} is not an `i64` scalar");
                    return Err(access_fault(message).label(format!("this is `{}`", self.ty(*v))));
                }
                Coord::Rows(_) | Coord::Gather(_) if shape.is_empty() => {
                    let message = format!("a single element has an index tile on axis {axis}");
                    return Err(access_fault(message));
                }
                Coord::Rows(v) => (*v, shape.get(axis..=axis).unwrap_or(&[])),
                Coord::Gather(v) => (*v, shape),
            };
            let ty = self.ty(v);
            let index = matches!(ty.elem(), DType::I32 | DType::I64);
            if !(index && matches!(ty, Type::Tile(_)) && ty.shape() == want) {
                let message = format!("the indices on axis {axis} do not fit the tile");
                return Err(access_fault(message)
                    .label(format!("this is `{ty}`"))
                    .note(format!("it must be a tile {want:?} of `i32` or `i64`")));
            }
        }
        for (axis, bound) in a.bounds.iter().enumerate() {
            match bound {
                Bound::Limit(v) if *self.ty(*v) != Type::Scalar(DType::I64) => {
                    let message = format!("the limit on axis {axis} is not an `i64` scalar");
                    return Err(access_fault(message).label(format!("this is `{}`", self.ty(*v))));
                }
                Bound::Limit(_) | Bound::Dim | Bound::Inside => {}
            }
        }
        Ok(())
    }
}
