//! Prints what a launch costs on this machine: `cargo run --release -p tilewright --example
//! launch_overhead`. The kernel does nothing; it is compiled with the system's C compiler.
#![allow(clippy::print_stdout, reason = "a command line tool")]

use std::time::{Duration, Instant};
use tilewright::abi::{ConfigFile, ConfigKey, ConfigRecord, OpSpec, Provenance, Variant};
use tilewright::{Args, Configs, DType, Graph, Problem, Runtime};

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

/// Looks up one of 200 records.
fn look_up() -> tilewright::Result<f64> {
    let rt = common::builder(1).pack(common::pack()).build()?;
    let problem = Problem::new("axpy").dtype("x", DType::F32).axis("m", 40);
    let records = (0..200).map(|n| ConfigRecord {
        key: ConfigKey::of(
            rt.catalog().spec("axpy").unwrap_or(&OpSpec::default()),
            &problem.clone().axis("n", n),
        ),
        algorithm: "rows".into(),
        variant: Variant::new().with("bm", 1),
        time_us: 1.0,
        spread: 0.0,
        provenance: Provenance {
            source: "sha256:src".into(),
            toolchain: "cc".into(),
            ..Provenance::default()
        },
    });
    let file = ConfigFile {
        device: rt.device_key().into(),
        records: records.collect(),
        ..ConfigFile::default()
    };
    let mut configs = Configs::default();
    configs.add_text(&file.to_text(), "test", rt.device_key(), rt.catalog());
    let f32_code = DType::F32 as i64;
    let exact = [77, f32_code, f32_code, 0, 0, 0];
    let mut found = 0;
    let ns = time(|| {
        found += usize::from(configs.lookup("axpy", &exact, &[40]).is_some());
        Ok(())
    });
    println!("look-up of a tuned record among {}: found {}", configs.len(), found > 0);
    ns
}

fn main() -> tilewright::Result<()> {
    println!("look-up of a tuned record {:.0} ns", look_up()?);
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
        let problem = rt.plan("nothing", &args)?.problem().clone();
        let select = time(|| tilewright::select(&problem, rt.catalog(), rt.configs()).map(drop))?;
        println!("{threads} threads: plan met before {plan:.0} ns, selection {select:.0} ns");
    }
    Ok(())
}
