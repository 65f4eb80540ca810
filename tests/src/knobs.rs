//! The only reader of environment variables in this crate.

/// `TILEWRIGHT_BLESS`: file tests rewrite their expectations instead of comparing.
pub fn bless() -> bool {
    std::env::var_os("TILEWRIGHT_BLESS").is_some()
}

/// `TILEWRIGHT_FUZZ_SEED`: the one program the fuzz harness runs, as its failure message names it.
pub fn fuzz_seed() -> Option<u64> {
    std::env::var("TILEWRIGHT_FUZZ_SEED").ok()?.parse().ok()
}

/// `TILEWRIGHT_FUZZ_COUNT`: how many programs the fuzz harness runs.
pub fn fuzz_count() -> Option<u64> {
    std::env::var("TILEWRIGHT_FUZZ_COUNT").ok()?.parse().ok()
}
