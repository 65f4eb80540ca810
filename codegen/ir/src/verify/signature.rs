//! Rules 3, 4, 6 and 7: parameters and what is assumed of them.

use super::{MAX_RANK, Verifier};
use crate::codes;
use crate::diag::Diagnostic;
use crate::func::*;
use crate::types::Type;
use tilewright_abi::DType;

/// Whether memory holds elements of this type directly.
fn addressable(d: DType) -> bool {
    d.bits() >= 8 && d != DType::TF32
}

impl Verifier<'_> {
    pub(super) fn signature(&mut self) {
        let f = self.f;
        if !f.region(Func::BODY).params.is_empty() {
            let message = "the function's own region has parameters";
            self.report(Diagnostic::new(codes::SIGNATURE, message));
        }
        for (n, p) in f.params.iter().enumerate() {
            let name = &p.name;
            let at = |d: Diagnostic| d.note(format!("parameter `{name}` of kernel `{}`", f.name));
            if !crate::print::is_plain_name(name) {
                let message = format!("`{}` is not a parameter name", name.escape_debug());
                self.report(Diagnostic::new(codes::SIGNATURE, message));
            } else if f.params.iter().take(n).any(|q| q.name == *name) {
                let message = format!("two parameters are named `{name}`");
                self.report(Diagnostic::new(codes::SIGNATURE, message));
            }
            match self.ty(p.value) {
                ty @ Type::Tile(_) => {
                    let message = format!("`{ty}` cannot be a parameter");
                    self.report(at(Diagnostic::new(codes::SIGNATURE, message)));
                }
                Type::Scalar(d) if !addressable(*d) => {
                    let message = format!("a scalar of `{d}` cannot be a parameter");
                    self.report(at(Diagnostic::new(codes::SIGNATURE, message)));
                }
                Type::Scalar(_) => {}
                Type::View(v) => {
                    if !addressable(v.elem) {
                        let d = Diagnostic::new(
                            codes::VIEW_ELEMENT,
                            format!("a view cannot have elements of `{}`", v.elem),
                        );
                        let way = if v.elem == DType::TF32 { "f32" } else { "u8" };
                        self.report(at(
                            d.help(format!("view it as `{way}` and convert after the load"))
                        ));
                    }
                    if v.rank == 0 || v.rank > MAX_RANK {
                        let message =
                            format!("a view has 1 to {MAX_RANK} axes, this one {}", v.rank);
                        self.report(at(Diagnostic::new(codes::TILE_SIZE, message)));
                    }
                }
            }
            self.show(&[p.value], true);
        }
        f.assumes.iter().for_each(|a| self.assume(a));
    }

    fn assume(&mut self, a: &Assume) {
        let Some(p) = self.f.params.get(a.param) else {
            let message = "an assumption about a parameter that does not exist";
            return self.report(Diagnostic::new(codes::ASSUME, message));
        };
        let fault = match (self.ty(p.value), &a.fact) {
            (Type::View(v), Fact::DimMultiple(axis, n) | Fact::StrideMultiple(axis, n)) => {
                match (*axis < v.rank, *n) {
                    (false, _) => Some("the view does not have this axis"),
                    (true, 0) => Some("nothing useful is a multiple of 0"),
                    (true, _) => None,
                }
            }
            (Type::View(v), Fact::DimEquals(axis, _) | Fact::StrideEquals(axis, _)) => {
                (*axis >= v.rank).then_some("the view does not have this axis")
            }
            (Type::View(_), Fact::Aligned(n)) => {
                (!n.is_power_of_two()).then_some("an alignment is a power of two")
            }
            (Type::View(_), Fact::ScalarMultiple(_)) => Some("this is a fact about scalars"),
            (Type::Scalar(d), Fact::ScalarMultiple(n)) => match (d.is_int(), *n) {
                (false, _) => Some("only integers have multiples"),
                (true, 0) => Some("nothing useful is a multiple of 0"),
                (true, _) => None,
            },
            (Type::Scalar(_) | Type::Tile(_), _) => Some("this is a fact about views"),
        };
        if let Some(fault) = fault {
            let message = format!("an assumption about `{}` does not fit it", p.name);
            self.report(Diagnostic::new(codes::ASSUME, message).note(fault));
        }
    }
}
