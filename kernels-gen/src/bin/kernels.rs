//! Lists the ops and their implementations; prints the tile IR of one.
//!
//! `kernels` lists; `kernels <op> [--impl n] [--target cpu/x86-64-v3]` prints.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

use std::process::ExitCode;
use tilewright_abi::{DType, Family, MmaCap, TargetCaps, TargetId};
use tilewright_kernels::registry;

/// Capabilities to look at the registry with, where no compiler is at hand: those of AVX2.
fn default_caps(id: &str) -> TargetCaps {
    let cap = |a, b, acc, k_group| MmaCap { a, b, acc, k_group };
    TargetCaps {
        id: TargetId::new(id),
        family: Family::Cpu,
        vector_bytes: 32,
        vector_regs: 16,
        mma: vec![
            cap(DType::F32, DType::F32, DType::F32, 1),
            cap(DType::I8, DType::U8, DType::I32, 4),
            cap(DType::I8, DType::I8, DType::I32, 4),
        ],
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str)
    };
    let caps = default_caps(option("--target").unwrap_or("cpu/x86-64-v3"));
    let op = args.first().filter(|a| !a.starts_with("--"));
    let Some(op) = op else {
        for entry in registry() {
            println!("{}: {}", entry.spec.name, entry.spec.doc);
            for (i, def) in (entry.impls)(&caps).iter().enumerate() {
                let kernels: Vec<&str> = def.launches.iter().map(|l| l.kernel.as_str()).collect();
                println!("  {i}: {} [{}]", def.to_impl(&entry.spec.name).id(), kernels.join(", "));
            }
        }
        return ExitCode::SUCCESS;
    };
    let Some(entry) = registry().into_iter().find(|e| e.spec.name == *op) else {
        eprintln!("no op `{op}`; `kernels` lists them");
        return ExitCode::FAILURE;
    };
    let index = option("--impl").and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
    let defs = (entry.impls)(&caps);
    let Some(def) = defs.get(index) else {
        eprintln!("`{op}` has {} implementations", defs.len());
        return ExitCode::FAILURE;
    };
    for launch in &def.launches {
        match (launch.stage)() {
            Ok(func) => println!("{}", tilewright_ir::print(&func)),
            Err(diagnostics) => {
                for d in diagnostics {
                    eprintln!("{}", d.render());
                }
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
