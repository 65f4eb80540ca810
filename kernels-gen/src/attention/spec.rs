//! Contracts of attention over a key-value cache.
//!
//! Two layouts of K: `k_cache`, `[num_pages, page_size, num_kv_heads, head_dim]` (strides are free, so
//! that a head-major cache is the same tensor with other strides), and `kt_cache`, `[num_pages,
//! num_kv_heads, head_dim, page_size]`, in which neighbouring keys are neighbours in memory: the form
//! in which q·kᵀ needs no shuffles. V is `v_cache` in either case.

use tilewright_abi::{AttrSpec, AxisSpec, DType, OpSpec, Role, ScalarSpec, TensorSpec, Tolerance};

const FLOATS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];
const CACHE: [DType; 5] = [DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2];
const TOLERANCE: Tolerance = Tolerance { abs: 1e-5, rel: 1e-5, ulp: 1 };

fn axis(name: &str, doc: &str) -> AxisSpec {
    AxisSpec::new(name, doc)
}

fn head_axes() -> Vec<AxisSpec> {
    vec![
        axis("num_qo_heads", "query heads, a multiple of num_kv_heads").at_least(1),
        axis("num_kv_heads", "key and value heads").at_least(1),
        axis("head_dim", "elements of a head").at_least(1),
    ]
}

fn cache_axes() -> Vec<AxisSpec> {
    vec![
        axis("num_pages", "pages in the cache").ignored(),
        axis("page_size", "tokens of a page").at_least(1),
    ]
}

fn cache_tensors(role: Role) -> Vec<TensorSpec> {
    let nhd = ["num_pages", "page_size", "num_kv_heads", "head_dim"];
    let packed = ["num_pages", "num_kv_heads", "head_dim", "page_size"];
    vec![
        TensorSpec::new("k_cache", role, &CACHE, &nhd).optional(),
        TensorSpec::new("kt_cache", role, &CACHE, &packed).optional(),
        TensorSpec::new("v_cache", role, &CACHE, &nhd),
    ]
}

fn page_table() -> Vec<TensorSpec> {
    vec![
        TensorSpec::new("kv_indptr", Role::In, &[DType::I32], &["batch + 1"]),
        TensorSpec::new("kv_indices", Role::In, &[DType::I32], &["num_indices"]),
        TensorSpec::new("kv_last_page_len", Role::In, &[DType::I32], &["batch"]),
    ]
}

fn softmax_scalars() -> Vec<ScalarSpec> {
    let s = |name: &str, default: f64| ScalarSpec::new(name, DType::F32).default_value(default);
    vec![
        ScalarSpec::new("sm_scale", DType::F32),
        s("logits_soft_cap", 0.0),
        ScalarSpec::new("window_left", DType::I32).range(-1.0, 2147483647.0).default_value(-1.0),
    ]
}

fn cache_scales() -> Vec<ScalarSpec> {
    let s = |name: &str| ScalarSpec::new(name, DType::F32).default_value(1.0);
    vec![s("k_scale"), s("v_scale")]
}

/// Writes the keys and values of new tokens to their slots.
pub fn kv_append() -> OpSpec {
    OpSpec {
        name: "attention.kv_append".into(),
        doc: "k_cache[slot / page_size, slot % page_size, h, :] = k[t, h, :] / k_scale with slot = \
              slot_mapping[t], likewise v; a negative slot skips its token. Exactly one of k_cache and \
              kt_cache is given. Float8 caches round to nearest even and saturate. Two tokens must not \
              have the same slot."
            .into(),
        axes: {
            let mut a = vec![axis("tokens", "new tokens").bucketed()];
            a.extend(head_axes().into_iter().skip(1));
            a.extend(cache_axes());
            a
        },
        tensors: {
            let kv = ["tokens", "num_kv_heads", "head_dim"];
            let mut t = vec![
                TensorSpec::new("k", Role::In, &FLOATS, &kv),
                TensorSpec::new("v", Role::In, &FLOATS, &kv),
                TensorSpec::new("slot_mapping", Role::In, &[DType::I64], &["tokens"]),
            ];
            t.extend(cache_tensors(Role::InOut));
            t
        },
        scalars: cache_scales(),
        attrs: vec![],
        constraints: vec![],
        tolerance: Tolerance::default(),
    }
}

/// One query token a sequence against its paged keys and values.
pub fn decode() -> OpSpec {
    OpSpec {
        name: "attention.decode".into(),
        doc: "out[b, h, :] = softmax(q[b, h, :] · K * sm_scale) V over the keys of sequence b, whose \
              length is (kv_indptr[b+1] - kv_indptr[b] - 1) * page_size + kv_last_page_len[b] (0 without \
              pages); lse is the natural logarithm of the sum. logits_soft_cap c > 0 gives \
              c * tanh(x / c); window_left w >= 0 keeps the last w + 1 keys; sinks[h] adds exp(sinks[h]) \
              to the denominator only. max_kv_len bounds every length. An empty sequence gives (0, -inf). \
              The sequence is split by its own length only, so a row's bits do not depend on its batch."
            .into(),
        axes: {
            let mut a = vec![axis("batch", "sequences").bucketed()];
            a.extend(head_axes());
            a.extend(cache_axes());
            a.push(axis("num_indices", "entries of the page table").ignored());
            a.push(axis("max_kv_len", "upper bound of the sequences' lengths").bucketed());
            a
        },
        tensors: {
            let qo = ["batch", "num_qo_heads", "head_dim"];
            let mut t = vec![TensorSpec::new("q", Role::In, &FLOATS, &qo)];
            t.extend(cache_tensors(Role::In));
            t.extend(page_table());
            t.push(TensorSpec::new("sinks", Role::In, &[DType::F32], &["num_qo_heads"]).optional());
            t.push(TensorSpec::new("out", Role::Out, &FLOATS, &qo));
            t.push(TensorSpec::new("lse", Role::Out, &[DType::F32], &["batch", "num_qo_heads"]));
            t
        },
        scalars: softmax_scalars().into_iter().chain(cache_scales()).collect(),
        attrs: vec![],
        constraints: vec!["num_qo_heads % num_kv_heads == 0".into()],
        tolerance: TOLERANCE,
    }
}

