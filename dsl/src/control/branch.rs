//! `if`: over a host `bool` as Rust does, over a kernel condition as a branch of the kernel. Both
//! branches of the latter are staged, and what they changed is merged.

use super::carry::{Carry, Leaf, Leaves};
use super::regions::{Carried, report_left};
use crate::diag;
use crate::elem::Bool;
use crate::handle::{Raw, Scalar};
use crate::source::Place;
use crate::staging::{Context, Depth, at};
use std::panic::Location;
use tilewright_ir::{RegionId, TileOp};

const BRANCH: &str = "`if`";

/// The condition of an `if` or `while`: a host `bool`, decided while staging, or a `Scalar<Bool>`,
/// decided in the kernel.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition",
    label = "expected `bool` or `Scalar<Bool>`",
    note = "for a `Tile<Bool>`, reduce it with `.any_all()` or `.all_all()`, or choose each element with `select`"
)]
pub trait Condition: Copy {
    /// Whether the condition is decided while staging.
    const IS_HOST: bool;
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "opaque outside this crate")]
    fn decide(self) -> Result<bool, Raw>;
}
impl Condition for bool {
    const IS_HOST: bool = true;
    #[allow(private_interfaces, reason = "opaque outside this crate")]
    fn decide(self) -> Result<bool, Raw> {
        Ok(self)
    }
}
impl Condition for Scalar<Bool> {
    const IS_HOST: bool = false;
    #[allow(private_interfaces, reason = "opaque outside this crate")]
    fn decide(self) -> Result<bool, Raw> {
        Err(self.raw)
    }
}

/// Whether a condition of this type lets a variable of type `T` change: `bool` any, `Scalar<Bool>`
/// those that implement [`Carry`].
pub trait Carries<T: ?Sized>: Condition {
    /// Shows the kernel values of `variable`, if they matter.
    fn visit(variable: &mut T, leaves: &mut Leaves<'_>);
}
impl<T: ?Sized> Carries<T> for bool {
    fn visit(_: &mut T, _: &mut Leaves<'_>) {}
}
impl<T: Carry + ?Sized> Carries<T> for Scalar<Bool> {
    fn visit(variable: &mut T, leaves: &mut Leaves<'_>) {
        variable.visit(leaves);
    }
}

/// The guard of an `if` whose condition has type `C`.
pub struct Branch<C> {
    condition: C,
    place: Place,
    inside: bool,
    /// Before the regions were opened.
    depth: Depth,
    then_region: RegionId,
    else_region: RegionId,
    carried: Carried,
    then_outs: Vec<Raw>,
    /// The kernel values of the `if` expression's own value, of either branch.
    then_value: Vec<Raw>,
    else_value: Vec<Raw>,
    value_results: Vec<Raw>,
}

impl<C: Condition> Branch<C> {
    /// An `if` that begins here.
    #[track_caller]
    pub fn new(condition: C) -> Branch<C> {
        Branch {
            condition,
            place: Location::caller(),
            inside: false,
            depth: Depth::default(),
            then_region: RegionId(0),
            else_region: RegionId(0),
            carried: Carried::default(),
            then_outs: Vec::new(),
            then_value: Vec::new(),
            else_value: Vec::new(),
            value_results: Vec::new(),
        }
    }

    /// Whether to run the first branch.
    pub fn enter_then(&mut self) -> bool {
        self.condition.decide().unwrap_or_else(|_| {
            self.inside = true;
            self.carried.begin();
            at(self.place, |cx| {
                self.depth = cx.depth();
                self.then_region = cx.open_region(BRANCH);
            });
            true
        })
    }

    /// Whether to run the second branch.
    pub fn enter_else(&mut self) -> bool {
        self.condition.decide().map(|c| !c).unwrap_or_else(|_| {
            self.then_outs = self.carried.outs();
            self.carried.begin();
            at(self.place, |cx| {
                cx.end_region();
                self.else_region = cx.open_region(BRANCH);
            });
            true
        })
    }

    /// Notes the values of a changed variable at the start of a branch.
    #[track_caller]
    pub fn carry_in<T: ?Sized>(&mut self, variable: &mut T)
    where
        C: Carries<T>,
    {
        self.carried.note(|l| C::visit(variable, l));
    }

