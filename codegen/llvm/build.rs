//! Says plainly that LLVM is missing, before the bindings fail with their own long message.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    println!("cargo:rerun-if-env-changed=PATH");
    println!("cargo:rerun-if-changed=build.rs");
    if !found() {
        println!(
            "cargo:error=LLVM 22 was not found: no `llvm-config-22` on PATH and no usable \
             LLVM_SYS_221_PREFIX. Run `cargo xtask setup`, or install the package `llvm-22-dev` \
             (https://apt.llvm.org for Debian and Ubuntu)."
        );
    }
}

fn found() -> bool {
    if let Some(prefix) = std::env::var_os("LLVM_SYS_221_PREFIX") {
        return Path::new(&prefix).join("bin/llvm-config").is_file();
    }
    let version = Command::new("llvm-config-22").arg("--version").output();
    let plain = Command::new("llvm-config").arg("--version").output();
    [version, plain].into_iter().flatten().any(|o| o.stdout.starts_with(b"22."))
}
