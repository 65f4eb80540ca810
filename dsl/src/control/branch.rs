//! `if`: over a host `bool` as Rust does, over a kernel condition as a branch of the kernel. Both
//! branches of the latter are staged, and what they changed is merged.

use super::carry::{Carry, Leaf, Leaves};
use super::regions::{Carried, report_left};
use crate::diag;
use crate::elem::Bool;
use crate::handle::{Raw, Scalar};
use crate::source::Place;
use crate::staging::{Context, Depth, at};
use std::marker::PhantomData;
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
    /// [`Host`] or [`Kernel`].
    type Mode: Mode;
    #[doc(hidden)]
    fn decide(self) -> Decision;
}

/// A condition's value, if it is a host value; else opaque.
#[derive(Clone, Copy, Debug)]
pub struct Decision(pub(super) Result<bool, Raw>);

impl Condition for bool {
    type Mode = Host;
    fn decide(self) -> Decision {
        Decision(Ok(self))
    }
}
impl Condition for Scalar<Bool> {
    type Mode = Kernel;
    fn decide(self) -> Decision {
        Decision(Err(self.raw))
    }
}

/// Where a loop or branch runs.
pub trait Mode {
    /// Whether that is while staging.
    const IS_HOST: bool;
}

/// The loop or branch runs while staging.
#[derive(Debug)]
pub enum Host {}
impl Mode for Host {
    const IS_HOST: bool = true;
}

/// The loop or branch runs in the kernel.
#[derive(Debug)]
pub enum Kernel {}
impl Mode for Kernel {
    const IS_HOST: bool = false;
}

/// Whether a loop or branch lets a variable of type `T` change: on the host any, in the kernel those
/// that implement [`Carry`].
pub trait Carries<T: ?Sized>: Mode {
    /// Shows the kernel values of `variable`, if they matter.
    fn visit(variable: &mut T, leaves: &mut Leaves<'_>);
}
impl<T: ?Sized> Carries<T> for Host {
    fn visit(_: &mut T, _: &mut Leaves<'_>) {}
}
impl<T: Carry + ?Sized> Carries<T> for Kernel {
    fn visit(variable: &mut T, leaves: &mut Leaves<'_>) {
        variable.visit(leaves);
    }
}

/// The guard of an `if`.
pub struct Branch<M> {
    condition: Result<bool, Raw>,
    place: Place,
    inside: bool,
    /// Before the regions were opened.
    depth: Depth,
    then_region: RegionId,
    else_region: RegionId,
    carried: Carried,
    then_outs: Vec<Raw>,
    mode: PhantomData<M>,
}

/// The value of the first branch, with the way to see its kernel values.
pub struct Value<T> {
    value: T,
    visit: fn(&mut T, &mut Leaves<'_>),
}

/// An `if` that begins here.
#[track_caller]
pub fn branch<C: Condition>(condition: C) -> Branch<C::Mode> {
    Branch {
        condition: condition.decide().0,
        place: Location::caller(),
        inside: false,
        depth: Depth::default(),
        then_region: RegionId(0),
        else_region: RegionId(0),
        carried: Carried::default(),
        then_outs: Vec::new(),
        mode: PhantomData,
    }
}

impl<M: Mode> Branch<M> {
    /// Whether to run the first branch.
    pub fn enter_then(&mut self) -> bool {
        self.condition.unwrap_or_else(|_| {
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
        self.condition.map(|c| !c).unwrap_or_else(|_| {
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
    pub fn carry_in<T: ?Sized>(&mut self, variable: &mut T)
    where
        M: Carries<T>,
    {
        self.carried.note(|l| M::visit(variable, l));
    }

    /// Takes the values of a changed variable at the end of a branch.
    #[track_caller]
    pub fn carry_out<T: ?Sized>(&mut self, variable: &mut T, name: &'static str)
    where
        M: Carries<T>,
    {
        let place = Location::caller();
        self.carried.take_out(place, "a kernel `if`", name, false, |l| M::visit(variable, l));
    }

    /// Takes the value of the first branch; the second's has the same type.
    pub fn value<T>(&self, value: T) -> Value<T>
    where
        M: Carries<T>,
    {
        Value { value, visit: M::visit }
    }

    /// Both branches are done: gives the value of the `if`.
    pub fn close<T>(&mut self, then_value: Option<Value<T>>, else_value: Option<T>) -> T {
        match (then_value, else_value) {
            (Some(then), Some(els)) => self.merge(then, els),
            (Some(then), None) => then.value,
            (None, Some(els)) => els,
            (None, None) => unreachable!("one of the branches has run"),
        }
    }

    fn merge<T>(&mut self, then: Value<T>, mut els: T) -> T {
        self.inside = false;
        let Value { value: mut then, visit } = then;
        let (mut then_leaves, mut else_leaves) = (Vec::new(), Vec::new());
        visit(&mut then, &mut Leaves::new(&mut |leaf| then_leaves.extend(leaf.value())));
        visit(&mut els, &mut Leaves::new(&mut |leaf| else_leaves.extend(leaf.value())));
        let results = at(self.place, |cx| self.finish(cx, &then_leaves, &else_leaves));
        let mut results = results.unwrap_or_default().into_iter();
        let mut put = |leaf: Leaf<'_>| {
            if let (Leaf::Value(raw), Some(result)) = (leaf, results.next()) {
                *raw = result;
            }
        };
        visit(&mut then, &mut Leaves::new(&mut put));
        then
    }

    /// Ends both regions; gives the merged values of the `if`'s own value.
    fn finish(&mut self, cx: &mut Context, then_value: &[Raw], else_value: &[Raw]) -> Vec<Raw> {
        let else_outs = self.carried.outs();
        let inits = self.carried.inits();
        let changed: Vec<bool> = (inits.iter().zip(&self.then_outs).zip(&else_outs))
            .map(|((init, then), els)| init != then || init != els)
            .collect();
        let outs = self.then_outs.iter().copied().zip(else_outs.iter().copied());
        let mut merges: Vec<(Raw, Raw)> =
            outs.zip(&changed).filter(|(_, changed)| **changed).map(|(pair, _)| pair).collect();
        if then_value.len() != else_value.len() {
            cx.report(diag::carried_count(&cx.span(), "a kernel `if`", "its value"));
        }
        merges.extend(then_value.iter().copied().zip(else_value.iter().copied()));
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
        let Err(cond) = self.condition else { return Vec::new() };
        let cond = cx.get(cond);
        let (then_region, else_region) = (self.then_region, self.else_region);
        let mut results = cx.push(TileOp::If { cond, then_region, else_region }).into_iter();
        let pick = |(init, changed): (&Raw, &bool)| match changed {
            true => results.next().unwrap_or(*init),
            false => *init,
        };
        let variables = inits.iter().zip(&changed).map(pick).collect();
        self.carried.set_results(variables);
        results.collect()
    }

    /// Puts the merged values into a changed variable.
    pub fn carry_end<T: ?Sized>(&mut self, variable: &mut T)
    where
        M: Carries<T>,
    {
        self.carried.put_results(|l| M::visit(variable, l));
    }
}

impl<M> Drop for Branch<M> {
    fn drop(&mut self) {
        if self.inside && !std::thread::panicking() {
            report_left(self.place, self.depth, "`return` or `?`", BRANCH);
        }
    }
}
