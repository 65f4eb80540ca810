//! Prefill: several query tokens a sequence, over paged or contiguous keys.
//!
//! A program takes `v.rows` query tokens of one head of one sequence and walks the keys that any of
//! them sees, once, with the running softmax. Programs past a sequence's last query leave at once.

use super::decode::{Output, attend};
use super::keys::{Cache, PageTable, Sequence};
use super::space::Attention;
use super::state::Scales;
use tilewright_dsl::prelude::*;

/// Where the page table or the rows of a sequence are read from.
#[derive(Clone, Copy)]
pub enum Lengths {
    /// From a page table.
    Paged(PageTable),
    /// From `kv_indptr`, `[batch + 1]`.
    Ragged(View<I32, 1>),
}

impl Lengths {
    fn sequence(&self, b: Index, page_size: Index) -> Sequence {
        match self {
            Lengths::Paged(table) => table.sequence(b, page_size),
            Lengths::Ragged(indptr) => Sequence::ragged(*indptr, b),
        }
    }
}

/// A block of query tokens of one head. `to` holds `[total_q, 1, num_qo_heads, ..]`.
#[kernel]
pub fn prefill<Q: Float, KV: Float, O: Float>(
    q: View<Q, 3>,
    qo_indptr: View<I32, 1>,
    cache: Cache<KV>,
    lengths: Lengths,
    sinks: Option<View<F32, 1>>,
    to: Output<O>,
    scales: Scales,
    causal: Scalar<I32>,
    v: &Attention,
) {
    let (block, head, b) = (program_id(0), program_id(1), program_id(2));
    let first = qo_indptr.get((b,)).cast::<I64>();
    let q_end = qo_indptr.get((b + 1,)).cast::<I64>();
    let token = first + block * v.rows;
    if token < q_end {
        let sequence = lengths.sequence(b, cache.page_size());
        let kv_head = head / (q.dim(1) / cache.num_kv_heads());
        let rules = scales.rules(causal.ne(0));
        // Position of the block's first query among the keys: the last query is at the last key.
        let position = sequence.len - (q_end - token);
        let oldest = (position - rules.window.cast::<I64>()).max(0);
        let seen = sequence.len.min(position + v.rows).max(0);
        let end = select(causal.ne(0), seen, sequence.len);
        let query = |d: Index, depth: usize| {
            let tile = q.tile((token, head, d), [v.rows, 1, depth]).limit(0, q_end);
            let tile = tile.inside_axis(1).inside_axis(2);
            tile.load().reshape([v.rows, depth]).cast::<F32>()
        };
        let last = iota::<I32>(v.rows) + position.cast::<I32>(); // [rows]
        let state = attend(cache, &sequence, kv_head, oldest, end, last, query, &rules, v);
        let sink = sinks.map(|s| full::<F32>([v.rows], s.get((head,))));
        let store = |d: usize, t: Tile<F32>| {
            let tile = to.out.tile((token, 0, head, d), [v.rows, 1, 1, v.sub]);
            let tile = tile.inside_axis(1).inside_axis(2).inside_axis(3);
            tile.limit(0, q_end).store(t.cast::<O>());
        };
        let store_lse = |t: Tile<F32>| {
            to.lse.tile((token, 0, head), [v.rows, 1, 1]).limit(0, q_end).store(t);
        };
        state.store(scales.v_scale, sink, store, store_lse, v);
    }
}