    /// Takes the values of a changed variable at the end of a branch.
    #[track_caller]
    pub fn carry_out<T: ?Sized>(&mut self, variable: &mut T, name: &'static str)
    where
        C: Carries<T>,
    {
        let place = Location::caller();
        self.carried.take_out(place, "a kernel `if`", name, false, |l| C::visit(variable, l));
    }

    /// Takes the value of a branch.
    pub fn value<T>(&mut self, mut value: T) -> T
    where
        C: Carries<T>,
    {
        let in_else = self.else_region != RegionId(0);
        let values = if in_else { &mut self.else_value } else { &mut self.then_value };
        C::visit(
            &mut value,
            &mut Leaves::new(&mut |leaf| {
                if let Leaf::Value(raw) = leaf {
                    values.push(*raw);
                }
            }),
        );
        value
    }

    /// Both branches are staged.
    pub fn close(&mut self) {
        if self.condition.decide().is_ok() {
            return;
        }
        self.inside = false;
        at(self.place, |cx| self.finish(cx));
    }

    fn finish(&mut self, cx: &mut Context) {
        let else_outs = self.carried.outs();
        let inits = self.carried.inits();
        let mut merges: Vec<(Raw, Raw)> = Vec::new();
        let changed: Vec<bool> = (inits.iter().zip(&self.then_outs).zip(&else_outs))
            .map(|((init, then), els)| init != then || init != els)
            .collect();
        let pairs = self.then_outs.iter().copied().zip(else_outs.iter().copied());
        merges.extend(pairs.zip(&changed).filter(|(_, changed)| **changed).map(|(p, _)| p));
        if self.then_value.len() != self.else_value.len() {
            cx.report(diag::carried_count(&cx.span(), "a kernel `if`", "its value"));
        }
        merges.extend(self.then_value.iter().copied().zip(self.else_value.iter().copied()));
        for (then, els) in &mut merges {
            let (then_ty, else_ty) = (cx.ty(*then), cx.ty(*els));
            if then_ty != else_ty {
                cx.report(diag::branch_types(&cx.span(), &then_ty, &else_ty));
                *els = *then;
            }
        }
        let else_yields = merges.iter().map(|(_, els)| cx.get(*els)).collect();
        cx.end_region();
        cx.builder.exit(else_yields);
        let then_yields = cx
            .reopen(self.then_region, |cx| merges.iter().map(|(then, _)| cx.get(*then)).collect());
        cx.builder.exit(then_yields);
        let Err(cond) = self.condition.decide() else { return };
        let cond = cx.get(cond);
        let (then_region, else_region) = (self.then_region, self.else_region);
        let mut results = cx.push(TileOp::If { cond, then_region, else_region }).into_iter();
        let pick = |(init, changed): (&Raw, &bool)| match changed {
            true => results.next().unwrap_or(*init),
            false => *init,
        };
        let variables = inits.iter().zip(&changed).map(pick).collect();
        self.carried.set_results(variables);
        self.value_results = results.collect();
    }

    /// Puts the merged values into a changed variable.
    pub fn carry_end<T: ?Sized>(&mut self, variable: &mut T)
    where
        C: Carries<T>,
    {
        self.carried.put_results(|l| C::visit(variable, l));
    }

    /// The value of the `if`.
    pub fn merge<T>(&mut self, then_value: Option<T>, else_value: Option<T>) -> T
    where
        C: Carries<T>,
    {
        let Some(mut value) = then_value.or(else_value) else {
            unreachable!("one of the branches is run");
        };
        let mut results = self.value_results.iter();
        C::visit(
            &mut value,
            &mut Leaves::new(&mut |leaf| {
                if let (Leaf::Value(raw), Some(result)) = (leaf, results.next()) {
                    *raw = *result;
                }
            }),
        );
        value
    }
}

impl<C> Drop for Branch<C> {
    fn drop(&mut self) {
        if self.inside && !std::thread::panicking() {
            report_left(self.place, self.depth, "return", BRANCH);
        }
    }
}
