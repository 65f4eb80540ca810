//! The router: scores of all experts of a token, then its `top_k` best, one by one.
//!
//! One program a token; all its scores are one tile. Order is decided on integer keys that increase
//! with the score, so that −inf, NaN (as −inf) and experts already taken each have their place.

use tilewright_dsl::prelude::*;

/// How logits become scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Score {
    /// Over all experts.
    Softmax,
    /// Each by itself.
    Sigmoid,
}

/// Keys whose order as integers is that of the floats; −0 equals 0, NaN is −inf.
#[kernel]
fn keys(x: Tile<F32>) -> Tile<I32> {
    let x = select(x == x, x, f32::NEG_INFINITY) + 0.0;
    let bits = x.bitcast::<I32>();
    bits ^ ((bits >> 31) & i32::MAX)
}

/// See the head of the file.
#[kernel]
pub(super) fn route<L: Float>(
    logits: View<L, 2>,
    bias: View<F32, 1>,
    topk_weights: ViewMut<F32, 2>,
    topk_ids: ViewMut<I32, 2>,
    status: ViewMut<I32, 1>,
    scale: Scalar<F32>,
    has_bias: Scalar<I64>,
    renormalize: Scalar<I64>,
    form: Score,
    block_e: usize,
) {
    let (token, num_experts, top_k) = (program_id(0), logits.dim(1), topk_ids.dim(1));
    let at = logits.tile((token, 0), [1, block_e]);
    let x = at.load_or(f32::NEG_INFINITY).cast::<F32>().reshape([block_e]);
    let bad = (x != x).any_all();
    let x = select(x == x, x, f32::NEG_INFINITY);
    let score = match form {
        Score::Softmax => {
            let top = x.max_all().max(f32::MIN); // finite, so that −inf − top is no NaN
            let e = (x.min(f32::MAX) - top.min(f32::MAX)).exp();
            e / e.sum_all()
        }
        Score::Sigmoid => ((-x).exp() + 1.0).recip(),
    };
    let index = iota::<I32>(block_e);
    let mut choice = match form {
        Score::Softmax => x, // in the order of the scores, without their rounding
        Score::Sigmoid => score,
    };
    if has_bias != 0 {
        choice = score + bias.tile((0,), [block_e]).load();
    }
    let mut key = select(index < num_experts.cast::<I32>(), keys(choice), i32::MIN);
    let mut total = konst::<F32>(0.0);
    for j in range(0, top_k, 1) {
        let (_, best) = key.argmax_all();
        let taken = index == best;
        let weight = select(taken, score, 0.0).sum_all();
        topk_ids.set((token, j), best);
        topk_weights.set((token, j), weight);
        total += weight;
        key = select(taken, i32::MIN, key);
    }
    let mut factor = scale;
    if renormalize != 0 {
        factor = select(total > 0.0, scale / total, 0.0);
    }
    let factor = select(bad, 0.0, factor);
    for j in range(0, top_k, 1) {
        let weight = topk_weights.get((token, j));
        topk_weights.set((token, j), select(bad, 0.0, weight * factor));
    }
    status.set((token,), select(bad, 1, 0));
}
