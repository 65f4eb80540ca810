//! Speculative acceptance: rejection sampling of draft tokens.
//!
//! One program a row. Positions are taken in order until one is rejected; only the position that ends
//! the row is drawn from, so the vocabulary is read once (twice, if the residual is all zero).

use super::best::{Best, Draws};
use crate::common::exact_math::ln;
use tilewright_dsl::prelude::*;

/// Tokens whose noise is drawn at once.
const WIDTH: usize = 16;

/// A draw from weights that need not sum to 1; −1 if none is above 0.
#[kernel]
fn draw_from(weights: impl Fn(Index) -> Tile<F32>, vocab: Index, draws: &Draws) -> Scalar<I32> {
    let mut best = Best::none(WIDTH);
    for k in range(0, vocab, WIDTH) {
        let w = weights(k); // [WIDTH]
        let some = w.gt(0.0);
        if some.any_all() {
            let token = iota::<I32>(WIDTH) + k.cast::<I32>();
            let score = ln(w.max(f32::MIN_POSITIVE)) + draws.noise(token);
            best.offer(select(some, score, f32::NEG_INFINITY), token);
        }
    }
    best.token()
}

/// The lowest index of the largest probability.
#[kernel]
fn most_likely(weights: impl Fn(Index) -> Tile<F32>, vocab: Index) -> Scalar<I32> {
    let mut best = Best::none(WIDTH);
    for k in range(0, vocab, WIDTH) {
        let token = iota::<I32>(WIDTH) + k.cast::<I32>();
        best.offer(select(token.cast::<I64>().lt(vocab), weights(k), f32::NEG_INFINITY), token);
    }
    best.token()
}

/// ids[row, ..] and num_accepted[row]; see the spec.
#[kernel]
pub(super) fn rejection_sample(
    draft_ids: View<I32, 2>,
    draft_probs: View<F32, 3>,
    target_probs: View<F32, 3>,
    seed: View<U64, 1>,
    offset: View<U64, 1>,
    ids: ViewMut<I32, 2>,
    num_accepted: ViewMut<I32, 1>,
    greedy: bool,
) {
    let row = program_id(0);
    let (draft_len, vocab) = (draft_ids.dim(1), target_probs.dim(2));
    let (seed, offset) = (seed.get((row,)), offset.get((row,)));
    let draws_at = |i: Index| Draws::new(seed, offset + i.cast::<U64>());
    let p = |i: Index| {
        move |k: Index| target_probs.tile((row, i, k), [1, 1, WIDTH]).load().reshape([WIDTH])
    };
    let mut accepted = konst::<I64>(0);
    let mut alive = konst::<I32>(1);
    for i in range(0, draft_len, 1) {
        let mut id = konst::<I32>(-1);
        if alive == 1 {
            let x = draft_ids.get((row, i));
            let mut ok = konst::<I32>(0);
            if greedy {
                id = most_likely(p(i), vocab);
                ok = select(id.eq(x), 1, 0);
            } else {
                let draws = draws_at(i);
                let at = x.cast::<I64>();
                let px = target_probs.get((row, i, at));
                let qx = select(at.ge(0) & at.lt(vocab), draft_probs.get((row, i, at)), 1.0);
                ok = select((draws.uniform() * qx).lt(px), 1, 0);
                id = x;
                if ok == 0 {
                    let residual = |k: Index| {
                        let q = draft_probs.tile((row, i, k), [1, 1, WIDTH]).load();
                        p(i)(k) - q.reshape([WIDTH])
                    };
                    id = draw_from(residual, vocab, &draws);
                    if id < 0 {
                        id = draw_from(p(i), vocab, &draws);
                    }
                }
            }
            alive = ok;
            accepted += ok.cast::<I64>();
        }
        ids.set((row, i), id);
    }
    let mut id = konst::<I32>(-1);
    if alive == 1 {
        if greedy {
            id = most_likely(p(draft_len), vocab);
        } else {
            id = draw_from(p(draft_len), vocab, &draws_at(draft_len));
        }
    }
    ids.set((row, draft_len), id);
    num_accepted.set((row,), accepted.cast::<I32>());
}
