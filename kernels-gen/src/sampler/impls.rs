//! Which kernels implement the sampler ops: launches, grids and workspace.

use super::edits::{apply_bitmask, apply_logit_bias, apply_penalties};
use super::finish::{draw, mask};
use super::row_plan::{Params, row_plan};
use super::scan::{BLOCK, CHUNK, argmax, scan};
use super::speculative::rejection_sample;
use super::sweep::{Chunks, sweep};
use super::top_logprobs::{Report, top_logprobs};
use crate::common::dispatch::for_float;
use crate::{ImplDef, StageFn};
use tilewright_abi::{Arg, DType, Variant};
use tilewright_dsl::prelude::*;

const FLOATS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];
const PARAMS: [&str; 4] = ["temperature", "top_k", "top_p", "min_p"];

fn blocks() -> String {
    format!("ceil_div(vocab, {BLOCK})")
}

fn chunks() -> String {
    format!("ceil_div(vocab, {CHUNK})")
}

fn tensors(names: &[&str]) -> Vec<Arg> {
    names.iter().map(|n| Arg::tensor(n)).collect()
}

fn scratch(names: &[&str]) -> Vec<Arg> {
    names.iter().map(|n| Arg::workspace(n)).collect()
}

/// Sampler kernels have no variants: what they compute is fixed to the bit, and their blocks are part
/// of no result.
fn plain(algorithm: &str) -> ImplDef {
    ImplDef::new(algorithm, Variant::new())
}

/// Adds the first launch: block maxima, and the chunks' sums if wanted.
fn with_scan(def: ImplDef, dtype: DType, sums: bool) -> ImplDef {
    let with = if sums { ".sums" } else { "" };
    let name = format!("sampler.scan.{dtype}{with}");
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(dtype, X => {
                let (logits, block_max) = (s.view("logits"), s.view_mut("block_max"));
                let sums = if sums { Some(s.view_mut("sums")) } else { None };
                scan::<X>(logits, block_max, sums)
            })
        })
    };
    let mut args = vec![Arg::tensor("logits"), Arg::workspace("block_max")];
    let mut def =
        def.dtype("logits", dtype).workspace("block_max", DType::F32, &["batch", &blocks()]);
    if sums {
        args.push(Arg::workspace("sums"));
        def = def.workspace("sums", DType::F32, &["batch", &chunks(), "2"]);
    }
    def.launch(name, Box::new(make), args, &[&chunks(), "batch"])
}

pub(super) fn argmax_impls() -> Vec<ImplDef> {
    FLOATS.map(argmax_impl).into()
}

fn argmax_impl(dtype: DType) -> ImplDef {
    let name = format!("sampler.argmax.{dtype}");
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(dtype, X => {
                argmax::<X>(s.view("logits"), s.view("block_max"), s.view_mut("ids"))
            })
        })
    };
    let args = vec![Arg::tensor("logits"), Arg::workspace("block_max"), Arg::tensor("ids")];
    with_scan(plain("blocks"), dtype, false).launch(name, Box::new(make), args, &["batch"])
}

const CHUNK_SCRATCH: [&str; 4] = ["chunk_score", "chunk_token", "chunk_mass", "chunk_levels"];

/// The scan, the row plan and the sweep, with all scratch of a sample.
fn with_plan(dtype: DType, drawn: bool, ids: Arg) -> ImplDef {
    let chunks = chunks();
    let by_chunk: &[&str] = &["batch", &chunks];
    let def = with_scan(plain("threshold"), dtype, false)
        .workspace("modes", DType::I32, &["batch"])
        .workspace("state", DType::F32, &["batch", "3"])
        .workspace(CHUNK_SCRATCH[0], DType::F32, by_chunk)
        .workspace(CHUNK_SCRATCH[1], DType::I32, by_chunk)
        .workspace(CHUNK_SCRATCH[2], DType::F64, by_chunk)
        .workspace(CHUNK_SCRATCH[3], DType::F32, &["batch", &chunks, "8"])
        .workspace("candidates", DType::F32, &["batch", "vocab"])
        .workspace("candidate_tokens", DType::I32, &["batch", "vocab"])
        .workspace("weights", DType::F32, &["batch", "vocab"]);

    let name = format!("sampler.row_plan.{dtype}");
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(dtype, X => {
                let (logits, block_max) = (s.view("logits"), s.view("block_max"));
                let params = Params::declare(s);
                let (modes, state) = (s.view_mut("modes"), s.view_mut("state"));
                let (ids, status) = (s.view_mut("ids"), s.view_mut("status"));
                row_plan::<X>(logits, block_max, params, modes, state, ids, status)
            })
        })
    };
    let mut args = vec![Arg::tensor("logits"), Arg::workspace("block_max")];
    args.extend(tensors(&PARAMS));
    args.extend(scratch(&["modes", "state"]));
    args.extend([ids, Arg::tensor("status")]);
    let def = def.launch(name, Box::new(make), args, &["batch"]);

    let (name, make) = sweep_kernel(dtype, drawn);
    let mut args = vec![Arg::tensor("logits"), Arg::workspace("block_max")];
    args.push(Arg::tensor("temperature"));
    if drawn {
        args.extend(tensors(&["seed", "offset"]));
    }
    args.extend(scratch(&["modes", "state"]));
    args.extend(scratch(&CHUNK_SCRATCH));
    def.launch(name, make, args, &[&chunks, "batch"])
}

