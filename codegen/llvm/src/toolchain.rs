//! What compiles and links, as one line of text: part of cache keys and of the manifest.

use std::process::Command;
use std::sync::OnceLock;

use crate::knobs;

/// LLVM's version, for example `22.1.8`.
pub fn llvm_version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}

/// First line of what the linker says about itself; `unknown` when it does not run.
pub fn linker_version() -> &'static str {
    static LINE: OnceLock<String> = OnceLock::new();
    LINE.get_or_init(|| {
        let run = Command::new(knobs::linker())
            .args(["-nostdlib", "-shared", "-Wl,--version"])
            .env("LC_ALL", "C")
            .output();
        let text = run.map(|r| String::from_utf8_lossy(&r.stdout).into_owned()).unwrap_or_default();
        let line = text.lines().next().unwrap_or("").trim();
        if line.is_empty() { "unknown".into() } else { line.into() }
    })
}

/// For example `llvm-22.1.8, GNU ld (GNU Binutils for Debian) 2.40`.
pub fn toolchain() -> String {
    format!("llvm-{}, {}", llvm_version(), linker_version())
}
