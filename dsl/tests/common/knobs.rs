//! The environment variables that these tests read.

/// `TILEWRIGHT_BLESS`: the tests rewrite their expectations instead of comparing.
pub fn bless() -> bool {
    std::env::var_os("TILEWRIGHT_BLESS").is_some()
}
