//! Worker threads of CPU launches: they spin for a short while, then sleep.
//!
//! A *job* is a list of *steps* (one launch each) in *groups*; the steps of one group do not depend on
//! each other, a group starts when the one before has finished. Threads claim chunks of a step's
//! program range from a shared counter and count what they finished; there is no list of
//! participants, so a thread that wakes late, or never, costs nothing but its help. The caller is one
//! of the threads. A kernel's programs do not depend on which thread runs them, so results do not
//! depend on the number of threads or on timing.
//!
//! The caller leaves a job only when no worker is inside it (`active`), which makes it sound to keep
//! jobs on the caller's stack.
#![allow(unsafe_code, reason = "calls compiled kernels; shares a job on the caller's stack")]

use crate::device::LaunchArgs;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A compiled CPU kernel: argument words, grid, and the range of linear program ids to run.
pub(crate) type KernelFn = unsafe extern "C" fn(*const u64, *const i64, i64, i64);

/// One launch of a job.
pub(crate) struct Step<'w> {
    kernel: KernelFn,
    words: Words<'w>,
    grid: [i64; 3],
    total: i64,
    chunk: i64,
    next: AtomicI64,
}

enum Words<'w> {
    Borrowed(&'w [u64]),
    Owned(Box<[u64]>),
}

/// Steps without dependences among them: `first..end` of the job's steps.
pub(crate) struct Group {
    first: usize,
    end: usize,
    total: i64,
    done: AtomicI64,
}

/// Steps and their groups.
pub(crate) struct Job<'j> {
    steps: &'j [Step<'j>],
    groups: &'j [Group],
}

impl<'w> Step<'w> {
    /// A launch of `grid[0] * grid[1] * grid[2]` programs of a kernel that the arguments are for.
    pub(crate) fn new(kernel: KernelFn, args: &LaunchArgs<'w>, threads: usize) -> Step<'w> {
        let grid = args.grid();
        let total = grid.iter().fold(1i64, |n, &g| n.saturating_mul(g.max(0)));
        // Eight chunks a thread even out the load without many claims.
        let chunk = (total / (threads as i64 * 8)).max(1);
        let words = Words::Borrowed(args.words());
        Step { kernel, words, grid, total, chunk, next: AtomicI64::new(0) }
    }

    /// The same, with a copy of the words.
    pub(crate) fn recorded(
        kernel: KernelFn,
        args: &LaunchArgs<'_>,
        threads: usize,
    ) -> Step<'static> {
        let Step { grid, total, chunk, next, .. } = Step::new(kernel, args, threads);
        Step { kernel, words: Words::Owned(args.words().into()), grid, total, chunk, next }
    }

    fn call(&self, begin: i64, end: i64) {
        let words = match &self.words {
            Words::Borrowed(words) => words.as_ptr(),
            Words::Owned(words) => words.as_ptr(),
        };
        // SAFETY: who made the `LaunchArgs` promised that the words are what this kernel takes and that
        // its memory stays allocated; `begin..end` is within the grid.
        unsafe { (self.kernel)(words, self.grid.as_ptr(), begin, end) }
    }

    /// Runs chunks until none is left; returns how many programs were run here.
    fn help(&self) -> i64 {
        let mut ran = 0;
        loop {
            // A look first: a plain read does not take the cache line from the threads at work.
            if self.next.load(Ordering::Relaxed) >= self.total {
                return ran;
            }
            let begin = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if begin >= self.total {
                return ran;
            }
            let end = begin.saturating_add(self.chunk).min(self.total);
            self.call(begin, end);
            ran += end - begin;
        }
    }
}

impl Group {
    /// The steps `first..end` of `steps`.
    pub(crate) fn new(steps: &[Step<'_>], first: usize, end: usize) -> Group {
        let of = steps.get(first..end).unwrap_or(&[]);
        let total = of.iter().fold(0i64, |n, s| n.saturating_add(s.total));
        Group { first, end, total, done: AtomicI64::new(0) }
    }
}

impl<'j> Job<'j> {
    /// A job of these steps in these groups, ready to run once.
    pub(crate) fn new(steps: &'j [Step<'j>], groups: &'j [Group]) -> Job<'j> {
        Job { steps, groups }
    }

