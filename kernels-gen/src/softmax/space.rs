//! Variants of softmax.

use tilewright_abi::{DType, Family, TargetCaps, Variant};

/// How a row is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Softmax {
    /// Elements of a row held at once.
    pub block: usize,
}

impl Softmax {
    /// The text form.
    pub fn variant(self) -> Variant {
        Variant::new().with("block", self.block)
    }
}

/// The legal variants, the default first: few vectors, as exp wants registers.
pub fn variants(caps: &TargetCaps) -> Vec<Softmax> {
    let lanes = caps.lanes(DType::F32) as usize;
    match caps.family {
        Family::Cpu => [4, 2, 8].map(|n| Softmax { block: n * lanes }).to_vec(),
        Family::Nvptx | Family::Amdgcn => vec![Softmax { block: 1024 }],
    }
}
