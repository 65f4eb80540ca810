//! `for`: over host iterators as Rust does, over [`range`] as a loop of the kernel.

use super::carry::Carry;
use super::regions::{Carried, report_left};
use crate::diag;
use crate::elem::I64;
use crate::handle::{Raw, Scalar};
use crate::operand::IntoIndex;
use crate::source::Place;
use crate::staging::{Depth, at};
use std::ops::Range;
use std::panic::Location;
use tilewright_abi::DType;
use tilewright_ir::{RegionId, TileOp, Type};

const LOOP: &str = "`for` loop";

/// Positions `lo, lo + step, …` below `hi`, for a `for` that runs in the kernel.
#[derive(Clone, Copy, Debug)]
#[must_use = "a range does nothing unless a `for` in a `#[kernel]` function goes over it"]
pub struct KernelRange {
    lo: Raw,
    hi: Raw,
    step: Raw,
    place: Place,
}

/// `lo, lo + step, …` below `hi`: `for k in range(0, n, 16)` is a loop of the kernel, also when all
/// bounds are host values. A host loop, unrolled while staging, is `for k in (0..n).step_by(16)`.
#[track_caller]
pub fn range(lo: impl IntoIndex, hi: impl IntoIndex, step: impl IntoIndex) -> KernelRange {
    let place = Location::caller();
    let (lo, hi) = (lo.index_at(place).raw, hi.index_at(place).raw);
    let step = step.index_at(place).raw;
    at(place, |cx| {
        let func = cx.builder.func();
        let def = (cx.ty(step) == Type::Scalar(DType::I64)).then(|| func.def_inst(step.value));
        if let Some(TileOp::Const(l)) = def.flatten().map(|i| &func.inst(i).op)
            && l.bits as i64 <= 0
        {
            let step = l.bits as i64;
            cx.report(diag::bad_step(&cx.span(), step));
        }
    });
    KernelRange { lo, hi, step, place }
}

/// Part `part` of `parts` of `range(0, n, step)`, in blocks of whole steps: the parts are
/// consecutive, cover everything once, and later ones may be shorter or empty.
#[track_caller]
pub fn range_part(
    n: impl IntoIndex,
    step: impl IntoIndex,
    part: impl IntoIndex,
    parts: impl IntoIndex,
) -> KernelRange {
    let (n, step, part) = (n.into_index(), step.into_index(), part.into_index());
    let len = n.div_ceil(step).div_ceil(parts.into_index()) * step;
    let lo = part * len;
    range(lo, (lo + len).min(n), step)
}

/// Makes a host iterator the guard of a `for`.
pub trait HostLoop: IntoIterator + Sized {
    /// The guard.
    fn into_kernel_loop(self) -> HostFor<Self::IntoIter> {
        HostFor(self.into_iter())
    }
}
impl<I: IntoIterator> HostLoop for I {}

/// Makes `lo..hi` of kernel indices the guard of a `for`.
pub trait RangeLoop {
    /// The guard.
    fn into_kernel_loop(self) -> KernelFor;
}
impl RangeLoop for Range<Scalar<I64>> {
    #[track_caller]
    fn into_kernel_loop(self) -> KernelFor {
        range(self.start, self.end, 1).into_kernel_loop()
    }
}

impl KernelRange {
    /// The guard of a `for` over this range.
    pub fn into_kernel_loop(self) -> KernelFor {
        KernelFor {
            range: self,
            state: State::Start,
            region: RegionId(0),
            depth: Depth::default(),
            carried: Carried::default(),
        }
    }
}

/// The guard of a `for` over a host iterator: lets it run.
#[derive(Debug)]
pub struct HostFor<I>(I);

