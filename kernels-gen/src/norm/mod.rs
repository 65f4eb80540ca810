//! Norms over rows: RMSNorm, RMSNorm fused with the residual addition, LayerNorm, per-head RMSNorm.

mod layer;
pub mod reference;
mod rms;
pub mod space;
pub mod spec;

pub use layer::layernorm;
pub use rms::{add_rmsnorm, qk_norm, rmsnorm};

use crate::common::dispatch::for_float;
use crate::{ImplDef, OpEntry};
use space::Norm;
use tilewright_abi::{Arg, DType, TargetCaps};
use tilewright_dsl::prelude::*;

/// The ops of this family.
pub fn entries() -> Vec<OpEntry> {
    vec![
        OpEntry { spec: spec::rmsnorm(), impls: Box::new(|caps| impls(caps, rmsnorm_impl)) },
        OpEntry {
            spec: spec::add_rmsnorm(),
            impls: Box::new(|caps| impls(caps, add_rmsnorm_impl)),
        },
        OpEntry { spec: spec::layernorm(), impls: Box::new(|caps| impls(caps, layernorm_impl)) },
        OpEntry { spec: spec::qk_norm(), impls: Box::new(|caps| impls(caps, qk_norm_impl)) },
    ]
}

/// One impl for each choice of dtypes, in the default variant.
fn impls(caps: &TargetCaps, make: fn(DType, DType, Norm) -> ImplDef) -> Vec<ImplDef> {
    let variants = space::variants(caps);
    let default = variants.first().into_iter();
    default.flat_map(|&v| space::DTYPES.map(|(x, w)| make(x, w, v))).collect()
}

fn name(kernel: &str, x: DType, w: DType, v: Norm) -> String {
    format!("norm.{kernel}.{x}.{w}.{}", v.variant())
}

fn rows(x: DType, w: DType, v: Norm) -> ImplDef {
    ImplDef::new("rows", v.variant()).dtype("x", x).dtype("weight", w).dtype("out", x)
}

fn args(tensors: &[&str], scalars: &[&str]) -> Vec<Arg> {
    let scalars = scalars.iter().map(|s| Arg::scalar(s));
    tensors.iter().map(|t| Arg::tensor(t)).chain(scalars).collect()
}

fn rmsnorm_impl(xd: DType, wd: DType, v: Norm) -> ImplDef {
    let name = name("rmsnorm", xd, wd, v);
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(xd, X => for_float!(wd, W => {
                let (x, w, out) = (s.view("x"), s.view("weight"), s.view_mut("out"));
                let (eps, offset) = (s.scalar("eps"), s.scalar("weight_offset"));
                rmsnorm::<X, W, X>(x, w, out, eps, offset, &v)
            }))
        })
    };
    let args = args(&["x", "weight", "out"], &["eps", "weight_offset"]);
    rows(xd, wd, v).launch(name, Box::new(make), args, &["rows"])
}

fn add_rmsnorm_impl(xd: DType, wd: DType, v: Norm) -> ImplDef {
    let name = name("add_rmsnorm", xd, wd, v);
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(xd, X => for_float!(wd, W => {
                let (x, residual) = (s.view("x"), s.view_mut("residual"));
                let (w, out) = (s.view("weight"), s.view_mut("out"));
                let (eps, offset) = (s.scalar("eps"), s.scalar("weight_offset"));
                add_rmsnorm::<X, W, X>(x, residual, w, out, eps, offset, &v)
            }))
        })
    };
    let args = args(&["x", "residual", "weight", "out"], &["eps", "weight_offset"]);
    rows(xd, wd, v).dtype("residual", xd).launch(name, Box::new(make), args, &["rows"])
}

fn layernorm_impl(xd: DType, wd: DType, v: Norm) -> ImplDef {
    let name = name("layernorm", xd, wd, v);
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(xd, X => for_float!(wd, W => {
                let (x, w, b) = (s.view("x"), s.view("weight"), s.view("bias"));
                let out = s.view_mut("out");
                layernorm::<X, W, X>(x, w, b, out, s.scalar("eps"), &v)
            }))
        })
    };
    let args = args(&["x", "weight", "bias", "out"], &["eps"]);
    rows(xd, wd, v).dtype("bias", wd).launch(name, Box::new(make), args, &["rows"])
}

fn qk_norm_impl(xd: DType, wd: DType, v: Norm) -> ImplDef {
    let name = name("qk_norm", xd, wd, v);
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(xd, X => for_float!(wd, W => {
                let (x, w, out) = (s.view("x"), s.view("weight"), s.view_mut("out"));
                let (eps, offset) = (s.scalar("eps"), s.scalar("weight_offset"));
                qk_norm::<X, W, X>(x, w, out, eps, offset, &v)
            }))
        })
    };
    let args = args(&["x", "weight", "out"], &["eps", "weight_offset"]);
    rows(xd, wd, v).launch(name, Box::new(make), args, &["tokens"])
}
