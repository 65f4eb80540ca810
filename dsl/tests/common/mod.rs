//! Texts that tests compare with files in `tests/golden`.

#[allow(unreachable_pub, reason = "shared by several test binaries")]
mod knobs;

use std::path::Path;

/// Compares `actual` with `tests/golden/<name>.txt`; with `TILEWRIGHT_BLESS=1` writes it there.
#[track_caller]
pub(crate) fn golden(name: &str, actual: &str) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if knobs::bless() {
        std::fs::write(&path, actual).expect("writes the expectation");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        actual == expected,
        "not as in {}, which says\n{expected}\nbut\n{actual}",
        path.display()
    );
}
