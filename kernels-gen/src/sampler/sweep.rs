//! The reading of the whole row that some rows need: the draw over the whole vocabulary, or its mass.
//!
//! Blocks whose maximum cannot matter are not read: noise is at most 16.7, so a block that far below
//! the best score so far cannot win; and a token 24.3 below the largest logit weighs nothing on the
//! mass grid, exactly.

use super::best::{Best, Draws, temper, temper_one};
use super::row_plan::{ALL, HIGHEST, LISTED_BY_MASS};
use super::scan::{BLOCK, CHUNK, piece_of};
use crate::common::exact_math::{MAX_NOISE, exp, on_grid};
use tilewright_dsl::prelude::*;

/// Elements handled at once: the noise and the masses want their temporaries in registers.
const WIDTH: usize = 16;
/// Below this distance from the largest logit the mass is exactly 0 (2^-35 rounds to 0).
const MASSLESS: f32 = -24.3;
/// Distances at which the mass so far is noted; they only choose which tokens become candidates.
pub(super) const LEVELS: [f32; 8] = [0.5, 1.0, 2.0, 3.0, 4.5, 6.5, 9.0, 13.0];

/// What the chunks of a row report.
#[derive(Clone, Copy)]
pub(super) struct Chunks<V, I, M, L> {
    /// `[batch, chunks]`: best score.
    pub(super) score: V,
    /// `[batch, chunks]`: its token.
    pub(super) token: I,
    /// `[batch, chunks]`: mass on the grid.
    pub(super) mass: M,
    /// `[batch, chunks, 8]`: approximate mass within each of [`LEVELS`].
    pub(super) levels: L,
}

/// [`Chunks`] to be written.
pub(super) type ChunksOut =
    Chunks<ViewMut<F32, 2>, ViewMut<I32, 2>, ViewMut<F64, 2>, ViewMut<F32, 3>>;
/// [`Chunks`] to be read.
pub(super) type ChunksIn = Chunks<View<F32, 2>, View<I32, 2>, View<F64, 2>, View<F32, 3>>;

/// One chunk of one row.
#[kernel]
pub(super) fn sweep<X: Float>(
    logits: View<X, 2>,
    block_max: View<F32, 2>,
    temperature: View<F32, 1>,
    seed: Option<(View<U64, 1>, View<U64, 1>)>,
    modes: View<I32, 1>,
    state: View<F32, 2>,
    chunks: ChunksOut,
) {
    let (chunk, row) = (program_id(0), program_id(1));
    let first = chunk * (CHUNK / BLOCK);
    let end = block_max.dim(1).min(first + CHUNK / BLOCK);
    let temperature = temperature.get((row,));
    let mode = modes.get((row,));
    if let Some((seed, offset)) = seed {
        if mode == ALL {
            let draws = Draws::new(seed.get((row,)), offset.get((row,)));
            let mut best = Best::none(WIDTH);
            for b in range(first, end, 1) {
                let reach = temper_one(block_max.get((row, b)), temperature) + MAX_NOISE;
                if reach > best.score() {
                    for k in range(b * BLOCK, (b + 1) * BLOCK, WIDTH) {
                        let y = temper(piece_of(logits, row, k, WIDTH), temperature); // [WIDTH]
                        let token = iota::<I32>(WIDTH) + k.cast::<I32>();
                        best.offer(y + draws.noise(token), token);
                    }
                }
            }
            chunks.score.set((row, chunk), best.score());
            chunks.token.set((row, chunk), best.token());
        }
    }
    if mode == LISTED_BY_MASS {
        let highest = state.get((row, HIGHEST));
        let mut mass = zeros::<F64>([WIDTH]);
        let mut levels = [zeros::<F32>([WIDTH]); LEVELS.len()];
        for b in range(first, end, 1) {
            let reach = temper_one(block_max.get((row, b)), temperature) - highest;
            if reach >= MASSLESS {
                for k in range(b * BLOCK, (b + 1) * BLOCK, WIDTH) {
                    let d = temper(piece_of(logits, row, k, WIDTH), temperature) - highest;
                    let e = exp(d); // [WIDTH]
                    mass += on_grid(e);
                    for (level, sum) in LEVELS.iter().zip(levels.iter_mut()) {
                        *sum += select(d.ge(-*level), e, 0.0);
                    }
                }
            }
        }
        chunks.mass.set((row, chunk), mass.sum_all());
        for (i, sum) in levels.iter().enumerate() {
            chunks.levels.set((row, chunk, i), sum.sum_all());
        }
    }
}
