//! `c = a · wᵀ` of int8 codes: one scale per row of `a`, one per column of `w`, exact i32 sums.
//!
//! Programs and register tile as in `dense`, with dot products of four neighbouring `k`; the scales
//! multiply once at the end. Sums wrap past `k` = 2^17, where 127² products can no longer fit an i32.
//! Traffic: one byte a weight per chunk of rows.

use super::rows::Rows;
use crate::common::format::PANEL_N;
use tilewright_dsl::prelude::*;

/// Elements of `k` per trip of the main loop, and of the loop over the rest.
const BLOCK_K: usize = 32;
const REST_K: usize = 8;

fn panel(b: View<I8, 2>, p: Index, k: Index, len: usize) -> Tile<I8> {
    let t = b.tile((p, k * PANEL_N), [1, len * PANEL_N]).inside().load();
    t.reshape([len / 4, PANEL_N, 4]).permute([0, 2, 1]).reshape([len, PANEL_N])
}

/// Sums of one register tile; panels are padded to a multiple of 8.
#[kernel]
pub(crate) fn channel_tile(
    a: View<I8, 2>,
    scale_a: View<F32, 1>,
    b: View<I8, 2>,
    scale_b: View<F32, 1>,
    rows: Rows,
    p: Index,
) -> Tile<F32> {
    let k_end = a.dim(1);
    let shape = [rows.block_m, PANEL_N];
    let whole = k_end / BLOCK_K * BLOCK_K;
    let mut dot = zeros::<I32>(shape);
    for k in range(0, whole, BLOCK_K) {
        dot = mma(rows.load(a, k, BLOCK_K), panel(b, p, k, BLOCK_K), dot);
    }
    for k in range(whole, k_end, REST_K) {
        dot = mma(rows.load_masked(a, k, REST_K), panel(b, p, k, REST_K), dot);
    }
    let row = rows.load_one(scale_a).along(0, shape);
    let column = scale_b.tile((p * PANEL_N,), [PANEL_N]).load().along(1, shape);
    dot.cast::<F32>() * row * column
}
