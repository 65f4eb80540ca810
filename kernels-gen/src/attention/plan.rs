//! Which kernels implement the attention ops: launches, grids and workspace.

use super::keys::{PageTable, declare};
use super::space::{self, Attention, Case, Keys, SPLIT};
use super::state::Scales;
use super::{Lengths, Output, decode, kv_append, merge_states, prefill};
use crate::common::dispatch::{for_cache_float, for_float};
use crate::{ImplDef, StageFn};
use tilewright_abi::{Arg, DType, TargetCaps, Variant};
use tilewright_dsl::prelude::*;

const SCALES: [&str; 5] = ["sm_scale", "logits_soft_cap", "window_left", "k_scale", "v_scale"];
const ROW_VIEW: [&str; 3] = ["num_pages * page_size", "num_kv_heads", "head_dim"];

fn scales(s: &mut Stage) -> Scales {
    Scales {
        sm_scale: s.scalar(SCALES[0]),
        soft_cap: s.scalar(SCALES[1]),
        window_left: s.scalar(SCALES[2]),
        k_scale: s.scalar(SCALES[3]),
        v_scale: s.scalar(SCALES[4]),
    }
}

fn tensors(names: &[&str]) -> Vec<Arg> {
    names.iter().map(|n| Arg::tensor(n)).collect()
}

/// The arguments of [`declare`].
fn key_args(keys: Keys) -> Vec<Arg> {
    match keys {
        Keys::PagedRows => vec![
            Arg::tensor_as("k_cache", &ROW_VIEW),
            Arg::tensor_as("v_cache", &ROW_VIEW),
            Arg::axis("page_size"),
        ],
        Keys::PagedBlocks => tensors(&["k_cache", "v_cache"]),
        Keys::PagedTransposed => tensors(&["kt_cache", "v_cache"]),
        Keys::Ragged => tensors(&["k", "v"]),
    }
}

/// An impl for a case's dtypes, head dimension and layout.
fn base(algorithm: &str, case: Case, v: Attention) -> ImplDef {
    let def = ImplDef::new(algorithm, v.variant())
        .dtype("q", case.q)
        .dtype("out", case.q)
        .when(&format!("head_dim == {}", case.head_dim));
    let (k, v_name) = match case.keys {
        Keys::PagedRows | Keys::PagedBlocks => ("k_cache", "v_cache"),
        Keys::PagedTransposed => ("kt_cache", "v_cache"),
        Keys::Ragged => ("k", "v"),
    };
    let def = def.dtype(k, case.cache).dtype(v_name, case.cache);
    match case.keys {
        Keys::PagedBlocks | Keys::PagedTransposed => {
            def.when(&format!("page_size % {} == 0", v.block_n))
        }
        Keys::PagedRows | Keys::Ragged => def,
    }
}

/// Decode: splits into workspace and their merge; or, where one split holds every sequence and the
/// result is f32, the same kernel writing the result.
pub(super) fn decode_impls(caps: &TargetCaps) -> Vec<ImplDef> {
    let mut all = Vec::new();
    for case in space::paged_cases() {
        for &rows in space::decode_rows(case) {
            let v = space::default(caps, case, Some(rows));
            if case.q == DType::F32 {
                all.push(decode_direct(case, v));
            }
            all.push(decode_split(case, v, false));
            all.push(decode_split(case, v, true));
        }
    }
    all
}

fn decode_kernel(case: Case, v: Attention) -> (String, StageFn) {
    let name = format!("attention.decode.{}.{}.{}", case.q, case.cache, v.variant());
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(case.q, Q => for_cache_float!(case.cache, KV => {
                let q = s.view("q");
                let cache = declare::<KV>(s, case.keys);
                let table = PageTable {
                    indptr: s.view("kv_indptr"),
                    indices: s.view("kv_indices"),
                    last_page_len: s.view("kv_last_page_len"),
                };
                let to = Output { out: s.view_mut("out"), lse: s.view_mut("lse") };
                let scales = scales(s);
                decode::<Q, KV, F32>(q, cache, table, to, scales, &v)
            }))
        })
    };
    (name, Box::new(make))
}

fn decode_args(case: Case, out: Arg, lse: Arg) -> Vec<Arg> {
    let mut args = tensors(&["q"]);
    args.extend(key_args(case.keys));
    args.extend(tensors(&["kv_indptr", "kv_indices", "kv_last_page_len"]));
    args.extend([out, lse]);
    args.extend(SCALES.map(Arg::scalar));
    args
}

