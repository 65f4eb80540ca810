//! Contracts of mixture-of-experts layers.
//!
//! The ops in the order of use; `slot = token * top_k + j` is the `j`-th expert of a token.
//!
//! | op | in | out |
//! |---|---|---|
//! | `moe.route` | `logits` `[m, num_experts]` float; `bias` f32 `[num_experts]`, optional | `topk_weights` f32 and `topk_ids` i32 `[m, top_k]`, `status` i32 `[m]` |
//! | `moe.align` | `topk_ids` | `slots` i32 `[num_blocks * block_m]`, `experts` i32 `[num_blocks]`, `expert_offsets` i32 `[num_experts + 1]` |
//! | `moe.gemm_<packed>` | `a` `[rows, k]` and a packed weight of `num_experts` times `ceil_div(n, 16)` panels; `slots`, `experts` | `c` `[m * top_k, n]`, slot by slot |
//! | `moe.combine` | `c` `[m * top_k, n]`, `topk_weights` | `out` `[m, n]` |
//!
//! Router: attr `score` is `softmax` or `sigmoid`, in f32; experts are chosen by score (+ bias),
//! ties to the lowest index, NaN as −inf; weights are the scores without bias, with attr
//! `renormalize` = `yes` divided by their sum, times scalar `scale`. A row with a NaN has weights 0
//! and status 1. Align: `block_m` is an axis; each expert's slots, in order, are padded with −1 to
//! a multiple of it; `num_blocks = ceil_div(m * top_k + num_experts * (block_m - 1), block_m)`
//! always suffices, unused blocks have expert −1. `expert_offsets` counts slots without padding. An
//! id outside `0 .. num_experts` is dropped. Gemm: slot `s` reads row `s / slots_per_row` of `a`
//! (`top_k` for the first product, 1 for the second). Combine adds in order of `j`, in f32.

use crate::common::format::{PANEL_N, Packed};
use crate::gemm::spec::{FLOATS, gemm_packed};
use tilewright_abi::{
    AttrSpec, AxisSpec, Cond, DType, Expr, OpSpec, Role, ScalarSpec, Strides, TensorSpec, Tolerance,
};

/// Slots a routed program computes at once.
pub const BLOCK_M: usize = 4;

fn axes(names: &[(&str, &str)]) -> Vec<AxisSpec> {
    let axis = |&(name, doc): &(&str, &str)| match name {
        "m" => AxisSpec::new(name, doc).bucketed(),
        "num_experts" | "top_k" | "block_m" => AxisSpec::new(name, doc).at_least(1),
        _ => AxisSpec::new(name, doc),
    };
    names.iter().map(axis).collect()
}

/// `moe.route`.
pub fn route() -> OpSpec {
    let tensor = TensorSpec::new;
    OpSpec {
        name: "moe.route".to_owned(),
        doc: "The top_k experts of each token and their weights.".to_owned(),
        axes: axes(&[
            ("m", "tokens"),
            ("num_experts", "experts"),
            ("top_k", "experts a token goes to"),
        ]),
        tensors: vec![
            tensor("logits", Role::In, &FLOATS, &["m", "num_experts"]),
            tensor("bias", Role::In, &[DType::F32], &["num_experts"]).optional(),
            tensor("topk_weights", Role::Out, &[DType::F32], &["m", "top_k"]),
            tensor("topk_ids", Role::Out, &[DType::I32], &["m", "top_k"]),
            tensor("status", Role::Out, &[DType::I32], &["m"]),
        ],
        scalars: vec![ScalarSpec::new("scale", DType::F32).default_value(1.0)],
        attrs: vec![
            AttrSpec::new("score", &["softmax", "sigmoid"]),
            AttrSpec::new("renormalize", &["no", "yes"]),
        ],
        constraints: vec![Cond::from("top_k <= num_experts"), Cond::from("num_experts <= 1024")],
        tolerance: Tolerance { abs: 1e-6, rel: 1e-5, ulp: 4 },
    }
}

/// `moe.align`.
pub fn align() -> OpSpec {
    let tensor = TensorSpec::new;
    OpSpec {
        name: "moe.align".to_owned(),
        doc: "Slots in order of expert, padded to blocks of one expert.".to_owned(),
        axes: axes(&[
            ("m", "tokens"),
            ("num_experts", "experts"),
            ("top_k", "experts a token goes to"),
            ("block_m", "slots of a block"),
            ("num_blocks", "blocks"),
        ]),
        tensors: vec![
            tensor("topk_ids", Role::In, &[DType::I32], &["m", "top_k"]).strides(Strides::Packed),
            tensor("slots", Role::Out, &[DType::I32], &["num_blocks * block_m"]),
            tensor("experts", Role::Out, &[DType::I32], &["num_blocks"]),
            tensor("expert_offsets", Role::Out, &[DType::I32], &["num_experts + 1"]),
        ],
        scalars: Vec::new(),
        attrs: Vec::new(),
        constraints: vec![Cond::from(
            "num_blocks * block_m >= m * top_k + num_experts * (block_m - 1)",
        )],
        tolerance: Tolerance::default(),
    }
}

/// `moe.gemm_<packed>`: `gemm.<packed>` over routed rows.
pub fn grouped_gemm(p: Packed) -> OpSpec {
    let mut spec = gemm_packed(p);
    spec.name = format!("moe.gemm_{}", p.name());
    spec.doc = format!("Routed products with {} weights, one per expert.", p.name());
    spec.axes.extend(axes(&[
        ("rows", "rows of a"),
        ("num_experts", "experts"),
        ("slots_per_row", "slots that share a row of a"),
        ("num_blocks", "blocks of slots"),
    ]));
    if let Some(a) = spec.axes.iter_mut().find(|a| a.name == "slots_per_row") {
        a.min = 1;
    }
    let panels = Expr::from(format!("num_experts * ceil_div(n, {PANEL_N})").as_str());
    for t in &mut spec.tensors {
        match t.name.as_str() {
            "a" | "scale_a" | "sum_a" => t.shape[0] = Expr::sym("rows"),
            "b" | "min_b" | "super_b" => t.shape[0] = panels.clone(),
            "scale_b" if p.group().is_some() => t.shape[0] = panels.clone(),
            "scale_b" => t.shape[0] = panels.clone() * PANEL_N,
            _ => {}
        }
    }
    spec.tensors.retain(|t| t.name != "bias" && t.name != "residual");
    let list = |name: &str, len: &str| TensorSpec::new(name, Role::In, &[DType::I32], &[len]);
    spec.tensors.push(list("slots", &format!("num_blocks * {BLOCK_M}")));
    spec.tensors.push(list("experts", "num_blocks"));
    spec
}

/// `moe.combine`.
pub fn combine() -> OpSpec {
    let tensor = TensorSpec::new;
    OpSpec {
        name: "moe.combine".to_owned(),
        doc: "out[i] = Σ_j topk_weights[i, j] · c[i · top_k + j], in order of j.".to_owned(),
        axes: axes(&[("m", "tokens"), ("n", "columns"), ("top_k", "experts a token goes to")]),
        tensors: vec![
            tensor("c", Role::In, &FLOATS, &["m * top_k", "n"]),
            tensor("topk_weights", Role::In, &[DType::F32], &["m", "top_k"]),
            tensor("out", Role::Out, &FLOATS, &["m", "n"]),
        ],
        scalars: Vec::new(),
        attrs: Vec::new(),
        constraints: Vec::new(),
        tolerance: Tolerance { abs: 1e-6, rel: 1e-6, ulp: 1 },
    }
}
