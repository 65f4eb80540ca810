//! Recorded launches: steps in groups, replayed as one job of the pool.

use crate::device::{Access, LaunchArgs};
use crate::pool::{Group, Job, KernelFn, Pool, Step};
use std::sync::{Mutex, PoisonError};

/// Runs one launch now.
pub(super) fn run_one(pool: &Pool, kernel: KernelFn, args: &LaunchArgs<'_>) {
    let steps = [Step::new(kernel, args, pool.threads())];
    let groups = [Group::new(&steps, 0, 1)];
    pool.run(&Job::new(&steps, &groups));
}

/// A graph in the making.
#[derive(Default)]
pub(super) struct Recording {
    steps: Vec<Step<'static>>,
    /// Where each group ends.
    ends: Vec<usize>,
    /// Memory used since the present group began; a launch that names none conflicts with all.
    used: Vec<Access>,
    unknown: bool,
}

impl Recording {
    /// Appends a launch; it joins the present group if it depends on none of its launches.
    pub(super) fn push(&mut self, kernel: KernelFn, args: &LaunchArgs<'_>, threads: usize) {
        let new = args.accesses();
        let conflict = self.unknown
            || new.is_empty()
            || new.iter().any(|n| self.used.iter().any(|u| u.conflicts(n)));
        if conflict && !self.steps.is_empty() {
            self.ends.push(self.steps.len());
            self.used.clear();
        }
        self.unknown = new.is_empty();
        self.used.extend_from_slice(new);
        self.steps.push(Step::recorded(kernel, args, threads));
    }

    /// The finished graph.
    pub(super) fn finish(mut self) -> Replayable {
        if !self.steps.is_empty() {
            self.ends.push(self.steps.len());
        }
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let groups = starts
            .zip(&self.ends)
            .map(|(first, &end)| Group::new(&self.steps, first, end))
            .collect();
        Replayable { steps: self.steps, groups, turn: Mutex::new(()) }
    }
}

/// A graph.
pub(super) struct Replayable {
    steps: Vec<Step<'static>>,
    groups: Vec<Group>,
    /// The steps hold the counters of a run, so one graph runs once at a time.
    turn: Mutex<()>,
}

impl Replayable {
    /// Runs all launches, with one wake-up of the workers.
    pub(super) fn run(&self, pool: &Pool) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        pool.run(&Job::new(&self.steps, &self.groups));
    }
}
