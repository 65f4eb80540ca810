//! The end of a sample: candidates, cut and draw of the rows with filters; the best of the chunks for
//! the rows without.

use super::best::{Best, Draws, temper};
use super::candidates::{Candidates, Cut, cut_k, cut_min, cut_p, list, survivors};
use super::row_plan::{ALL, BOUND, DONE, FLOOR, HIGHEST, LISTED, LISTED_BY_MASS, Params};
use super::scan::{BLOCK, piece_of};
use super::sweep::{ChunksIn, LEVELS};
use tilewright_dsl::prelude::*;

/// Candidates whose noise is drawn at once.
const WIDTH: usize = 16;

/// What a row's filters leave.
#[kernel]
fn filtered<X: Float>(
    logits: View<X, 2>,
    block_max: View<F32, 2>,
    params: Params,
    mode: Scalar<I32>,
    state: View<F32, 2>,
    chunks: ChunksIn,
    value: ViewMut<F32, 2>,
    token: ViewMut<I32, 2>,
    weight: ViewMut<F32, 2>,
) -> (Candidates, Cut) {
    let row = program_id(0);
    let vocab = logits.dim(1).cast::<I32>();
    let temperature = params.temperature.get((row,));
    let (top_k, top_p) = (params.top_k.get((row,)), params.top_p.get((row,)));
    let highest = state.get((row, HIGHEST));
    let mut bound = state.get((row, BOUND));
    let mut whole = konst::<F64>(0.0);
    if mode == LISTED_BY_MASS {
        let mut mass = zeros::<F64>([BLOCK]);
        for c in range(0, chunks.mass.dim(1), BLOCK) {
            mass += chunks.mass.tile((row, c), [1, BLOCK]).load().reshape([BLOCK]);
        }
        whole = mass.sum_all();
        // The nearest level that surely holds enough; its mass is approximate to 1e-5.
        let target = (top_p.cast::<F64>() * whole).cast::<F32>() * 1.0001;
        for (i, level) in LEVELS.iter().enumerate().rev() {
            let mut held = konst::<F32>(0.0);
            for c in range(0, chunks.levels.dim(1), 1) {
                held += chunks.levels.get((row, c, i));
            }
            bound = select(held.gt(target), highest - *level, bound);
        }
    }
    let len = list(logits, block_max, value, token, row, Some(temperature), bound);
    let list = Candidates { value, token, weight, row, len, highest };
    let mut cut = cut_min(&list, state.get((row, FLOOR)));
    if top_k > 0 && top_k < vocab {
        cut = cut_k(&list, cut, top_k);
    }
    if mode == LISTED_BY_MASS {
        cut = cut_p(&list, cut, top_p, Some(whole));
    } else if top_p < 1.0 {
        cut = cut_p(&list, cut, top_p, None);
    }
    (list, cut)
}

/// ids[row] of the rows that `row_plan` left open.
#[kernel]
pub(super) fn draw<X: Float>(
    logits: View<X, 2>,
    block_max: View<F32, 2>,
    params: Params,
    seed: View<U64, 1>,
    offset: View<U64, 1>,
    modes: View<I32, 1>,
    state: View<F32, 2>,
    chunks: ChunksIn,
    value: ViewMut<F32, 2>,
    token: ViewMut<I32, 2>,
    weight: ViewMut<F32, 2>,
    ids: ViewMut<I32, 1>,
) {
    let row = program_id(0);
    let mode = modes.get((row,));
    if mode == ALL {
        let mut best = konst::<F32>(f32::NEG_INFINITY);
        let mut chunk = konst::<I64>(0);
        for c in range(0, chunks.score.dim(1), BLOCK) {
            let scores = chunks.score.tile((row, c), [1, BLOCK]).load_or(f32::NEG_INFINITY);
            let (score, at) = scores.reshape([BLOCK]).argmax_all();
            let better = score.gt(best);
            best = select(better, score, best);
            chunk = select(better, c + at.cast::<I64>(), chunk);
        }
        ids.set((row,), chunks.token.get((row, chunk)));
    }
    if mode >= LISTED {
        let (list, cut) =
            filtered(logits, block_max, params, mode, state, chunks, value, token, weight);
        let draws = Draws::new(seed.get((row,)), offset.get((row,)));
        let mut best = Best::none(WIDTH);
        let mut tied = konst::<I32>(0);
        for k in range(0, list.len, WIDTH) {
            let (y, kept, now) = survivors(&list, cut, k, WIDTH, tied);
            tied = now;
            if kept.any_all() {
                let token = list.tokens(k, WIDTH);
                let score = select(kept, y + draws.noise(token), f32::NEG_INFINITY);
                best.offer(score, token);
            }
        }
        ids.set((row,), best.token());
    }
}

/// out[row, :] of `sampler.filter`: the survivors' tempered logits, −inf elsewhere.
#[kernel]
pub(super) fn mask<X: Float>(
    logits: View<X, 2>,
    block_max: View<F32, 2>,
    params: Params,
    modes: View<I32, 1>,
    state: View<F32, 2>,
    chunks: ChunksIn,
    value: ViewMut<F32, 2>,
    token: ViewMut<I32, 2>,
    weight: ViewMut<F32, 2>,
    ids: View<I32, 1>,
    out: ViewMut<F32, 2>,
) {
    let row = program_id(0);
    let mode = modes.get((row,));
    let temperature = params.temperature.get((row,));
    if mode == ALL {
        for k in range(0, out.dim(1), BLOCK) {
            let y = temper(piece_of(logits, row, k, BLOCK), temperature);
            out.tile((row, k), [1, BLOCK]).store(y);
        }
    } else {
        for k in range(0, out.dim(1), BLOCK) {
            out.tile((row, k), [1, BLOCK]).store(f32::NEG_INFINITY);
        }
    }
    if mode == DONE {
        // A greedy row keeps its token; a row without a status of Ok has none.
        let id = ids.get((row,)).cast::<I64>();
        let own = logits.get((row, id)).cast::<F32>();
        let finite = select(own.eq(f32::INFINITY), 0.0, own);
        if id >= 0 {
            out.set((row, id), finite);
        }
    }
    if mode >= LISTED {
        let (list, cut) =
            filtered(logits, block_max, params, mode, state, chunks, value, token, weight);
        let mut tied = konst::<I32>(0);
        for k in range(0, list.len, WIDTH) {
            let (y, kept, now) = survivors(&list, cut, k, WIDTH, tied);
            tied = now;
            let at = select(kept, list.tokens(k, WIDTH), -1).reshape([1, WIDTH]);
            out.gather((row, at), [1, WIDTH]).store(y);
        }
    }
}
