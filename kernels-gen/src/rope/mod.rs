//! Rotary position embedding: the table of angles, and its application to q and k.

mod apply;
pub mod reference;
pub mod space;
pub mod spec;
mod table;

pub use apply::apply;
pub use table::{Parameters, table};

use crate::common::dispatch::for_float;
use crate::{ImplDef, OpEntry};
use space::{Rope, Scaling, Style};
use tilewright_abi::{Arg, DType, TargetCaps};
use tilewright_dsl::prelude::*;

/// The scalars of `rope.table`, in the order of the kernel's parameters.
const TABLE_SCALARS: [&str; 8] = [
    "theta",
    "factor",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position",
    "beta_fast",
    "beta_slow",
    "attention_factor",
];

/// The ops of this family.
pub fn entries() -> Vec<OpEntry> {
    vec![
        OpEntry { spec: spec::table(), impls: Box::new(table_impls) },
        OpEntry { spec: spec::apply(), impls: Box::new(apply_impls) },
    ]
}

fn table_impls(caps: &TargetCaps) -> Vec<ImplDef> {
    let default = space::variants(caps).into_iter().take(1);
    default.flat_map(|v| Scaling::ALL.map(|scaling| table_impl(scaling, v))).collect()
}

fn table_impl(scaling: Scaling, v: Rope) -> ImplDef {
    let with_factors = scaling == Scaling::Divisors;
    let name = format!("rope.table.{}.{}", scaling.name(), v.variant());
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            let factors = if with_factors { Some(s.view("freq_factors")) } else { None };
            let cos_sin = s.view_mut("cos_sin");
            let [
                theta,
                factor,
                low_freq_factor,
                high_freq_factor,
                original_max_position,
                beta_fast,
                beta_slow,
                attention_factor,
            ] = TABLE_SCALARS.map(|n| s.scalar(n));
            let p = Parameters {
                theta,
                factor,
                low_freq_factor,
                high_freq_factor,
                original_max_position,
                beta_fast,
                beta_slow,
                attention_factor,
            };
            table(factors, cos_sin, &p, scaling, &v)
        })
    };
    let mut args = vec![Arg::tensor("cos_sin")];
    if with_factors {
        args.insert(0, Arg::tensor("freq_factors"));
    }
    args.extend(TABLE_SCALARS.map(Arg::scalar));
    let mut def = ImplDef::new("positions", v.variant()).attr("scaling", scaling.name());
    if with_factors {
        def = def.dtype("freq_factors", DType::F32);
    }
    def.launch(name, Box::new(make), args, &["max_position"])
}

fn apply_impls(caps: &TargetCaps) -> Vec<ImplDef> {
    let default = space::variants(caps).into_iter().take(1);
    let dtypes = [DType::F32, DType::BF16, DType::F16];
    default
        .flat_map(|v| dtypes.into_iter().flat_map(move |d| Style::ALL.map(|s| apply_impl(d, s, v))))
        .collect()
}

fn apply_impl(dtype: DType, style: Style, v: Rope) -> ImplDef {
    let name = format!("rope.apply.{dtype}.{}.{}", style.name(), v.variant());
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(dtype, X => {
                let (positions, cos_sin) = (s.view("positions"), s.view("cos_sin"));
                let (q, k) = (s.view("q"), s.view("k"));
                let (q_out, k_out) = (s.view_mut("q_out"), s.view_mut("k_out"));
                apply::<X>(positions, cos_sin, q, k, q_out, k_out, style, &v)
            })
        })
    };
    let tensors = ["positions", "cos_sin", "q", "k", "q_out", "k_out"];
    let args = tensors.map(Arg::tensor).to_vec();
    let mut def = ImplDef::new("tokens", v.variant()).attr("style", style.name());
    for t in ["q", "k", "q_out", "k_out"] {
        def = def.dtype(t, dtype);
    }
    def.launch(name, Box::new(make), args, &["tokens"])
}
