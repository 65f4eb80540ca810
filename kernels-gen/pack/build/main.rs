//! Compiles the kernels for the targets whose features are on, and leaves one pack file in OUT_DIR.
#![allow(clippy::print_stdout, reason = "a build script speaks to cargo on standard output")]

mod compiler;
mod knobs;

use std::process::ExitCode;

use tilewright_codegen::target::{self, TargetDesc};

fn main() -> ExitCode {
    // Sources of the kernels and of the compiler are dependencies of this program: cargo runs it
    // again when they change.
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-env-changed={}", knobs::KEEP_GOING);
    println!("cargo:rerun-if-env-changed={}", knobs::CACHE);
    match build() {
        Ok(note) => {
            println!("{note}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            say("error", &message);
            ExitCode::FAILURE
        }
    }
}

fn say(level: &str, message: &str) {
    for line in message.lines() {
        println!("cargo:{level}={line}");
    }
}

fn build() -> Result<String, String> {
    let out = knobs::out_dir()?;
    let targets: Vec<&TargetDesc> =
        target::ALL.iter().copied().filter(|t| knobs::enabled(t.id)).collect();
    // OUT_DIR is <target>/<profile>/build/<package>/out: the cache is shared by all profiles.
    let own = || out.ancestors().nth(4).unwrap_or(&out).join("kernels");
    let cache = knobs::cache().unwrap_or_else(own);
    let fingerprint = compiler::fingerprint(&knobs::manifest_dir()?)?;
    let cache = compiler::Cache::open(cache, fingerprint)?;
    let built = compiler::build(&targets, &cache, knobs::jobs())?;
    if let Some(failures) = built.failures() {
        if !knobs::keep_going() {
            return Err(failures);
        }
        say("warning", &failures);
    }
    let path = out.join("kernels.pack");
    std::fs::write(&path, built.pack()).map_err(|e| format!("`{}`: {e}", path.display()))?;
    Ok(built.summary())
}
