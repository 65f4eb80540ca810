//! What the runtime adds to a program stays below a budget.

use std::path::Path;
use std::process::Command;

/// Bytes of the stripped example `embed`, standard library included, kernels not.
const BUDGET: u64 = 2 << 20;

#[test]
fn an_embedding_program_is_small() {
    let exe = std::env::current_exe().unwrap();
    let target = exe.ancestors().nth(3).unwrap().to_owned();
    let out = Command::new(env!("CARGO"))
        .args(["build", "-q", "--offline", "--release", "-p", "tilewright", "--example", "embed"])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let built = target.join("release/examples/embed");
    let stripped = target.join("release/examples/embed.stripped");
    let strip = Command::new("strip").arg("-o").args([&stripped, &built]).status();
    assert!(strip.is_ok_and(|s| s.success()), "the test needs `strip`");
    let size = std::fs::metadata(Path::new(&stripped)).unwrap().len();
    assert!(size < BUDGET, "{size} bytes, the budget is {BUDGET}");
}
