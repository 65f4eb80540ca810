//! The most likely tokens of each row with their log-probabilities, and the chosen token's.
//!
//! One program a row, after the scan: the log of the sum comes from the chunks' sums; candidates are the
//! tokens that reach the `top_n`-th greatest block maximum; each output is the greatest candidate after
//! the one before it.

use super::candidates::{Candidates, list};
use super::scan::{BLOCK, block_of, first_max, kth_bound};
use crate::common::exact_math::{from_order_key, order_key, order_key_one};
use tilewright_dsl::prelude::*;

/// The log of the sum of exponentials of a row, from its chunks' (maximum, sum).
#[kernel]
fn log_sum(sums: View<F32, 3>, row: Index) -> Scalar<F32> {
    let mut highest = konst::<F32>(f32::NEG_INFINITY);
    for c in range(0, sums.dim(1), 1) {
        // A chunk of −inf alone has the sum 0 and a maximum of 0 that says nothing.
        let own = select(sums.get((row, c, 1)).eq(0.0), f32::NEG_INFINITY, sums.get((row, c, 0)));
        highest = highest.max(own);
    }
    let base = select(highest.eq(f32::NEG_INFINITY), 0.0, highest);
    let mut sum = konst::<F32>(0.0);
    for c in range(0, sums.dim(1), 1) {
        let part = sums.get((row, c, 1));
        if part != 0.0 {
            sum += part * (sums.get((row, c, 0)) - base).exp();
        }
    }
    base + sum.ln()
}

/// The outputs of the op.
#[derive(Clone, Copy)]
pub(super) struct Report {
    /// `[batch, top_n]`.
    pub(super) ids: ViewMut<I32, 2>,
    /// `[batch, top_n]`.
    pub(super) logprobs: ViewMut<F32, 2>,
    /// `[batch]`.
    pub(super) chosen_logprob: ViewMut<F32, 1>,
    /// `[batch]`.
    pub(super) chosen_rank: ViewMut<I32, 1>,
}

/// One row.
#[kernel]
pub(super) fn top_logprobs<X: Float>(
    logits: View<X, 2>,
    block_max: View<F32, 2>,
    sums: View<F32, 3>,
    chosen: View<I32, 1>,
    value: ViewMut<F32, 2>,
    token: ViewMut<I32, 2>,
    report: Report,
) {
    let row = program_id(0);
    let lse = log_sum(sums, row);
    let (highest, _) = first_max(logits, block_max, row);
    let top_n = report.ids.dim(1);
    let bound = kth_bound(block_max, row, top_n.cast::<I32>(), highest);
    let len = list(logits, block_max, value, token, row, None, bound);
    let list = Candidates { value, token, weight: value, row, len, highest };
    // The last output's key and token; the next is the greatest after it.
    let mut key = konst::<I32>(i32::MAX);
    let mut id = konst::<I32>(-1);
    for n in range(0, top_n, 1) {
        let mut best_key = full::<I32>([BLOCK], i32::MIN);
        let mut best_id = full::<I32>([BLOCK], i32::MAX);
        for k in range(0, list.len, BLOCK) {
            let (y, inside) = list.values(k, BLOCK);
            let (own, tokens) = (order_key(y + 0.0), list.tokens(k, BLOCK));
            let after = own.lt(key) | (own.eq(key) & tokens.gt(id));
            let better = inside & after & own.gt(best_key);
            best_key = select(better, own, best_key);
            best_id = select(better, tokens, best_id);
        }
        let next = best_key.max_all();
        let next_id = select(best_key.eq(next), best_id, i32::MAX).min_all();
        let none = next_id.eq(i32::MAX);
        report.ids.set((row, n), select(none, -1, next_id));
        let logprob = from_order_key(next) - lse;
        report.logprobs.set((row, n), select(none, f32::NEG_INFINITY, logprob));
        key = select(none, i32::MIN, next);
        id = next_id;
    }
    let at = chosen.get((row,)).cast::<I64>();
    let own = select(
        at.ge(0) & at.lt(logits.dim(1)),
        logits.get((row, at)).cast::<F32>(),
        f32::NEG_INFINITY,
    );
    let mut rank = konst::<I32>(0);
    for b in range(0, block_max.dim(1), 1) {
        if block_max.get((row, b)) > own {
            rank += select(block_of(logits, row, b).gt(own), 1, 0).sum_all();
        }
    }
    let floor = order_key_one(own).lt(order_key_one(konst::<F32>(f32::MIN)));
    report.chosen_logprob.set((row,), select(floor, f32::NEG_INFINITY, own - lse));
    report.chosen_rank.set((row,), rank);
}
