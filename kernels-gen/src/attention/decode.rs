//! Decode: one query token a sequence, over its cache in splits.
//!
//! A program takes one split of one sequence for a block of the heads that share a KV head, so each
//! key and value is read once for the whole group. Splits are `v.split` keys long, counted from the
//! sequence's start: a row's bits depend on its own length only. Each split leaves (out, lse);
//! `merge_states` joins them. Where no sequence is longer than a split, the program writes the result.
//! Traffic: the cache of the sequence once; flops 4 · rows · head_dim a key.

use super::keys::{Block, Cache, PageTable, Sequence};
use super::space::Attention;
use super::state::{Rules, Scales, State, finish_scores};
use tilewright_dsl::prelude::*;

/// Rounds weights to the dtype that P·V is computed in for this cache dtype.
fn round_weights<KV: Float>(p: Tile<F32>) -> Tile<F32> {
    match KV::DTYPE {
        tilewright_abi::DType::F32 => p,
        tilewright_abi::DType::F16 => p.cast::<F16>().cast::<F32>(),
        _ => p.cast::<BF16>().cast::<F32>(),
    }
}

/// The position of a decode program: `(first query head, heads of the KV head end here, KV head)`.
struct Heads {
    first: Index,
    end: Index,
    kv: Index,
}

impl Heads {
    fn of(program: Index, num_qo_heads: Index, num_kv_heads: Index, v: &Attention) -> Heads {
        let group = num_qo_heads / num_kv_heads;
        let blocks = group.div_ceil(v.rows);
        let kv = program / blocks;
        Heads { first: kv * group + program % blocks * v.rows, end: (kv + 1) * group, kv }
    }
}

/// q · kᵀ for register tile `j` of a block.
#[kernel]
fn dots<KV: Float>(
    block: &Block<KV>,
    j: usize,
    query: &impl Fn(Index, usize) -> Tile<F32>,
    v: &Attention,
) -> Tile<F32> {
    let mut dots = zeros::<F32>([v.rows, v.sub]);
    for d in range(0, v.head_dim, v.sub) {
        let keys = block.keys_t(j, d, v.sub, v); // [sub of the head, sub keys]
        dots = mma(query(d, v.sub), keys, dots);
    }
    dots
}

/// Scores and weighs the keys `lo .. end` of a sequence for the query rows that `query(d, depth)`
/// reads as `[rows, depth]`.
#[kernel]
pub fn attend<KV: Float>(
    cache: Cache<KV>,
    sequence: &Sequence,
    head: Index,
    lo: Index,
    end: Index,
    last: Tile<I32>,
    query: impl Fn(Index, usize) -> Tile<F32>,
    rules: &Rules,
    v: &Attention,
) -> State {
    let mut state = State::neutral(v);
    for n0 in range(lo / v.block_n * v.block_n, end, v.block_n) {
        let block = cache.block(sequence, head, n0, v);
        let score = |j: usize| {
            let dots = dots(&block, j, &query, v);
            finish_scores(dots, n0 + j * v.sub, last, end.cast::<I32>(), rules, v)
        };
        let scores: Vec<Tile<F32>> = (0..v.block_n / v.sub).map(score).collect();
        let value = |j: usize, d: usize| block.values(j, d, v);
        state.update(&scores, value, round_weights::<KV>, v);
    }
    state
}

/// Where a decode program leaves its state: for split s the rows `[batch, s, heads, ..]`.
#[derive(Clone, Copy)]
pub struct Output<O: Float> {
    /// `[batch, num_splits, num_qo_heads, head_dim]`.
    pub out: ViewMut<O, 4>,
    /// `[batch, num_splits, num_qo_heads]`.
    pub lse: ViewMut<F32, 3>,
}

/// One split of one sequence for a block of heads.
#[kernel]
pub fn decode<Q: Float, KV: Float, O: Float>(
    q: View<Q, 3>,
    cache: Cache<KV>,
    table: PageTable,
    to: Output<O>,
    scales: Scales,
    v: &Attention,
) {
    let (split, b) = (program_id(0), program_id(2));
    let heads = Heads::of(program_id(1), q.dim(1), cache.num_kv_heads(), v);
    let sequence = table.sequence(b, cache.page_size());
    let rules = scales.rules(konst::<Bool>(true));
    let last = sequence.len - 1;
    let oldest = (last - rules.window.cast::<I64>()).max(0);
    let lo = oldest.max(split * v.split);
    let end = sequence.len.min((split + 1) * v.split);
    let query = |d: Index, depth: usize| {
        let tile = q.tile((b, heads.first, d), [1, v.rows, depth]).limit(1, heads.end);
        let tile = tile.inside_axis(0).inside_axis(2);
        tile.load().reshape([v.rows, depth]).cast::<F32>()
    };
    let last = full::<I32>([v.rows], last.cast::<I32>());
    let state = attend(cache, &sequence, heads.kv, lo, end, last, query, &rules, v);
    let store = |d: usize, t: Tile<F32>| {
        let tile = to.out.tile((b, split, heads.first, d), [1, 1, v.rows, v.sub]);
        let tile = tile.inside_axis(0).inside_axis(1).inside_axis(3);
        tile.limit(2, heads.end).store(t.cast::<O>());
    };
    let store_lse = |t: Tile<F32>| {
        to.lse.tile((b, split, heads.first), [1, 1, v.rows]).limit(2, heads.end).store(t);
    };
    state.store(scales.v_scale, None, store, store_lse, v);
}
