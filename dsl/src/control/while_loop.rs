//! `while`: over a host `bool` as Rust does, over a kernel condition as a loop of the kernel.

use super::branch::{Carries, Condition, Mode};
use super::regions::{Carried, report_left};
use crate::diag;
use crate::source::Place;
use crate::staging::{Depth, at};
use std::marker::PhantomData;
use std::panic::Location;
use tilewright_ir::{RegionId, TileOp};

const LOOP: &str = "`while` loop";

/// The guard of a `while`.
pub struct While<M> {
    place: Place,
    state: State,
    cond: RegionId,
    body: RegionId,
    /// Before the regions were opened.
    depth: Depth,
    carried: Carried,
    mode: PhantomData<M>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// In the condition or the body; the discarded pass and the kept one.
    Inside {
        kept: bool,
    },
    /// After the body.
    Ended {
        kept: bool,
    },
    Closed,
}

/// A `while` that begins here. `condition` is never called: its type says where the loop runs.
#[track_caller]
pub fn while_loop<C: Condition>(_condition: impl FnOnce() -> C) -> While<C::Mode> {
    While {
        place: Location::caller(),
        state: State::Start,
        cond: RegionId(0),
        body: RegionId(0),
        depth: Depth::default(),
        carried: Carried::default(),
        mode: PhantomData,
    }
}

impl<M: Mode> While<M> {
    /// Whether to go through condition and body once more: for a kernel condition, twice in all.
    #[allow(clippy::should_implement_trait, reason = "not an iterator: nothing else may call it")]
    pub fn next(&mut self) -> bool {
        if M::IS_HOST {
            return true;
        }
        if let State::Inside { kept } = self.state {
            report_left(self.place, self.depth, "`continue`", LOOP);
            if kept {
                self.state = State::Closed;
                return false;
            }
            self.state = State::Ended { kept };
        }
        let kept = match self.state {
            State::Start => false,
            State::Ended { kept: false } => true,
            State::Inside { .. } | State::Ended { kept: true } | State::Closed => return false,
        };
        self.state = State::Inside { kept };
        self.carried.begin();
        at(self.place, |cx| {
            if kept {
                cx.abandon(self.depth);
            }
            self.depth = cx.depth();
            self.cond = cx.open_region(LOOP);
        });
        true
    }

    /// Replaces the values of a changed variable by parameters of the condition's region.
    #[track_caller]
    pub fn carry_in<T: ?Sized>(&mut self, variable: &mut T)
    where
        M: Carries<T>,
    {
        self.carried.take_in(Location::caller(), self.cond, |l| M::visit(variable, l));
    }

    /// Takes the condition. Gives whether to run the body: for a kernel condition, to stage it.
    #[track_caller]
    pub fn test<C: Condition<Mode = M>>(&mut self, condition: C) -> bool {
        let place = Location::caller();
        let condition = match condition.decide().0 {
            Ok(host) => return host,
            Err(raw) => raw,
        };
        at(place, |cx| {
            let condition = cx.get(condition);
            cx.end_region();
            cx.builder.exit(vec![condition]);
            self.body = cx.open_region(LOOP);
        });
        self.carried.again();
        true
    }

    /// Replaces the values of a changed variable by parameters of the body's region.
    #[track_caller]
    pub fn carry_over<T: ?Sized>(&mut self, variable: &mut T, name: &'static str)
    where
        M: Carries<T>,
    {
        let place = Location::caller();
        if !self.carried.take_over(place, self.body, |l| M::visit(variable, l)) {
            at(place, |cx| cx.report(diag::condition_assigns(&cx.span(), name)));
        }
    }

    /// The variables are in the body's region.
    pub fn begin_body(&mut self) {
        self.carried.again();
    }

    /// Takes the values of a changed variable at the end of the body.
    #[track_caller]
    pub fn carry_out<T: ?Sized>(&mut self, variable: &mut T, name: &'static str)
    where
        M: Carries<T>,
    {
        let place = Location::caller();
        self.carried.take_out(place, "a kernel loop", name, true, |l| M::visit(variable, l));
    }

    /// The body ran to its end.
    pub fn end_body(&mut self) {
        if let State::Inside { kept } = self.state {
            self.state = State::Ended { kept };
        }
    }

    /// The loop is over.
    pub fn close(&mut self) {
        if M::IS_HOST {
            return;
        }
        if let State::Inside { .. } = self.state {
            report_left(self.place, self.depth, "`break`", LOOP);
            self.state = State::Closed;
        }
        if self.state == (State::Ended { kept: true }) {
            let results = at(self.place, |cx| {
                let (inits, yields) = self.carried.inits_and_yields(cx);
                cx.end_region();
                cx.builder.exit(yields);
                cx.push(TileOp::While { inits, cond: self.cond, body: self.body })
            });
            self.carried.set_loop_results(results.unwrap_or_default());
        } else {
            let inits = self.carried.inits();
            self.carried.set_results(inits);
        }
        self.state = State::Closed;
    }

    /// Puts the loop's results into a changed variable.
    pub fn carry_end<T: ?Sized>(&mut self, variable: &mut T)
    where
        M: Carries<T>,
    {
        self.carried.put_results(|l| M::visit(variable, l));
    }
}

impl<M> Drop for While<M> {
    fn drop(&mut self) {
        if matches!(self.state, State::Inside { .. }) && !std::thread::panicking() {
            report_left(self.place, self.depth, "`return` or `?`", LOOP);
        }
    }
}