    fn steps_of(&self, g: &Group) -> &[Step<'_>] {
        self.steps.get(g.first..g.end).unwrap_or(&[])
    }

    fn reset(&self) {
        self.steps.iter().for_each(|s| s.next.store(0, Ordering::Relaxed));
        self.groups.iter().for_each(|g| g.done.store(0, Ordering::Relaxed));
    }

    /// Runs everything on this thread.
    fn run_alone(&self) {
        for s in self.steps.iter().filter(|s| s.total > 0) {
            s.call(0, s.total);
        }
    }

    /// Takes part until the last group is exhausted, and with `to_the_end` until it has finished.
    fn work(&self, to_the_end: bool, yield_early: bool) {
        for (i, g) in self.groups.iter().enumerate() {
            for s in self.steps_of(g) {
                let ran = s.help();
                if ran > 0 {
                    g.done.fetch_add(ran, Ordering::Release);
                }
            }
            if i + 1 < self.groups.len() || to_the_end {
                wait_until(yield_early, || g.done.load(Ordering::Acquire) >= g.total);
            }
        }
    }
}

/// Spins, then lets other threads run.
fn wait_until(yield_early: bool, ready: impl Fn() -> bool) {
    let mut spins = 0u32;
    while !ready() {
        spins += 1;
        if spins > 4096 || (yield_early && spins > 32) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

struct Shared {
    /// Counts jobs; workers wait for it to change.
    epoch: AtomicU32,
    job: AtomicPtr<Job<'static>>,
    /// Workers that may hold `job`.
    active: AtomicU32,
    sleeping: AtomicU32,
    stop: AtomicBool,
    gate: Mutex<()>,
    bell: Condvar,
    spin: Duration,
    /// More threads than cores: give way instead of spinning.
    crowded: bool,
}

impl Shared {
    fn next_epoch(&self, seen: u32) -> u32 {
        let now = || self.epoch.load(Ordering::Acquire);
        if !self.crowded {
            let start = Instant::now();
            loop {
                for _ in 0..128 {
                    if now() != seen {
                        return now();
                    }
                    std::hint::spin_loop();
                }
                if start.elapsed() >= self.spin {
                    break;
                }
            }
        }
        let mut guard = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        while self.epoch.load(Ordering::SeqCst) == seen {
            guard = self.bell.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
        now()
    }

    fn ring(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
            self.bell.notify_all();
        }
    }

    fn worker(&self) {
        let mut seen = 0;
        loop {
            seen = self.next_epoch(seen);
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            self.active.fetch_add(1, Ordering::SeqCst);
            let job = self.job.load(Ordering::SeqCst);
            if !job.is_null() {
                // SAFETY: `Pool::run` clears `job` and then waits for `active` to be 0 before its job
                // goes away; both sides are sequentially consistent, so a job read after entering
                // `active` is alive until it is left.
                unsafe { (*job).work(false, self.crowded) };
            }
            self.active.fetch_sub(1, Ordering::Release);
        }
    }
}

/// The worker threads of one CPU device.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held by the thread whose job the workers share.
    owner: Mutex<()>,
}

impl Pool {
    /// A pool whose jobs run on `threads` threads, the caller's included.
    pub(crate) fn new(threads: usize, cores: usize, spin: Duration) -> std::io::Result<Pool> {
        let shared = Arc::new(Shared {
            epoch: AtomicU32::new(0),
            job: AtomicPtr::new(std::ptr::null_mut()),
            active: AtomicU32::new(0),
            sleeping: AtomicU32::new(0),
            stop: AtomicBool::new(false),
            gate: Mutex::new(()),
            bell: Condvar::new(),
            spin,
            crowded: threads > cores,
        });
        let mut pool = Pool { shared, workers: Vec::new(), owner: Mutex::new(()) };
        for i in 1..threads {
            let shared = Arc::clone(&pool.shared);
            let builder = std::thread::Builder::new().name(format!("tilewright-{i}"));
            // On failure the pool is dropped, which ends the workers made so far.
            pool.workers.push(builder.spawn(move || shared.worker())?);
        }
        Ok(pool)
    }

    /// Threads a job may run on, the caller's included.
    pub(crate) fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs a job. When the workers are busy with another caller's job, this one runs on the calling
    /// thread alone.
    pub(crate) fn run(&self, job: &Job<'_>) {
        let single = matches!(job.steps, [s] if s.total <= 1);
        if single || self.workers.is_empty() {
            return job.run_alone();
        }
        let _owner = match self.owner.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            Err(TryLockError::WouldBlock) => return job.run_alone(),
        };
        job.reset();
        let shared = &*self.shared;
        let erased = std::ptr::from_ref(job).cast::<Job<'static>>().cast_mut();
        shared.job.store(erased, Ordering::SeqCst);
        shared.ring();
        job.work(true, shared.crowded);
        shared.job.store(std::ptr::null_mut(), Ordering::SeqCst);
        wait_until(shared.crowded, || shared.active.load(Ordering::SeqCst) == 0);
    }

    /// Forgets the workers without waiting for them: in a forked child they do not exist.
    pub(crate) fn abandon(&mut self) {
        self.workers.drain(..).for_each(std::mem::forget);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.workers.is_empty() {
            // Also after `abandon`: a lock may be held for ever by a thread that the fork left behind.
            return;
        }
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.ring();
        for w in self.workers.drain(..) {
            // A worker cannot panic; and a join error in Drop has no one to go to.
            let _ = w.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds 1 to word `id` of the buffer at word 0.
    unsafe extern "C" fn bump(words: *const u64, _grid: *const i64, begin: i64, end: i64) {
        for id in begin..end {
            // SAFETY: the tests pass a buffer of as many cells as programs.
            unsafe { *(*words as *mut u64).add(id as usize) += 1 };
        }
    }

    fn bump_step(words: &[u64], grid: [i64; 3], threads: usize) -> Step<'_> {
        let shape = tilewright_abi::LaunchDesc::default();
        // SAFETY: `bump` writes as many cells as there are programs; they outlive the job.
        let args = unsafe { LaunchArgs::new(words, grid, shape, &[]) };
        Step::new(bump, &args, threads)
    }

    fn pool(threads: usize) -> Pool {
        Pool::new(threads, 64, Duration::from_micros(20)).unwrap()
    }

    #[test]
    fn every_program_runs_once() {
        for threads in [1, 2, 3, 16] {
            let pool = pool(threads);
            for n in [0i64, 1, 2, 3, 7, 100, 1001] {
                let mut cells = vec![0u64; n as usize];
                let words = [cells.as_mut_ptr() as u64];
                let steps = [bump_step(&words, [n, 1, 1], threads)];
                let groups = [Group::new(&steps, 0, 1)];
                pool.run(&Job::new(&steps, &groups));
                assert!(cells.iter().all(|&c| c == 1), "threads {threads}, n {n}");
            }
        }
    }

    #[test]
    fn groups_keep_order_over_many_replays() {
        let pool = pool(4);
        let mut cells = vec![0u64; 64];
        let words = [cells.as_mut_ptr() as u64];
        let steps: Vec<Step<'_>> = (0..10).map(|_| bump_step(&words, [8, 8, 1], 4)).collect();
        let groups: Vec<Group> = (0..10).map(|i| Group::new(&steps, i, i + 1)).collect();
        for _ in 0..200 {
            pool.run(&Job::new(&steps, &groups));
        }
        assert!(cells.iter().all(|&c| c == 2000), "{cells:?}");
    }

    #[test]
    fn concurrent_callers() {
        let pool = pool(3);
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    let mut cells = vec![0u64; 33];
                    let words = [cells.as_mut_ptr() as u64];
                    for _ in 0..100 {
                        let steps = [bump_step(&words, [33, 1, 1], 3)];
                        let groups = [Group::new(&steps, 0, 1)];
                        pool.run(&Job::new(&steps, &groups));
                    }
                    assert!(cells.iter().all(|&c| c == 100));
                });
            }
        });
    }
}