#[allow(missing_docs, reason = "the calls of `KernelFor`, without effect")]
impl<I: Iterator> HostFor<I> {
    #[allow(clippy::should_implement_trait, reason = "named as in `KernelFor`")]
    pub fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }
    pub fn carry_in<T: ?Sized>(&mut self, _: &mut T) {}
    pub fn carry_out<T: ?Sized>(&mut self, _: &mut T, _: &'static str) {}
    pub fn end_body(&mut self) {}
    pub fn close(&mut self) {}
    pub fn carry_end<T: ?Sized>(&mut self, _: &mut T) {}
}

/// The guard of a `for` over a [`KernelRange`].
pub struct KernelFor {
    range: KernelRange,
    state: State,
    region: RegionId,
    /// Before the region was opened.
    depth: Depth,
    carried: Carried,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// In the body; the discarded pass and the kept one.
    Body {
        kept: bool,
    },
    /// After the body.
    Ended {
        kept: bool,
    },
    Closed,
}

impl KernelFor {
    /// Opens the body for the next pass, of two, and gives the loop variable.
    #[allow(clippy::should_implement_trait, reason = "not an iterator: nothing else may call it")]
    pub fn next(&mut self) -> Option<Scalar<I64>> {
        if let State::Body { kept } = self.state {
            self.report_left("`continue`");
            if kept {
                self.state = State::Closed;
                return None;
            }
            self.state = State::Ended { kept };
        }
        let kept = match self.state {
            State::Start => false,
            State::Ended { kept: false } => true,
            State::Body { .. } | State::Ended { kept: true } | State::Closed => return None,
        };
        self.state = State::Body { kept };
        self.carried.begin();
        let index = at(self.range.place, |cx| {
            if kept {
                cx.abandon(self.depth);
            }
            self.depth = cx.depth();
            self.region = cx.open_region(LOOP);
            let index = cx.region_param(self.region, Type::Scalar(DType::I64));
            cx.raw(index)
        });
        Some(Scalar::from_raw(index.unwrap_or(Raw::INERT)))
    }

    /// Replaces the values of a changed variable by region parameters.
    #[track_caller]
    pub fn carry_in<T: Carry + ?Sized>(&mut self, variable: &mut T) {
        self.carried.take_in(Location::caller(), self.region, |l| variable.visit(l));
    }

    /// Takes the values of a changed variable at the end of the body.
    #[track_caller]
    pub fn carry_out<T: Carry + ?Sized>(&mut self, variable: &mut T, name: &'static str) {
        self.carried
            .take_out(Location::caller(), "a kernel loop", name, true, |l| variable.visit(l));
    }

    /// The body ran to its end.
    pub fn end_body(&mut self) {
        if let State::Body { kept } = self.state {
            self.state = State::Ended { kept };
        }
    }

    /// The loop is over.
    pub fn close(&mut self) {
        if let State::Body { .. } = self.state {
            self.report_left("`break`");
            self.state = State::Closed;
        }
        if self.state == (State::Ended { kept: true }) {
            let results = at(self.range.place, |cx| {
                let (inits, yields) = self.carried.inits_and_yields(cx);
                cx.end_region();
                cx.builder.exit(yields);
                let KernelRange { lo, hi, step, .. } = self.range;
                let (lo, hi, step) = (cx.get(lo), cx.get(hi), cx.get(step));
                cx.push(TileOp::For { lo, hi, step, inits, body: self.region })
            });
            self.carried.set_loop_results(results.unwrap_or_default());
        } else {
            let inits = self.carried.inits();
            self.carried.set_results(inits);
        }
        self.state = State::Closed;
    }

    /// Puts the loop's results into a changed variable.
    pub fn carry_end<T: Carry + ?Sized>(&mut self, variable: &mut T) {
        self.carried.put_results(|l| variable.visit(l));
    }

    fn report_left(&self, guess: &str) {
        report_left(self.range.place, self.depth, guess, LOOP);
    }
}

impl Drop for KernelFor {
    fn drop(&mut self) {
        if matches!(self.state, State::Body { .. }) && !std::thread::panicking() {
            self.report_left("`return` or `?`");
        }
    }
}
