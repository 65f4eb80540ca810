//! The only reader of environment variables in these tests.

use std::path::PathBuf;

/// `TILEWRIGHT_MODEL`: the demo model, where it is not in its usual place.
pub(crate) fn model() -> Option<PathBuf> {
    std::env::var_os("TILEWRIGHT_MODEL").map(PathBuf::from)
}
