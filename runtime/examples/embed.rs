//! The smallest server: `embed PACK_DIR [CONFIG_DIR]` opens a pack and lists what it can do here.
//! Its size is what the runtime adds to a program: see `tests/size.rs`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

use std::process::ExitCode;
use tilewright::{Args, Graph, Runtime, Tensor};

/// Runs an op of one input and one output of the same shape, if the pack has one; keeps the linker
/// honest about what a server uses.
fn exercise(rt: &Runtime, op: &str) -> tilewright::Result<Vec<f32>> {
    let stream = rt.stream()?;
    let x = Tensor::from_slice(rt, &[1.0f32; 64], &[1, 64])?;
    let args = Args::new().tensor("x", &x).tensor("y", &x);
    let call = rt.plan(op, &args)?.bind(&args)?;
    let graph = Graph::record(rt, &stream, |s| call.run(s))?;
    graph.replay(&stream)?;
    x.to_vec()
}

fn run() -> tilewright::Result<()> {
    let mut args = std::env::args().skip(1);
    let mut builder = Runtime::builder();
    if let Some(dir) = args.next() {
        builder = builder.pack_dir(dir);
    }
    if let Some(dir) = args.next() {
        builder = builder.config_dir(dir);
    }
    let rt = builder.build()?;
    println!("{} on {} threads", rt.target(), rt.info().threads);
    for op in rt.catalog().ops() {
        println!("{op}: {}", rt.spec(op)?.doc);
    }
    if let Some(op) = args.next() {
        println!("{:?}", exercise(&rt, &op)?);
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}
