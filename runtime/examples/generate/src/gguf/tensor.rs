//! Tensor types of the file format, and the table of tensors.

use crate::error::{Error, Result};

/// A tensor type: its number in the file, name, and block geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorType {
    number: u32,
    name: &'static str,
    block_elems: u64,
    block_bytes: u64,
}

const fn row(number: u32, name: &'static str, block_elems: u64, block_bytes: u64) -> TensorType {
    TensorType { number, name, block_elems, block_bytes }
}

/// Every type the format defines, so that a file with one we cannot run is still named rightly.
const TYPES: &[TensorType] = &[
    row(0, "F32", 1, 4),
    row(1, "F16", 1, 2),
    row(2, "Q4_0", 32, 18),
    row(3, "Q4_1", 32, 20),
    row(6, "Q5_0", 32, 22),
    row(7, "Q5_1", 32, 24),
    row(8, "Q8_0", 32, 34),
    row(9, "Q8_1", 32, 36),
    row(10, "Q2_K", 256, 84),
    row(11, "Q3_K", 256, 110),
    row(12, "Q4_K", 256, 144),
    row(13, "Q5_K", 256, 176),
    row(14, "Q6_K", 256, 210),
    row(15, "Q8_K", 256, 292),
    row(16, "IQ2_XXS", 256, 66),
    row(17, "IQ2_XS", 256, 74),
    row(18, "IQ3_XXS", 256, 98),
    row(19, "IQ1_S", 256, 50),
    row(20, "IQ4_NL", 32, 18),
    row(21, "IQ3_S", 256, 110),
    row(22, "IQ2_S", 256, 82),
    row(23, "IQ4_XS", 256, 136),
    row(24, "I8", 1, 1),
    row(25, "I16", 1, 2),
    row(26, "I32", 1, 4),
    row(27, "I64", 1, 8),
    row(28, "F64", 1, 8),
    row(29, "IQ1_M", 256, 56),
    row(30, "BF16", 1, 2),
    row(34, "TQ1_0", 256, 54),
    row(35, "TQ2_0", 256, 66),
    row(39, "MXFP4", 32, 17),
];

/// The types the kernels read.
const SUPPORTED: &[&str] = &["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q4_K", "Q6_K"];

impl TensorType {
    /// The type with this number, if the format defines one.
    pub fn from_number(number: u32) -> Option<TensorType> {
        TYPES.iter().copied().find(|t| t.number == number)
    }

    /// The type of this name, as printed by [`TensorType::name`].
    pub fn from_name(name: &str) -> Option<TensorType> {
        TYPES.iter().copied().find(|t| t.name == name)
    }

    /// The number in the file.
    pub fn number(self) -> u32 {
        self.number
    }

    /// The format's own name, `Q4_1`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Elements in one block along a row; 1 for plain types.
    pub fn block_elems(self) -> u64 {
        self.block_elems
    }

    /// Bytes in one block.
    pub fn block_bytes(self) -> u64 {
        self.block_bytes
    }

    /// Whether the kernels can read it.
    pub fn is_supported(self) -> bool {
        SUPPORTED.contains(&self.name)
    }

    /// The supported names, for messages.
    pub fn supported_names() -> String {
        SUPPORTED.join(", ")
    }
}

/// One tensor of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name, unique in the file.
    pub name: String,
    /// Extents, fastest-varying first, as the file has them.
    pub dims: Vec<u64>,
    /// The element type.
    pub ty: TensorType,
    /// Where its bytes start, from the start of the file.
    pub offset: usize,
    /// How many bytes it has.
    pub bytes: usize,
}

impl TensorInfo {
    /// Elements along the fastest axis: `K` of a weight matrix.
    pub fn row_elems(&self) -> u64 {
        self.dims.first().copied().unwrap_or(1)
    }

    /// Rows of that length: `N` of a weight matrix.
    pub fn num_rows(&self) -> u64 {
        self.dims.iter().skip(1).product()
    }

    /// Bytes of one row.
    pub fn row_bytes(&self) -> u64 {
        self.row_elems() / self.ty.block_elems() * self.ty.block_bytes()
    }

    /// The extents as the file has them: `[576, 192]`.
    pub fn shape(&self) -> String {
        format!("{:?}", self.dims)
    }
}

/// The bytes a tensor of these extents has.
pub(super) fn tensor_bytes(name: &str, dims: &[u64], ty: TensorType) -> Result<u64> {
    let row = dims.first().copied().unwrap_or(1);
    if row % ty.block_elems() != 0 {
        return Err(Error::malformed(format!(
            "tensor `{name}` has rows of {row} elements, not a multiple of the {} in a block of {}",
            ty.block_elems(),
            ty.name()
        )));
    }
    let rows = dims.iter().skip(1).try_fold(1u64, |acc, d| acc.checked_mul(*d));
    rows.and_then(|rows| rows.checked_mul(row / ty.block_elems()))
        .and_then(|blocks| blocks.checked_mul(ty.block_bytes()))
        .ok_or_else(|| Error::malformed(format!("tensor `{name}` of extents {dims:?} has no size")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique_and_supported_names_exist() {
        for (i, a) in TYPES.iter().enumerate() {
            assert!(TYPES.iter().skip(i + 1).all(|b| b.number != a.number && b.name != a.name));
        }
        assert!(SUPPORTED.iter().all(|name| TensorType::from_name(name).is_some()));
    }

    #[test]
    fn sizes_that_overflow_or_split_a_block_are_refused() {
        let q4_1 = TensorType::from_name("Q4_1").expect("a type of the table");
        assert_eq!(tensor_bytes("t", &[64, 3], q4_1).expect("whole blocks"), 120);
        let split = tensor_bytes("t", &[48, 3], q4_1).expect_err("half a block");
        assert!(split.message().contains("rows of 48 elements"), "{split}");
        assert!(tensor_bytes("t", &[1 << 40, 1 << 40], q4_1).is_err());
    }
}
