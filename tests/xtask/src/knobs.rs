//! The only reader of environment variables in this crate.

use std::path::PathBuf;

/// `LLVM_SYS_221_PREFIX`: where LLVM 22 is installed; the bindings read it too.
pub(crate) fn llvm_prefix() -> Option<PathBuf> {
    std::env::var_os("LLVM_SYS_221_PREFIX").filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// `CARGO`, which cargo sets for the programs it runs: the same cargo again.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// `CARGO_TARGET_DIR`: where cargo builds; `target` in the workspace by default.
pub(crate) fn target_dir() -> Option<PathBuf> {
    std::env::var_os("CARGO_TARGET_DIR").filter(|v| !v.is_empty()).map(PathBuf::from)
}
