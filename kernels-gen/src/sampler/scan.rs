//! The first reading of a row of logits: the maximum of every 64 of them.
//!
//! What follows reads the maxima, a 64th of the row, and only those blocks of logits that can matter.

use tilewright_dsl::prelude::*;

/// Logits a maximum stands for.
pub(super) const BLOCK: usize = 64;
/// Logits a program reads.
pub(super) const CHUNK: usize = 4096;

/// The logits of one block, −inf past the vocabulary.
pub(super) fn block_of<X: Float>(logits: View<X, 2>, row: Index, block: Index) -> Tile<F32> {
    piece_of(logits, row, block * BLOCK, BLOCK)
}

/// The `len` logits from `start` on, −inf past the vocabulary.
pub(super) fn piece_of<X: Float>(
    logits: View<X, 2>,
    row: Index,
    start: Index,
    len: usize,
) -> Tile<F32> {
    let tile = logits.tile((row, start), [1, len]).load_or(f32::NEG_INFINITY);
    tile.reshape([len]).cast::<F32>()
}

/// block_max[row, b] of one chunk; with `sums`, [`CHUNK`]-wise (maximum, sum of exp(x − maximum)) too.
#[kernel]
pub(super) fn scan<X: Float>(
    logits: View<X, 2>,
    block_max: ViewMut<F32, 2>,
    sums: Option<ViewMut<F32, 3>>,
) {
    let (chunk, row) = (program_id(0), program_id(1));
    let first = chunk * (CHUNK / BLOCK);
    let end = block_max.dim(1).min(first + CHUNK / BLOCK);
    let mut highest = konst::<F32>(f32::NEG_INFINITY);
    for b in range(first, end, 1) {
        let m = block_of(logits, row, b).max_all();
        block_max.set((row, b), m);
        highest = highest.max(m);
    }
    if let Some(sums) = sums {
        let base = select(highest.eq(f32::NEG_INFINITY), 0.0, highest);
        let mut sum = zeros::<F32>([BLOCK / 2]);
        for k in range(first * BLOCK, end * BLOCK, BLOCK / 2) {
            sum += (piece_of(logits, row, k, BLOCK / 2) - base).exp();
        }
        sums.set((row, chunk, 0), base);
        sums.set((row, chunk, 1), sum.sum_all());
    }
}

/// (maximum, lowest index of it) of a row, the first NaN before all, from its block maxima.
#[kernel]
pub(super) fn first_max<X: Float>(
    logits: View<X, 2>,
    block_max: View<F32, 2>,
    row: Index,
) -> (Scalar<F32>, Scalar<I32>) {
    let mut best = konst::<F32>(f32::NEG_INFINITY);
    let mut block = konst::<I32>(0);
    for b in range(0, block_max.dim(1), BLOCK) {
        let maxima = block_max.tile((row, b), [1, BLOCK]).load_or(f32::NEG_INFINITY);
        let (m, at) = maxima.reshape([BLOCK]).argmax_all();
        let better = m.gt(best) | (m.ne(m) & best.eq(best));
        best = select(better, m, best);
        block = select(better, at + b.cast::<I32>(), block);
    }
    let (_, at) = block_of(logits, row, block.cast::<I64>()).argmax_all();
    (best, block * BLOCK + at)
}

/// A value that at least `k` of the row's block maxima reach, and not many more: at least `k` logits
/// reach it. −inf where there are fewer than `k` blocks.
#[kernel]
pub(super) fn kth_bound(
    block_max: View<F32, 2>,
    row: Index,
    k: Scalar<I32>,
    highest: Scalar<F32>,
) -> Scalar<F32> {
    use crate::common::exact_math::{from_order_key, order_key, order_key_one};
    let blocks = block_max.dim(1);
    let mut low = order_key_one(konst::<F32>(f32::NEG_INFINITY)).cast::<I64>();
    let mut high = order_key_one(highest).cast::<I64>();
    high = select(blocks.lt(k.cast::<I64>()), low, high);
    let enough = k.cast::<I64>();
    while low < high {
        let mid = low + (high - low + 1) / 2;
        let key = mid.cast::<I32>();
        let mut count = zeros::<I32>([BLOCK]);
        for b in range(0, blocks, BLOCK) {
            let maxima = block_max.tile((row, b), [1, BLOCK]).load_or(f32::NEG_INFINITY);
            count += select(order_key(maxima.reshape([BLOCK])).ge(key), 1, 0);
        }
        let count = count.sum_all().cast::<I64>();
        let reached = count.ge(enough);
        low = select(reached, mid, low);
        high = select(reached, high, mid - 1);
        high = select(reached & count.le(enough + enough / 4 + 8), low, high);
    }
    from_order_key(low.cast::<I32>())
}

/// ids[row] = the first NaN's index, else the lowest index of the maximum.
#[kernel]
pub(super) fn argmax<X: Float>(logits: View<X, 2>, block_max: View<F32, 2>, ids: ViewMut<I32, 1>) {
    let row = program_id(0);
    let (_, id) = first_max(logits, block_max, row);
    ids.set((row,), id);
}
