//! Variants of the norms.

use tilewright_abi::{DType, Family, TargetCaps, Variant};

/// How a row is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Norm {
    /// Elements of a row held at once.
    pub block: usize,
}

impl Norm {
    /// The text form.
    pub fn variant(self) -> Variant {
        Variant::new().with("block", self.block)
    }
}

/// The legal variants, the default first. A row's chunk is half of the registers: as many sums, and
/// as many operands.
pub fn variants(caps: &TargetCaps) -> Vec<Norm> {
    let lanes = caps.lanes(DType::F32) as usize;
    match caps.family {
        Family::Cpu => [8, 4].map(|n| Norm { block: n * lanes }).to_vec(),
        Family::Nvptx | Family::Amdgcn => [1024, 512].map(|block| Norm { block }).to_vec(),
    }
}

/// Element types of (x, weight).
pub const DTYPES: [(DType, DType); 5] = [
    (DType::F32, DType::F32),
    (DType::BF16, DType::BF16),
    (DType::F16, DType::F16),
    (DType::BF16, DType::F32),
    (DType::F16, DType::F32),
];
