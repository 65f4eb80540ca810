//! Variants of the gated activations.

use tilewright_abi::{DType, Family, TargetCaps, Variant};

/// How a row is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Elements computed at once.
    pub block: usize,
    /// Elements of a row that one program computes.
    pub span: usize,
}

impl Gate {
    /// The text form.
    pub fn variant(self) -> Variant {
        Variant::new().with("block", self.block).with("span", self.span)
    }
}

/// The legal variants, the default first. On a CPU the polynomials want their temporaries in
/// registers, so a block is a few vectors.
pub fn variants(caps: &TargetCaps) -> Vec<Gate> {
    let lanes = caps.lanes(DType::F32) as usize;
    match caps.family {
        Family::Cpu => [2, 4].map(|n| Gate { block: n * lanes, span: 512 }).to_vec(),
        Family::Nvptx | Family::Amdgcn => vec![Gate { block: 1024, span: 1024 }],
    }
}

/// Which gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named by the op or the attribute that chooses it")]
pub enum Kind {
    Silu,
    Gelu,
    GeluTanh,
    Swiglu,
    SwigluInterleaved,
    Situ,
}

impl Kind {
    /// The scalars of the kind's op, in the order of the kernel's parameters.
    pub fn scalars(self) -> &'static [&'static str] {
        match self {
            Kind::Silu | Kind::Gelu | Kind::GeluTanh => &[],
            Kind::Swiglu | Kind::SwigluInterleaved => &["alpha", "beta", "limit"],
            Kind::Situ => &["beta", "linear_beta"],
        }
    }

    /// The name in kernels.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Silu => "silu_and_mul",
            Kind::Gelu => "gelu_and_mul",
            Kind::GeluTanh => "gelu_tanh_and_mul",
            Kind::Swiglu => "swiglu",
            Kind::SwigluInterleaved => "swiglu_interleaved",
            Kind::Situ => "situ_and_mul",
        }
    }

    /// The attribute that chooses it, if its op has one.
    pub fn attr(self) -> Option<(&'static str, &'static str)> {
        match self {
            Kind::Silu | Kind::Situ => None,
            Kind::Gelu => Some(("approximate", "none")),
            Kind::GeluTanh => Some(("approximate", "tanh")),
            Kind::Swiglu => Some(("layout", "halves")),
            Kind::SwigluInterleaved => Some(("layout", "interleaved")),
        }
    }
}
