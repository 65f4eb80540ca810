//! Gated activations.

mod gated;
pub mod reference;
pub mod space;
pub mod spec;

pub use gated::{gate, gated};

use crate::common::dispatch::for_float;
use crate::{ImplDef, OpEntry};
use space::{Gate, Kind};
use tilewright_abi::{Arg, DType, OpSpec, TargetCaps};
use tilewright_dsl::prelude::*;

/// The ops of this family.
pub fn entries() -> Vec<OpEntry> {
    let entry = |spec: OpSpec, kinds: &'static [Kind]| OpEntry {
        spec,
        impls: Box::new(move |caps: &TargetCaps| impls(caps, kinds)),
    };
    vec![
        entry(spec::silu_and_mul(), &[Kind::Silu]),
        entry(spec::gelu_and_mul(), &[Kind::Gelu, Kind::GeluTanh]),
        entry(spec::swiglu(), &[Kind::Swiglu, Kind::SwigluInterleaved]),
        entry(spec::situ_and_mul(), &[Kind::Situ]),
    ]
}

fn impls(caps: &TargetCaps, kinds: &[Kind]) -> Vec<ImplDef> {
    let mut all = Vec::new();
    for v in space::variants(caps).into_iter().take(1) {
        for &kind in kinds {
            for dtype in [DType::F32, DType::BF16, DType::F16] {
                all.push(impl_of(kind, dtype, v));
            }
        }
    }
    all
}

fn impl_of(kind: Kind, dtype: DType, v: Gate) -> ImplDef {
    let name = format!("activation.{}.{dtype}.{}", kind.name(), v.variant());
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(dtype, X => {
                let (x, out) = (s.view("x"), s.view_mut("out"));
                let scalars: Vec<_> = kind.scalars().iter().map(|n| s.scalar(n)).collect();
                gated::<X>(x, out, &scalars, kind, &v)
            })
        })
    };
    let mut args = vec![Arg::tensor("x"), Arg::tensor("out")];
    args.extend(kind.scalars().iter().map(|n| Arg::scalar(n)));
    let grid = format!("ceil_div(inter, {})", v.span);
    let mut def = ImplDef::new("spans", v.variant()).dtype("x", dtype).dtype("out", dtype);
    if let Some((attr, value)) = kind.attr() {
        def = def.attr(attr, value);
    }
    def.launch(name, Box::new(make), args, &[&grid, "tokens"])
}
