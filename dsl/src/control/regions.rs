//! What the guards of loops and branches share: the carried values and the way out.

use super::carry::{HostPart, Leaf, Leaves};
use crate::diag;
use crate::handle::Raw;
use crate::source::{self, Place};
use crate::staging::{Context, Depth, at, peek};
use std::panic::Location;
use tilewright_ir::{RegionId, Value};

/// Notes that `break`, `continue` or `return` is about to run, for the message if it leaves a
/// kernel region.
#[track_caller]
pub fn leaving(what: &'static str) {
    let place = Location::caller();
    peek(|cx| cx.leaving = Some((place, what)));
}

/// One kernel value of the carried variables.
struct Slot {
    /// Its value before the construct.
    init: Raw,
    /// Its region parameter; of a value that does not change, the same as `init`.
    param: Raw,
    /// Its value at the end of the region.
    out: Raw,
}

/// The carried values of a construct, in the order in which they are visited.
#[derive(Default)]
pub(super) struct Carried {
    slots: Vec<Slot>,
    hosts: Vec<HostPart>,
    /// For each slot, whether the previous pass changed it; empty in the first pass.
    changes: Vec<bool>,
    /// The next slot and host part that `out` or `end` visits.
    next: (usize, usize),
    /// Number of slots and host parts at the start of each variable, checked by `out`.
    starts: Vec<(usize, usize)>,
    variable: usize,
    results: Vec<Raw>,
}

impl Carried {
    /// Starts a pass over a body.
    pub(super) fn begin(&mut self) {
        self.changes = self.slots.iter().map(|s| s.out != s.param).collect();
        self.slots.clear();
        self.hosts.clear();
        self.starts.clear();
        self.rewind();
    }

    fn rewind(&mut self) {
        self.next = (0, 0);
        self.variable = 0;
    }

