//! The forms of the product: which tile kernel, for which operands.

use super::channel::channel_tile;
use super::dense::dense_tile;
use super::quantised::{exact_tile, int8_tile};
use super::rows::TileFn;
use super::weight::Weight;
use crate::common::dispatch::for_float;
use crate::common::format::Packed;
use tilewright_abi::{Arg, DType, TargetCaps};
use tilewright_dsl::prelude::*;

/// Calls `$body` with `$b` and `$s` the types of codes and group scales of a quantised format.
macro_rules! for_weight {
    ($packed:expr, $b:ident, $s:ident => $body:expr) => {
        match $packed {
            Packed::Q4_0 | Packed::Q4_1 => {
                type $b = U8;
                type $s = F16;
                $body
            }
            Packed::Q4K => {
                type $b = U8;
                type $s = U8;
                $body
            }
            Packed::Q6K => {
                type $b = I8;
                type $s = I8;
                $body
            }
            _ => {
                type $b = I8;
                type $s = F16;
                $body
            }
        }
    };
}

/// A tile kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Float weight.
    Dense,
    /// Quantised weight, float activations.
    Exact,
    /// Quantised weight, int8 activations with group scales.
    Int8,
    /// int8 weight and activations with scales by channel and token.
    Channel,
}

/// A tile kernel with the types of its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) kind: Kind,
    pub(crate) packed: Packed,
    /// Element type of `a`.
    pub(crate) a: DType,
    /// Element type of `c`.
    pub(crate) c: DType,
    /// Whether bf16 pairs are multiplied as they are.
    bf16_pairs: bool,
}

impl Form {
    /// The form for operands of these types.
    pub(crate) fn new(packed: Packed, a: DType, c: DType, caps: &TargetCaps) -> Form {
        let kind = match (packed, packed.group(), a) {
            (Packed::I8, ..) => Kind::Channel,
            (_, None, _) => Kind::Dense,
            (_, Some(_), DType::I8) => Kind::Int8,
            (_, Some(_), _) => Kind::Exact,
        };
        let bf16_pairs = (a, packed.codes()) == (DType::BF16, DType::BF16)
            && caps.mma_for(DType::BF16, DType::BF16).is_some_and(|m| m.k_group == 2);
        Form { kind, packed, a, c, bf16_pairs }
    }

    /// The algorithm's name.
    pub(crate) fn algorithm(&self) -> &'static str {
        match self.kind {
            Kind::Dense => "dense",
            Kind::Exact => "exact",
            Kind::Int8 => "int8",
            Kind::Channel => "channel",
        }
    }

    /// The operands before the epilogue's: names, and dtypes where the op leaves a choice.
    pub(crate) fn tensors(&self) -> Vec<(&'static str, Option<DType>)> {
        let mut out = vec![("a", Some(self.a))];
        match self.kind {
            Kind::Dense | Kind::Exact => {}
            Kind::Int8 => out.extend([("scale_a", Some(DType::F32)), ("sum_a", Some(DType::F32))]),
            Kind::Channel => out.push(("scale_a", None)),
        }
        out.push(("b", None));
        if self.packed.scales().is_some() {
            out.push(("scale_b", None));
        }
        if self.packed.mins().is_some() {
            out.push(("min_b", None));
        }
        if self.packed.supers() > 0 {
            out.push(("super_b", None));
        }
        out
    }

    /// Bindings of the operands before the epilogue's.
    pub(crate) fn args(&self) -> Vec<Arg> {
        self.tensors().iter().map(|(name, _)| Arg::tensor(name)).collect()
    }

    /// Declares the operands, in the order of [`Form::tensors`], and gives the tile kernel over
    /// them.
    pub(crate) fn tile(&self, s: &mut Stage) -> Box<TileFn> {
        let packed = self.packed;
        match self.kind {
            Kind::Dense => dense(s, self.a, packed.codes(), self.bf16_pairs),
            Kind::Exact => for_float!(self.a, A => for_weight!(packed, B, S => {
                let (a, w) = (s.view::<A, 2>("a"), Weight::<B, S>::params(s, packed));
                Box::new(move |r, p| exact_tile::<A, B, S>(a, w, r, p))
            })),
            Kind::Int8 => for_weight!(packed, B, S => {
                let (a, scale, sum) = (s.view("a"), s.view("scale_a"), s.view("sum_a"));
                let w = Weight::<B, S>::params(s, packed);
                Box::new(move |r, p| int8_tile::<B, S>(a, scale, sum, w, r, p))
            }),
            Kind::Channel => {
                let (a, scale_a) = (s.view("a"), s.view("scale_a"));
                let (b, scale_b) = (s.view("b"), s.view("scale_b"));
                Box::new(move |r, p| channel_tile(a, scale_a, b, scale_b, r, p))
            }
        }
    }
}

fn dense(s: &mut Stage, a: DType, b: DType, bf16_pairs: bool) -> Box<TileFn> {
    if bf16_pairs {
        let (a, b) = (s.view::<BF16, 2>("a"), s.view::<BF16, 2>("b"));
        return Box::new(move |r, p| dense_tile::<BF16, BF16, BF16>(a, b, r, p, 2));
    }
    let group = if b == DType::BF16 { 2 } else { 1 };
    for_float!(a, A => for_float!(b, B => {
        let (a, b) = (s.view::<A, 2>("a"), s.view::<B, 2>("b"));
        Box::new(move |r, p| dense_tile::<A, B, F32>(a, b, r, p, group))
    }))
}
