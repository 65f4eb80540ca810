//! Attention over paged keys and values.

use super::Op;
use crate::Tensor;

/// A paged cache, `[num_pages, page_size, num_kv_heads, head_dim]`.
#[derive(Clone, Copy, Debug)]
pub struct KvCache<'t> {
    /// Keys.
    pub keys: Keys<'t>,
    /// Values.
    pub values: &'t Tensor,
}

/// The two orders in which a cache can hold its keys.
#[derive(Clone, Copy, Debug)]
pub enum Keys<'t> {
    /// As the values.
    Rows(&'t Tensor),
    /// `[num_pages, num_kv_heads, head_dim, page_size]`: what decoding reads fastest.
    Transposed(&'t Tensor),
}

/// Which pages hold each sequence, in the compressed form of FlashInfer.
#[derive(Clone, Copy, Debug)]
pub struct PageTable<'t> {
    /// `[batch + 1]`: where each sequence's pages begin in `indices`.
    pub indptr: &'t Tensor,
    /// Pages.
    pub indices: &'t Tensor,
    /// `[batch]`: tokens in the last page.
    pub last_page_len: &'t Tensor,
}

/// How scores become weights.
#[derive(Clone, Copy, Debug)]
pub struct Softmax<'t> {
    /// Factor of the scores, `1 / sqrt(head_dim)` as a rule.
    pub sm_scale: f32,
    /// `c · tanh(x / c)` for a cap above 0.
    pub logits_soft_cap: f32,
    /// Keys before the query's own that are seen; -1 for all.
    pub window_left: i32,
    /// `[num_qo_heads]`: a logit that takes part in the sum only.
    pub sinks: Option<&'t Tensor>,
}

/// What attention gives.
#[derive(Clone, Copy, Debug)]
pub struct Output<'t> {
    /// The weighted values.
    pub out: &'t Tensor,
    /// Natural logarithm of the sums.
    pub lse: &'t Tensor,
}

/// Which keys a query of a prefill sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// Those up to its own place; the last query is aligned with the last key.
    Causal,
    /// All.
    None,
}

impl<'t> Softmax<'t> {
    /// All keys, no cap, no sinks.
    pub fn scaled(sm_scale: f32) -> Softmax<'t> {
        Softmax { sm_scale, logits_soft_cap: 0.0, window_left: -1, sinks: None }
    }
}

fn cache(op: Op, kv: KvCache<'_>) -> Op {
    let op = match kv.keys {
        Keys::Rows(k) => op.tensor("k_cache", k),
        Keys::Transposed(k) => op.tensor("kt_cache", k),
    };
    op.tensor("v_cache", kv.values)
}

fn common(op: Op, kv: KvCache<'_>, pages: PageTable<'_>, s: Softmax<'_>, o: Output<'_>) -> Op {
    let op = cache(op, kv).tensor("kv_indptr", pages.indptr).tensor("kv_indices", pages.indices);
    let op = op.tensor("kv_last_page_len", pages.last_page_len).scalar("sm_scale", s.sm_scale);
    let op = op.scalar("logits_soft_cap", s.logits_soft_cap).scalar("window_left", s.window_left);
    op.maybe("sinks", s.sinks).tensor("out", o.out).tensor("lse", o.lse)
}

/// One query token a sequence. `max_kv_len` bounds every length.
pub fn decode(
    q: &Tensor,
    kv: KvCache<'_>,
    pages: PageTable<'_>,
    max_kv_len: usize,
    softmax: Softmax<'_>,
    output: Output<'_>,
) -> Op {
    let op = Op::new("attention.decode").tensor("q", q).axis("max_kv_len", max_kv_len);
    common(op, kv, pages, softmax, output)
}

/// Queries of several sequences, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct RaggedQueries<'t> {
    /// `[total_q, num_qo_heads, head_dim]`.
    pub q: &'t Tensor,
    /// `[batch + 1]`: where each sequence's queries begin.
    pub indptr: &'t Tensor,
    /// Bound of a sequence's queries.
    pub max_q_len: usize,
}

/// Several query tokens a sequence, whose keys are already in the cache.
pub fn prefill(
    q: RaggedQueries<'_>,
    kv: KvCache<'_>,
    pages: PageTable<'_>,
    mask: Mask,
    softmax: Softmax<'_>,
    output: Output<'_>,
) -> Op {
    let causal = match mask {
        Mask::Causal => "true",
        Mask::None => "false",
    };
    let op = Op::new("attention.prefill").tensor("q", q.q).tensor("qo_indptr", q.indptr);
    let op = op.axis("max_q_len", q.max_q_len).attr("causal", causal);
    common(op, kv, pages, softmax, output)
}

/// Writes keys and values of new tokens to their slots.
pub fn kv_append(k: &Tensor, v: &Tensor, slot_mapping: &Tensor, kv: KvCache<'_>) -> Op {
    let op = Op::new("attention.kv_append").tensor("k", k).tensor("v", v);
    cache(op.tensor("slot_mapping", slot_mapping), kv)
}

/// Merges partial results over different keys of the same queries.
pub fn merge_states(v: &Tensor, lse_in: &Tensor, sinks: Option<&Tensor>, output: Output<'_>) -> Op {
    let op = Op::new("attention.merge_states").tensor("v", v).tensor("lse_in", lse_in);
    op.maybe("sinks", sinks).tensor("out", output.out).tensor("lse", output.lse)
}
