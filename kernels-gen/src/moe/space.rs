//! Implementations of the mixture-of-experts ops.

use super::align::{align, combine};
use super::route::{Score, route};
use super::spec::BLOCK_M;
use crate::common::dispatch::for_float;
use crate::gemm::space::routed_impls;
use crate::{ImplDef, StageFn};
use tilewright_abi::{Arg, DType, TargetCaps, Variant};
use tilewright_dsl::prelude::*;

/// Element types of logits.
const LOGITS: [DType; 2] = [DType::F32, DType::BF16];
/// Extents of the router's tile.
const BLOCK_E: [usize; 3] = [32, 128, 1024];

/// The implementations of `moe.route`.
pub(super) fn route_impls() -> Vec<ImplDef> {
    let mut out = Vec::new();
    for block_e in BLOCK_E {
        for x in LOGITS {
            for (form, score) in [(Score::Softmax, "softmax"), (Score::Sigmoid, "sigmoid")] {
                for i in 0..4 {
                    let (biased, renormalize) = (i & 1 != 0, i & 2 != 0);
                    let variant = Variant::new().with("be", block_e);
                    let kernel = format!("moe.route.{score}.{x}.{variant}");
                    let mut def = ImplDef::new("token", variant)
                        .dtype("logits", x)
                        .attr("score", score)
                        .attr("renormalize", if renormalize { "yes" } else { "no" })
                        .when(&format!("num_experts <= {block_e}"))
                        .priority(-(block_e as i32));
                    let bias = if biased {
                        def = def.dtype("bias", DType::F32);
                        Arg::tensor("bias")
                    } else {
                        def = def.workspace("no_bias", DType::F32, &["1"]);
                        Arg::workspace("no_bias")
                    };
                    let args = vec![
                        Arg::tensor("logits"),
                        bias,
                        Arg::tensor("topk_weights"),
                        Arg::tensor("topk_ids"),
                        Arg::tensor("status"),
                        Arg::scalar("scale"),
                        Arg::axis(i64::from(biased)),
                        Arg::axis(i64::from(renormalize)),
                    ];
                    out.push(def.launch(kernel, router(x, form, block_e), args, &["m"]));
                }
            }
        }
    }
    out
}

fn router(x: DType, form: Score, block_e: usize) -> StageFn {
    Box::new(move || {
        stage("moe.route", |s| {
            for_float!(x, X => {
                let (logits, bias) = (s.view::<X, 2>("logits"), s.view("bias"));
                let (weights, ids) = (s.view_mut("topk_weights"), s.view_mut("topk_ids"));
                let (status, scale) = (s.view_mut("status"), s.scalar("scale"));
                let (biased, renormalize) = (s.scalar("has_bias"), s.scalar("renormalize"));
                route(logits, bias, weights, ids, status, scale, biased, renormalize, form, block_e)
            })
        })
    })
}

/// The implementation of `moe.align`.
pub(super) fn align_impls() -> Vec<ImplDef> {
    let stage: StageFn = Box::new(|| {
        stage("moe.align", |s| {
            let (ids, slots) = (s.view("topk_ids"), s.view_mut("slots"));
            let (experts, offsets) = (s.view_mut("experts"), s.view_mut("expert_offsets"));
            align(ids, slots, experts, offsets, s.view_mut("next"), s.scalar("block_m"))
        })
    });
    let args = vec![
        Arg::tensor_as("topk_ids", &["m * top_k"]),
        Arg::tensor("slots"),
        Arg::tensor("experts"),
        Arg::tensor("expert_offsets"),
        Arg::workspace("next"),
        Arg::axis("block_m"),
    ];
    let def = ImplDef::new("counting", Variant::new());
    let def = def.workspace("next", DType::I32, &["num_experts"]);
    vec![def.launch("moe.align.counting".to_owned(), stage, args, &["1"])]
}

/// The implementations of `moe.gemm_<packed>`.
pub(super) fn gemm_impls(p: crate::common::format::Packed, caps: &TargetCaps) -> Vec<ImplDef> {
    routed_impls(p, BLOCK_M, caps)
}

/// The implementations of `moe.combine`.
pub(super) fn combine_impls(caps: &TargetCaps) -> Vec<ImplDef> {
    let block_n = 4 * caps.lanes(DType::F32).max(1) as usize;
    let one = |c: DType| {
        let stage: StageFn = Box::new(move || {
            stage("moe.combine", |s| {
                for_float!(c, C => {
                    let (c, weights) = (s.view::<C, 2>("c"), s.view("topk_weights"));
                    combine(c, weights, s.view_mut("out"), block_n)
                })
            })
        });
        let args = ["c", "topk_weights", "out"].map(Arg::tensor).to_vec();
        let def = ImplDef::new("rows", Variant::new()).dtype("c", c).dtype("out", c);
        def.launch(format!("moe.combine.rows.{c}"), stage, args, &["m"])
    };
    crate::gemm::spec::FLOATS.into_iter().map(one).collect()
}
