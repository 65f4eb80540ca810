//! The only reader of environment variables in this crate.

use std::path::PathBuf;

fn read(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

/// `TILEWRIGHT_LINKER`: the C compiler driver that links kernels; `cc` by default.
pub(crate) fn linker() -> String {
    read("TILEWRIGHT_LINKER").unwrap_or_else(|| "cc".into())
}

/// `TILEWRIGHT_KC`: the `kc` program that isolated compilations run.
pub(crate) fn kc() -> Option<PathBuf> {
    read("TILEWRIGHT_KC").map(PathBuf::from)
}
