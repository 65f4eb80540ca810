//! The little of the `.npy` format that the reference data uses: version 1, `<f4`, C order.

use std::path::Path;

/// The elements of a float32 array, whatever its shape.
pub(crate) fn read_f32(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00", "{} is not npy version 1", path.display());
    let header_len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..10 + header_len]).expect("an ASCII header");
    assert!(header.contains("'descr': '<f4'"), "not float32: {header}");
    assert!(header.contains("'fortran_order': False"), "not C order: {header}");
    let data = &bytes[10 + header_len..];
    data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}