fn sweep_kernel(dtype: DType, drawn: bool) -> (String, StageFn) {
    let name = format!("sampler.sweep.{dtype}{}", if drawn { ".draw" } else { "" });
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(dtype, X => {
                let (logits, block_max) = (s.view("logits"), s.view("block_max"));
                let temperature = s.view("temperature");
                let seed = if drawn { Some((s.view("seed"), s.view("offset"))) } else { None };
                let (modes, state) = (s.view("modes"), s.view("state"));
                let chunks = Chunks {
                    score: s.view_mut(CHUNK_SCRATCH[0]),
                    token: s.view_mut(CHUNK_SCRATCH[1]),
                    mass: s.view_mut(CHUNK_SCRATCH[2]),
                    levels: s.view_mut(CHUNK_SCRATCH[3]),
                };
                sweep::<X>(logits, block_max, temperature, seed, modes, state, chunks)
            })
        })
    };
    (name, Box::new(make))
}

/// Declares [`Chunks`] to be read.
fn chunks_in(s: &mut Stage) -> super::sweep::ChunksIn {
    Chunks {
        score: s.view(CHUNK_SCRATCH[0]),
        token: s.view(CHUNK_SCRATCH[1]),
        mass: s.view(CHUNK_SCRATCH[2]),
        levels: s.view(CHUNK_SCRATCH[3]),
    }
}

pub(super) fn sample_impls() -> Vec<ImplDef> {
    FLOATS.map(sample_impl).into()
}

fn sample_impl(dtype: DType) -> ImplDef {
    let name = format!("sampler.draw.{dtype}");
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(dtype, X => {
                let (logits, block_max) = (s.view("logits"), s.view("block_max"));
                let params = Params::declare(s);
                let (seed, offset) = (s.view("seed"), s.view("offset"));
                let (modes, state) = (s.view("modes"), s.view("state"));
                let chunks = chunks_in(s);
                let (value, token) = (s.view_mut("value"), s.view_mut("token"));
                let (weight, ids) = (s.view_mut("weight"), s.view_mut("ids"));
                draw::<X>(
                    logits, block_max, params, seed, offset, modes, state, chunks, value, token,
                    weight, ids,
                )
            })
        })
    };
    let mut args = vec![Arg::tensor("logits"), Arg::workspace("block_max")];
    args.extend(tensors(&PARAMS));
    args.extend(tensors(&["seed", "offset"]));
    args.extend(scratch(&["modes", "state"]));
    args.extend(scratch(&CHUNK_SCRATCH));
    args.extend(scratch(&["candidates", "candidate_tokens", "weights"]));
    args.push(Arg::tensor("ids"));
    with_plan(dtype, true, Arg::tensor("ids")).launch(name, Box::new(make), args, &["batch"])
}

pub(super) fn filter_impls() -> Vec<ImplDef> {
    FLOATS.map(filter_impl).into()
}

fn filter_impl(dtype: DType) -> ImplDef {
    let name = format!("sampler.mask.{dtype}");
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(dtype, X => {
                let (logits, block_max) = (s.view("logits"), s.view("block_max"));
                let params = Params::declare(s);
                let (modes, state) = (s.view("modes"), s.view("state"));
                let chunks = chunks_in(s);
                let (value, token) = (s.view_mut("value"), s.view_mut("token"));
                let weight = s.view_mut("weight");
                let (ids, out) = (s.view("ids"), s.view_mut("out"));
                mask::<X>(
                    logits, block_max, params, modes, state, chunks, value, token, weight, ids,
                    out,
                )
            })
        })
    };
    let mut args = vec![Arg::tensor("logits"), Arg::workspace("block_max")];
    args.extend(tensors(&PARAMS));
    args.extend(scratch(&["modes", "state"]));
    args.extend(scratch(&CHUNK_SCRATCH));
    args.extend(scratch(&["candidates", "candidate_tokens", "weights", "ids"]));
    args.push(Arg::tensor("out"));
    with_plan(dtype, false, Arg::workspace("ids")).workspace("ids", DType::I32, &["batch"]).launch(
        name,
        Box::new(make),
        args,
        &["batch"],
    )
}

