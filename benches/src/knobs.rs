//! The only reader of environment variables in this crate.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `TILEWRIGHT_GGML_DIR` | folder with `libggml-base.so` and `libggml-cpu.so` | no ggml rows |
//! | `TILEWRIGHT_BENCH_THREADS` | threads of ours and of every peer | 2 |
//! | `TILEWRIGHT_MODEL` | GGUF file of the end-to-end bench | `target/demo/SmolLM2-135M-Instruct.Q4_1.gguf` |
#![allow(clippy::disallowed_methods, reason = "this is the one file that reads the environment")]

use std::path::PathBuf;

/// Folder with ggml's shared libraries, if the user names one.
pub fn ggml_dir() -> Option<PathBuf> {
    std::env::var_os("TILEWRIGHT_GGML_DIR").map(PathBuf::from)
}

/// Threads of ours and of every peer.
pub fn threads() -> usize {
    std::env::var("TILEWRIGHT_BENCH_THREADS").ok().and_then(|v| v.parse().ok()).unwrap_or(2)
}

/// The model of the end-to-end bench.
pub fn model() -> PathBuf {
    std::env::var_os("TILEWRIGHT_MODEL")
        .map_or_else(|| PathBuf::from("target/demo/SmolLM2-135M-Instruct.Q4_1.gguf"), PathBuf::from)
}
