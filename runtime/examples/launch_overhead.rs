//! Prints what a launch costs on this machine: `cargo run --release -p tilewright --example
//! launch_overhead`. The kernel does nothing; it is compiled with the system's C compiler.
#![allow(clippy::print_stdout, reason = "a command line tool")]

use std::time::{Duration, Instant};
use tilewright::{Args, Graph, Runtime};

#[path = "../tests/common/mod.rs"]
mod common;

fn time(mut f: impl FnMut() -> tilewright::Result<()>) -> tilewright::Result<f64> {
    let mut best = Duration::MAX;
    for _ in 0..200 {
        let start = Instant::now();
        for _ in 0..200 {
            f()?;
        }
        best = best.min(start.elapsed());
    }
    Ok(best.as_secs_f64() * 1e9 / 200.0)
}

fn main() -> tilewright::Result<()> {
    for threads in [1, 2] {
        let rt: Runtime = common::builder(threads).pack(common::pack()).build()?;
        let s = rt.stream()?;
        for programs in [1usize, 2, 16, 1024] {
            let args = Args::new().axis("programs", programs);
            let call = rt.plan("nothing", &args)?.bind(&args)?;
            let run = time(|| call.run(&s))?;
            let graph = Graph::record(&rt, &s, |s| (0..100).try_for_each(|_| call.run(s)))?;
            let replay = time(|| graph.replay(&s))? / 100.0;
            println!(
                "{threads} threads, {programs} programs: launch {run:.0} ns, in a graph {replay:.0} ns"
            );
        }
        let args = Args::new().axis("programs", 1);
        let plan = time(|| rt.plan("nothing", &args).map(drop))?;
        println!("{threads} threads: plan met before {plan:.0} ns");
    }
    Ok(())
}
