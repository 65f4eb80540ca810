//! Variants of rotary embedding.

use tilewright_abi::{DType, Family, TargetCaps, Variant};

/// How a head is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rope {
    /// Pairs rotated at once.
    pub block: usize,
}

impl Rope {
    /// The text form.
    pub fn variant(self) -> Variant {
        Variant::new().with("block", self.block)
    }
}

/// The legal variants, the default first.
pub fn variants(caps: &TargetCaps) -> Vec<Rope> {
    let lanes = caps.lanes(DType::F32) as usize;
    match caps.family {
        Family::Cpu => [2, 1, 4].map(|n| Rope { block: n * lanes }).to_vec(),
        Family::Nvptx | Family::Amdgcn => [64, 32].map(|block| Rope { block }).to_vec(),
    }
}

/// The text values of the attribute `scaling`, and of `style`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named by the attribute's values, which the spec explains")]
pub enum Scaling {
    None,
    Linear,
    Llama3,
    Yarn,
    Divisors,
}

impl Scaling {
    /// Every rule, in the order of the spec.
    pub const ALL: [Scaling; 5] =
        [Scaling::None, Scaling::Linear, Scaling::Llama3, Scaling::Yarn, Scaling::Divisors];

    /// The attribute's value.
    pub fn name(self) -> &'static str {
        match self {
            Scaling::None => "none",
            Scaling::Linear => "linear",
            Scaling::Llama3 => "llama3",
            Scaling::Yarn => "yarn",
            Scaling::Divisors => "divisors",
        }
    }
}

/// Which elements of a head form a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named by the attribute's values, which the spec explains")]
pub enum Style {
    Half,
    Interleaved,
}

impl Style {
    /// Both.
    pub const ALL: [Style; 2] = [Style::Half, Style::Interleaved];

    /// The attribute's value.
    pub fn name(self) -> &'static str {
        match self {
            Style::Half => "half",
            Style::Interleaved => "interleaved",
        }
    }
}
