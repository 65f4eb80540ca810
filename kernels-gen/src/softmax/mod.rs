//! Softmax and log-softmax over rows.

pub mod reference;
mod rows;
pub mod space;
pub mod spec;

pub use rows::{log_softmax, softmax};

use crate::common::dispatch::for_float;
use crate::{ImplDef, OpEntry};
use space::Softmax;
use tilewright_abi::{Arg, DType, TargetCaps};
use tilewright_dsl::prelude::*;

/// The ops of this family.
pub fn entries() -> Vec<OpEntry> {
    vec![
        OpEntry { spec: spec::softmax(), impls: Box::new(|caps| impls(caps, softmax_impl)) },
        OpEntry {
            spec: spec::log_softmax(),
            impls: Box::new(|caps| impls(caps, log_softmax_impl)),
        },
    ]
}

/// Element types of (x, out).
const DTYPES: [(DType, DType); 5] = [
    (DType::F32, DType::F32),
    (DType::BF16, DType::F32),
    (DType::F16, DType::F32),
    (DType::BF16, DType::BF16),
    (DType::F16, DType::F16),
];

fn impls(caps: &TargetCaps, make: fn(DType, DType, Softmax) -> ImplDef) -> Vec<ImplDef> {
    let default = space::variants(caps).into_iter().take(1);
    default.flat_map(|v| DTYPES.map(|(x, out)| make(x, out, v))).collect()
}

fn rows(x: DType, out: DType, v: Softmax) -> ImplDef {
    ImplDef::new("rows", v.variant()).dtype("x", x).dtype("out", out)
}

fn softmax_impl(x: DType, out: DType, v: Softmax) -> ImplDef {
    let name = format!("softmax.softmax.{x}.{out}.{}", v.variant());
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(x, X => for_float!(out, O => {
                softmax::<X, O>(s.view("x"), s.view_mut("out"), &v)
            }))
        })
    };
    let args = ["x", "out"].map(Arg::tensor).to_vec();
    rows(x, out, v).launch(name, Box::new(make), args, &["rows"])
}

fn log_softmax_impl(x: DType, out: DType, v: Softmax) -> ImplDef {
    let name = format!("softmax.log_softmax.{x}.{out}.{}", v.variant());
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(x, X => for_float!(out, O => {
                log_softmax::<X, O>(s.view("x"), s.view_mut("out"), s.view_mut("lse"), &v)
            }))
        })
    };
    let args = ["x", "out", "lse"].map(Arg::tensor).to_vec();
    rows(x, out, v).launch(name, Box::new(make), args, &["rows"])
}
