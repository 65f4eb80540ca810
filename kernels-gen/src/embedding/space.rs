//! Variants of the embedding look-ups.

use tilewright_abi::{DType, Family, TargetCaps, Variant};

/// How a row is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    /// Elements copied at once.
    pub block: usize,
}

impl Gather {
    /// The text form.
    pub fn variant(self) -> Variant {
        Variant::new().with("block", self.block)
    }
}

/// The legal variants, the default first.
pub fn variants(caps: &TargetCaps) -> Vec<Gather> {
    let lanes = caps.lanes(DType::F32) as usize;
    match caps.family {
        Family::Cpu => vec![Gather { block: 8 * lanes }],
        Family::Nvptx | Family::Amdgcn => vec![Gather { block: 1024 }],
    }
}

/// Element types of (table, out).
pub const DTYPES: [(DType, DType); 5] = [
    (DType::F32, DType::F32),
    (DType::BF16, DType::F32),
    (DType::F16, DType::F32),
    (DType::BF16, DType::BF16),
    (DType::F16, DType::F16),
];