fn decode_base(algorithm: &str, case: Case, v: Attention) -> ImplDef {
    let def = base(algorithm, case, v);
    // A block of 4 serves every group; another number of rows only its own group size.
    if v.rows == 4 {
        def.priority(10)
    } else {
        def.when(&format!("num_qo_heads == {} * num_kv_heads", v.rows)).priority(20)
    }
}

fn head_blocks(v: Attention) -> String {
    format!("num_kv_heads * ceil_div(num_qo_heads / num_kv_heads, {})", v.rows)
}

fn decode_direct(case: Case, v: Attention) -> ImplDef {
    let (name, make) = decode_kernel(case, v);
    let out = Arg::tensor_as("out", &["batch", "1", "num_qo_heads", "head_dim"]);
    let lse = Arg::tensor_as("lse", &["batch", "1", "num_qo_heads"]);
    let def = decode_base("direct", case, v);
    let priority = def.priority + 1;
    def.priority(priority).when(&format!("max_kv_len <= {SPLIT}")).launch(
        name,
        make,
        decode_args(case, out, lse),
        &["1", &head_blocks(v), "batch"],
    )
}

fn decode_split(case: Case, v: Attention, sinks: bool) -> ImplDef {
    let splits = format!("max(1, ceil_div(max_kv_len, {SPLIT}))");
    let (name, make) = decode_kernel(case, v);
    let (part, part_lse) = (Arg::workspace("part_out"), Arg::workspace("part_lse"));
    let def = decode_base("split", case, v)
        .workspace("part_out", DType::F32, &["batch", &splits, "num_qo_heads", "head_dim"])
        .workspace("part_lse", DType::F32, &["batch", &splits, "num_qo_heads"])
        .launch(
            name,
            make,
            decode_args(case, part.clone(), part_lse.clone()),
            &[&splits, &head_blocks(v), "batch"],
        );
    let (name, make) = merge_kernel(DType::F32, case.q, sinks, v.sub);
    let mut args = vec![part, part_lse];
    if sinks {
        args.push(Arg::tensor("sinks"));
    }
    args.extend(tensors(&["out", "lse"]));
    let def = if sinks { def.dtype("sinks", DType::F32) } else { def };
    def.launch(name, make, args, &["num_qo_heads", "batch"])
}

/// The kernel of `attention.merge_states`; it walks the head in pieces of `sub`.
fn merge_kernel(input: DType, out: DType, sinks: bool, sub: usize) -> (String, StageFn) {
    let with = if sinks { ".sinks" } else { "" };
    let name = format!("attention.merge_states.{input}.{out}.{sub}{with}");
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(input, I => for_float!(out, O => {
                let (values, lse_in) = (s.view("v"), s.view("lse_in"));
                let sinks = if sinks { Some(s.view("sinks")) } else { None };
                let (to, lse) = (s.view_mut("out"), s.view_mut("lse"));
                merge_states::<I, O>(values, lse_in, sinks, to, lse, sub)
            }))
        })
    };
    (name, Box::new(make))
}

pub(super) fn merge_impls(caps: &TargetCaps) -> Vec<ImplDef> {
    let sub = space::tile(caps).0;
    let mut all = Vec::new();
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        for sinks in [false, true] {
            let (name, make) = merge_kernel(dtype, dtype, sinks, sub);
            let mut args = tensors(&["v", "lse_in"]);
            let mut def = ImplDef::new("heads", Variant::new().with("block", sub))
                .dtype("v", dtype)
                .dtype("out", dtype);
            if sinks {
                args.push(Arg::tensor("sinks"));
                def = def.dtype("sinks", DType::F32);
            }
            args.extend(tensors(&["out", "lse"]));
            all.push(def.launch(name, make, args, &["num_qo_heads", "rows"]));
        }
    }
    all
}

pub(super) fn prefill_impls(caps: &TargetCaps) -> Vec<ImplDef> {
    let mut all = Vec::new();
    for case in space::paged_cases() {
        // Sinks: for the layout that every cache has, and the dtypes of the models that have them.
        let sinks = case.keys == Keys::PagedRows && case.q == case.cache && case.head_dim <= 128;
        all.extend(prefill_pair(caps, case, false));
        if sinks {
            all.extend(prefill_pair(caps, case, true));
        }
    }
    all
}

pub(super) fn ragged_impls(caps: &TargetCaps) -> Vec<ImplDef> {
    let cases = space::ragged_cases().into_iter();
    cases.flat_map(|case| prefill_pair(caps, case, false)).collect()
}

