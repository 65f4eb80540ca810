//! The only reader of environment variables in this build script.

use std::path::PathBuf;

fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("cargo sets no {name}"))
}

/// `OUT_DIR`, from cargo: where the pack goes.
pub(crate) fn out_dir() -> Result<PathBuf, String> {
    variable("OUT_DIR").map(PathBuf::from)
}

/// `CARGO_MANIFEST_DIR`, from cargo: this crate's folder.
pub(crate) fn manifest_dir() -> Result<PathBuf, String> {
    variable("CARGO_MANIFEST_DIR").map(PathBuf::from)
}

/// `NUM_JOBS`, from cargo: how many threads to compile with.
pub(crate) fn jobs() -> usize {
    variable("NUM_JOBS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Whether the cargo feature of a target is on: `x86-64-v3` for `cpu/x86-64-v3`.
pub(crate) fn enabled(id: &str) -> bool {
    let arch = id.split_once('/').map_or(id, |(_, arch)| arch);
    let feature: String = arch.to_uppercase().replace('-', "_");
    std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some()
}

/// Name of the variable of [`cache`].
pub(crate) const CACHE: &str = "TILEWRIGHT_KERNEL_CACHE";

/// Folder of compiled kernels that builds share; the target folder's own by default.
pub(crate) fn cache() -> Option<PathBuf> {
    std::env::var_os(CACHE).filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Name of the variable of [`keep_going`].
pub(crate) const KEEP_GOING: &str = "TILEWRIGHT_PACK_KEEP_GOING";

/// Leaves implementations whose kernels fail out of the pack, with a warning, instead of failing.
pub(crate) fn keep_going() -> bool {
    std::env::var_os(KEEP_GOING).is_some()
}