    /// Takes in a variable at the start of a region: its values become parameters of `region`.
    pub(super) fn take_in(
        &mut self,
        place: Place,
        region: RegionId,
        visit: impl FnOnce(&mut Leaves<'_>),
    ) {
        self.starts.push((self.slots.len(), self.hosts.len()));
        visit(&mut Leaves::new(&mut |leaf| match leaf {
            Leaf::Host(part) => self.hosts.push(part),
            Leaf::Value(raw) => {
                let init = *raw;
                if self.changes.get(self.slots.len()).copied().unwrap_or(true) {
                    *raw = at(place, |cx| parameter(cx, region, init)).unwrap_or(init);
                }
                self.slots.push(Slot { init, param: *raw, out: *raw });
            }
        }));
    }

    /// Notes a variable at the start of a branch, which has no parameters: its values stay.
    pub(super) fn note(&mut self, visit: impl FnOnce(&mut Leaves<'_>)) {
        self.starts.push((self.slots.len(), self.hosts.len()));
        visit(&mut Leaves::new(&mut |leaf| match leaf {
            Leaf::Host(part) => self.hosts.push(part),
            Leaf::Value(raw) => self.slots.push(Slot { init: *raw, param: *raw, out: *raw }),
        }));
    }

    /// Replaces a variable's values by parameters of a second region of the same construct. Gives
    /// whether the variable still had the values of the first.
    pub(super) fn take_over(
        &mut self,
        place: Place,
        region: RegionId,
        visit: impl FnOnce(&mut Leaves<'_>),
    ) -> bool {
        let mut untouched = true;
        visit(&mut Leaves::new(&mut |leaf| {
            let Leaf::Value(raw) = leaf else { return };
            let Some(slot) = self.slots.get_mut(self.next.0) else { return };
            self.next.0 += 1;
            untouched &= *raw == slot.param;
            if slot.param != slot.init {
                let init = slot.init;
                slot.param = at(place, |cx| parameter(cx, region, init)).unwrap_or(init);
            }
            *raw = slot.param;
        }));
        untouched
    }

    /// Takes a variable's values at the end of a region and puts the initial ones back.
    /// `what` is the construct and `check_type` whether each value must have its initial type.
    pub(super) fn take_out(
        &mut self,
        place: Place,
        what: &str,
        name: &str,
        check_type: bool,
        visit: impl FnOnce(&mut Leaves<'_>),
    ) {
        visit(&mut Leaves::new(&mut |leaf| match leaf {
            Leaf::Host(part) => {
                if !self.hosts.get(self.next.1).is_none_or(|was| was.is_same(&part)) {
                    at(place, |cx| cx.report(diag::fixed_changed(&cx.span(), what, name)));
                }
                self.next.1 += 1;
            }
            Leaf::Value(raw) => {
                if let Some(slot) = self.slots.get_mut(self.next.0) {
                    slot.out = *raw;
                    *raw = slot.init;
                    if check_type {
                        at(place, |cx| check_same_type(cx, what, name, slot));
                    }
                    let unseen = check_type && slot.param == slot.init && slot.out != slot.init;
                    if unseen && !self.changes.is_empty() {
                        at(place, |cx| cx.report(diag::fixed_changed(&cx.span(), what, name)));
                    }
                }
                self.next.0 += 1;
            }
        }));
        self.variable += 1;
        let end = self.starts.get(self.variable).copied();
        if self.next != end.unwrap_or((self.slots.len(), self.hosts.len())) {
            at(place, |cx| cx.report(diag::carried_count(&cx.span(), what, name)));
            self.next = end.unwrap_or((self.slots.len(), self.hosts.len()));
        }
    }

    /// Puts the results of the construct into a variable.
    pub(super) fn put_results(&mut self, visit: impl FnOnce(&mut Leaves<'_>)) {
        visit(&mut Leaves::new(&mut |leaf| {
            if let Leaf::Value(raw) = leaf {
                *raw = self.results.get(self.next.0).copied().unwrap_or(*raw);
                self.next.0 += 1;
            }
        }));
    }

    /// The initial values and yields of the values that have a region parameter.
    pub(super) fn inits_and_yields(&self, cx: &mut Context) -> (Vec<Value>, Vec<Value>) {
        let carried = self.slots.iter().filter(|s| s.param != s.init);
        carried.map(|s| (cx.get(s.init), cx.get(s.out))).unzip()
    }

    /// The values at the end of the region just staged; the next `take_out` starts over.
    pub(super) fn outs(&mut self) -> Vec<Raw> {
        self.rewind();
        self.slots.iter().map(|s| s.out).collect()
    }

    /// The initial values.
    pub(super) fn inits(&self) -> Vec<Raw> {
        self.slots.iter().map(|s| s.init).collect()
    }

    /// Starts a second region over the same variables.
    pub(super) fn again(&mut self) {
        self.rewind();
    }

    /// What `put_results` gives: `results` for values with a parameter, the initial ones for others.
    pub(super) fn set_loop_results(&mut self, results: Vec<Raw>) {
        let mut results = results.into_iter();
        let pick = |s: &Slot| if s.param == s.init { None } else { results.next() };
        let all = self.slots.iter().map(pick).collect::<Vec<_>>();
        self.set_results(all.iter().zip(&self.slots).map(|(r, s)| r.unwrap_or(s.init)).collect());
    }

    /// What `put_results` gives.
    pub(super) fn set_results(&mut self, results: Vec<Raw>) {
        self.results = results;
        self.rewind();
    }
}

fn parameter(cx: &mut Context, region: RegionId, init: Raw) -> Raw {
    let ty = cx.ty(init);
    let value = cx.region_param(region, ty);
    cx.raw(value)
}

fn check_same_type(cx: &mut Context, what: &str, name: &str, slot: &mut Slot) {
    let (was, is) = (cx.ty(slot.init), cx.ty(slot.out));
    if was != is {
        cx.report(diag::carried_type(&cx.span(), what, name, &was, &is));
        slot.out = slot.param;
    }
}

/// Reports that a construct's region was left before its end, and forgets the region.
pub(super) fn report_left(begins: Place, depth: Depth, guess: &str, construct: &str) {
    peek(|cx| {
        let (place, what) = cx.leaving.unwrap_or((begins, guess));
        let d = diag::left_region(&source::span(place), what, &source::span(begins), construct);
        cx.report(d);
        cx.abandon(depth);
    });
}
