//! Random programs: the interpreter and compiled code agree. `TILEWRIGHT_FUZZ_SEED` runs one seed,
//! `TILEWRIGHT_FUZZ_COUNT` chooses how many.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tilewright_codegen::interp::random::Config;
use tilewright_tests::differential::runnable;
use tilewright_tests::fuzz::run_seed;
use tilewright_tests::knobs;

/// Programs in a run of the usual tests.
const QUICK: u64 = 2000;
/// Programs in a nightly run.
const SLOW: u64 = 100_000;

fn run(seeds: std::ops::Range<u64>, config: &Config) {
    let seeds = knobs::fuzz_seed().map_or(seeds, |s| s..s + 1);
    let next = AtomicU64::new(seeds.start);
    let failures = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || failures.lock().unwrap().len() > 4 {
                        break;
                    }
                    for target in runnable() {
                        if let Err(e) = run_seed(seed, config, target) {
                            failures.lock().unwrap().push(e);
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} programs failed; run one again with TILEWRIGHT_FUZZ_SEED\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

#[test]
fn interpreter_and_compiled_code_agree() {
    run(0..knobs::fuzz_count().unwrap_or(QUICK), &Config::default());
}

#[test]
#[ignore = "slow: nightly"]
fn interpreter_and_compiled_code_agree_on_many() {
    run(QUICK..SLOW, &Config::default());
}