/// The causal and the full form: one kernel, bound with another scalar.
fn prefill_pair(caps: &TargetCaps, case: Case, sinks: bool) -> Vec<ImplDef> {
    let v = space::default(caps, case, None);
    [true, false].into_iter().map(|causal| prefill_impl(case, v, sinks, causal)).collect()
}

fn prefill_kernel(case: Case, v: Attention, sinks: bool) -> (String, StageFn) {
    let with = if sinks { ".sinks" } else { "" };
    let name = format!("attention.prefill.{}.{}.{}{with}", case.q, case.cache, v.variant());
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(case.q, Q => for_cache_float!(case.cache, KV => {
                let (q, qo_indptr) = (s.view("q"), s.view("qo_indptr"));
                let cache = declare::<KV>(s, case.keys);
                let lengths = if case.keys == Keys::Ragged {
                    Lengths::Ragged(s.view("kv_indptr"))
                } else {
                    Lengths::Paged(PageTable {
                        indptr: s.view("kv_indptr"),
                        indices: s.view("kv_indices"),
                        last_page_len: s.view("kv_last_page_len"),
                    })
                };
                let sinks = if sinks { Some(s.view("sinks")) } else { None };
                let to = Output { out: s.view_mut("out"), lse: s.view_mut("lse") };
                let scales = scales(s);
                let causal = s.scalar("causal");
                prefill::<Q, KV, Q>(q, qo_indptr, cache, lengths, sinks, to, scales, causal, &v)
            }))
        })
    };
    (name, Box::new(make))
}

fn prefill_impl(case: Case, v: Attention, sinks: bool, causal: bool) -> ImplDef {
    let (name, make) = prefill_kernel(case, v, sinks);
    let mut args = tensors(&["q", "qo_indptr"]);
    args.extend(key_args(case.keys));
    args.push(Arg::tensor("kv_indptr"));
    if case.keys != Keys::Ragged {
        args.extend(tensors(&["kv_indices", "kv_last_page_len"]));
    }
    let mut def = base("rows", case, v).attr("causal", if causal { "true" } else { "false" });
    if sinks {
        args.push(Arg::tensor("sinks"));
        def = def.dtype("sinks", DType::F32);
    }
    args.push(Arg::tensor_as("out", &["total_q", "1", "num_qo_heads", "head_dim"]));
    args.push(Arg::tensor_as("lse", &["total_q", "1", "num_qo_heads"]));
    args.extend(SCALES.map(Arg::scalar));
    args.push(Arg::axis(i64::from(causal)));
    let blocks = format!("ceil_div(max_q_len, {})", v.rows);
    def.launch(name, make, args, &[&blocks, "num_qo_heads", "batch"])
}

pub(super) fn append_impls(caps: &TargetCaps) -> Vec<ImplDef> {
    let floats = [DType::F32, DType::BF16, DType::F16];
    let caches = [DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2];
    let mut all = Vec::new();
    for x in floats {
        for cache in caches {
            // What no model does: to narrow activations and keep a wide cache.
            if cache == x || x == DType::F32 || cache.bits() == 8 {
                all.push(append_impl(caps, x, cache, false));
                all.push(append_impl(caps, x, cache, true));
            }
        }
    }
    all
}

fn append_impl(caps: &TargetCaps, x: DType, cache: DType, transposed: bool) -> ImplDef {
    let block = space::tile(caps).0;
    let k_name = if transposed { "kt_cache" } else { "k_cache" };
    let name = format!("attention.kv_append.{x}.{cache}.{k_name}.{block}");
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(x, X => for_cache_float!(cache, KV => {
                let (k, v, slots) = (s.view("k"), s.view("v"), s.view("slot_mapping"));
                let (k_cache, v_cache) = (s.view_mut(k_name), s.view_mut("v_cache"));
                let (k_scale, v_scale) = (s.scalar("k_scale"), s.scalar("v_scale"));
                kv_append::<X, KV>(
                    k, v, slots, k_cache, v_cache, k_scale, v_scale, transposed, block,
                )
            }))
        })
    };
    let mut args = tensors(&["k", "v", "slot_mapping", k_name, "v_cache"]);
    args.extend([Arg::scalar("k_scale"), Arg::scalar("v_scale")]);
    ImplDef::new("tokens", Variant::new().with("block", block))
        .dtype("k", x)
        .dtype("v", x)
        .dtype(k_name, cache)
        .dtype("v_cache", cache)
        .launch(name, Box::new(make), args, &["tokens"])
}