/// Several query tokens a sequence against its paged keys and values.
pub fn prefill() -> OpSpec {
    OpSpec {
        name: "attention.prefill".into(),
        doc: "As attention.decode for the qo_indptr[b] .. qo_indptr[b+1] query tokens of each sequence, \
              whose keys are already in the cache. causal = true aligns the last query with the last \
              key: query i sees the keys up to i + kv_len - q_len. max_q_len bounds the queries of a \
              sequence. Rows without keys give (0, -inf)."
            .into(),
        axes: {
            let mut a = vec![
                axis("batch", "sequences").bucketed(),
                axis("total_q", "query tokens of all sequences").bucketed(),
                axis("max_q_len", "upper bound of a sequence's query tokens").bucketed(),
            ];
            a.extend(head_axes());
            a.extend(cache_axes());
            a.push(axis("num_indices", "entries of the page table").ignored());
            a
        },
        tensors: {
            let qo = ["total_q", "num_qo_heads", "head_dim"];
            let mut t = vec![
                TensorSpec::new("q", Role::In, &FLOATS, &qo),
                TensorSpec::new("qo_indptr", Role::In, &[DType::I32], &["batch + 1"]),
            ];
            t.extend(cache_tensors(Role::In));
            t.extend(page_table());
            t.push(TensorSpec::new("sinks", Role::In, &[DType::F32], &["num_qo_heads"]).optional());
            t.push(TensorSpec::new("out", Role::Out, &FLOATS, &qo));
            t.push(TensorSpec::new("lse", Role::Out, &[DType::F32], &["total_q", "num_qo_heads"]));
            t
        },
        scalars: softmax_scalars().into_iter().chain(cache_scales()).collect(),
        attrs: vec![AttrSpec::new("causal", &["true", "false"])],
        constraints: vec!["num_qo_heads % num_kv_heads == 0".into()],
        tolerance: TOLERANCE,
    }
}

/// Several query tokens a sequence against contiguous keys and values.
pub fn prefill_ragged() -> OpSpec {
    OpSpec {
        name: "attention.prefill_ragged".into(),
        doc: "As attention.prefill over keys and values that are not paged: those of sequence b are the \
              rows kv_indptr[b] .. kv_indptr[b+1] of k and v"
            .into(),
        axes: {
            let mut a = vec![
                axis("batch", "sequences").bucketed(),
                axis("total_q", "query tokens of all sequences").bucketed(),
                axis("total_kv", "keys of all sequences").bucketed(),
                axis("max_q_len", "upper bound of a sequence's query tokens").bucketed(),
            ];
            a.extend(head_axes());
            a
        },
        tensors: {
            let qo = ["total_q", "num_qo_heads", "head_dim"];
            let kv = ["total_kv", "num_kv_heads", "head_dim"];
            vec![
                TensorSpec::new("q", Role::In, &FLOATS, &qo),
                TensorSpec::new("k", Role::In, &CACHE, &kv),
                TensorSpec::new("v", Role::In, &CACHE, &kv),
                TensorSpec::new("qo_indptr", Role::In, &[DType::I32], &["batch + 1"]),
                TensorSpec::new("kv_indptr", Role::In, &[DType::I32], &["batch + 1"]),
                TensorSpec::new("sinks", Role::In, &[DType::F32], &["num_qo_heads"]).optional(),
                TensorSpec::new("out", Role::Out, &FLOATS, &qo),
                TensorSpec::new("lse", Role::Out, &[DType::F32], &["total_q", "num_qo_heads"]),
            ]
        },
        scalars: softmax_scalars().into_iter().chain(cache_scales()).collect(),
        attrs: vec![AttrSpec::new("causal", &["true", "false"])],
        constraints: vec!["num_qo_heads % num_kv_heads == 0".into()],
        tolerance: TOLERANCE,
    }
}

/// Joins attention states of disjoint sets of keys.
pub fn merge_states() -> OpSpec {
    OpSpec {
        name: "attention.merge_states".into(),
        doc: "out[r, h, :] = sum_s w_s v[r, s, h, :] with w = softmax of lse_in[r, :, h], and their joint \
              lse. A state whose lse is -inf, NaN or +inf is empty and its value is not read; without \
              any other state the result is (0, -inf). sinks as in attention.decode."
            .into(),
        axes: vec![
            axis("rows", "query rows").bucketed(),
            axis("num_states", "states of a row").at_least(1),
            axis("num_qo_heads", "heads").at_least(1),
            axis("head_dim", "elements of a head").at_least(1),
        ],
        tensors: vec![
            TensorSpec::new(
                "v",
                Role::In,
                &FLOATS,
                &["rows", "num_states", "num_qo_heads", "head_dim"],
            ),
            TensorSpec::new(
                "lse_in",
                Role::In,
                &[DType::F32],
                &["rows", "num_states", "num_qo_heads"],
            ),
            TensorSpec::new("sinks", Role::In, &[DType::F32], &["num_qo_heads"]).optional(),
            TensorSpec::new("out", Role::Out, &FLOATS, &["rows", "num_qo_heads", "head_dim"]),
            TensorSpec::new("lse", Role::Out, &[DType::F32], &["rows", "num_qo_heads"]),
        ],
        scalars: vec![],
        attrs: vec![],
        constraints: vec![],
        tolerance: TOLERANCE,
    }
}