pub(super) fn top_logprobs_impls() -> Vec<ImplDef> {
    FLOATS.map(top_logprobs_impl).into()
}

fn top_logprobs_impl(dtype: DType) -> ImplDef {
    let name = format!("sampler.top_logprobs.{dtype}");
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(dtype, X => {
                let (logits, block_max) = (s.view("logits"), s.view("block_max"));
                let (sums, chosen) = (s.view("sums"), s.view("chosen"));
                let (value, token) = (s.view_mut("value"), s.view_mut("token"));
                let report = Report {
                    ids: s.view_mut("ids"),
                    logprobs: s.view_mut("logprobs"),
                    chosen_logprob: s.view_mut("chosen_logprob"),
                    chosen_rank: s.view_mut("chosen_rank"),
                };
                top_logprobs::<X>(logits, block_max, sums, chosen, value, token, report)
            })
        })
    };
    let mut args = vec![Arg::tensor("logits")];
    args.extend(scratch(&["block_max", "sums"]));
    args.push(Arg::tensor("chosen"));
    args.extend(scratch(&["candidates", "candidate_tokens"]));
    args.extend(tensors(&["ids", "logprobs", "chosen_logprob", "chosen_rank"]));
    with_scan(plain("threshold"), dtype, true)
        .workspace("candidates", DType::F32, &["batch", "vocab"])
        .workspace("candidate_tokens", DType::I32, &["batch", "vocab"])
        .launch(name, Box::new(make), args, &["batch"])
}

pub(super) fn bitmask_impls() -> Vec<ImplDef> {
    let make = || {
        stage("sampler.apply_bitmask", |s| apply_bitmask(s.view_mut("logits"), s.view("bitmask")))
    };
    let args = tensors(&["logits", "bitmask"]);
    let name = "sampler.apply_bitmask".to_owned();
    vec![plain("chunks").launch(name, Box::new(make), args, &[&chunks(), "batch"])]
}

pub(super) fn bias_impls() -> Vec<ImplDef> {
    let make = || {
        stage("sampler.apply_logit_bias", |s| {
            let (logits, ids) = (s.view_mut("logits"), s.view("bias_ids"));
            let (values, len) = (s.view("bias_values"), s.view("bias_len"));
            apply_logit_bias(logits, ids, values, len, s.view_mut("status"))
        })
    };
    let args = tensors(&["logits", "bias_ids", "bias_values", "bias_len", "status"]);
    let name = "sampler.apply_logit_bias".to_owned();
    vec![plain("rows").launch(name, Box::new(make), args, &["batch"])]
}

pub(super) fn penalties_impls() -> Vec<ImplDef> {
    let make = || {
        stage("sampler.apply_penalties", |s| {
            let (logits, prompt) = (s.view_mut("logits"), s.view("prompt_counts"));
            let output = s.view("output_counts");
            let (repetition, frequency) = (s.view("repetition"), s.view("frequency"));
            let presence = s.view("presence");
            apply_penalties(logits, prompt, output, repetition, frequency, presence)
        })
    };
    let counts = ["logits", "prompt_counts", "output_counts"];
    let mut args = tensors(&counts);
    args.extend(tensors(&["repetition", "frequency", "presence"]));
    let name = "sampler.apply_penalties".to_owned();
    vec![plain("chunks").launch(name, Box::new(make), args, &[&chunks(), "batch"])]
}

pub(super) fn rejection_impls() -> Vec<ImplDef> {
    [false, true].map(rejection_impl).into()
}

fn rejection_impl(greedy: bool) -> ImplDef {
    let mode = if greedy { "greedy" } else { "standard" };
    let name = format!("sampler.rejection_sample.{mode}");
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            let draft_ids = s.view("draft_ids");
            let (draft, target) = (s.view("draft_probs"), s.view("target_probs"));
            let (seed, offset) = (s.view("seed"), s.view("offset"));
            let (ids, accepted) = (s.view_mut("ids"), s.view_mut("num_accepted"));
            rejection_sample(draft_ids, draft, target, seed, offset, ids, accepted, greedy)
        })
    };
    let mut args = tensors(&["draft_ids", "draft_probs", "target_probs", "seed", "offset"]);
    args.extend(tensors(&["ids", "num_accepted"]));
    plain("rows").attr("mode", mode).launch(name, Box::new(make), args, &["batch"])
}
