//! Quantisers with a scale per row.
//!
//! One program a row, two passes: the greatest magnitude, then the codes. A row fits a near cache,
//! so memory is read once.

use crate::common::quantise::{f8_codes, finite_or_zero, has_nan, i8_codes, scale_of};
use tilewright_dsl::prelude::*;

/// The row's scale for codes up to `limit`, `[1]`.
#[kernel]
fn row_scale<X: Float>(x: View<X, 2>, row: Index, limit: f32, block_k: usize) -> Tile<F32> {
    let mut amax = zeros::<F32>([1, block_k]);
    for k in range(0, x.dim(1), block_k) {
        let t = x.tile((row, k), [1, block_k]).load().cast::<F32>();
        amax = amax.max(finite_or_zero(t).abs());
    }
    scale_of(amax.max_axis(1), limit)
}

/// int8: codes, scale, scaled sum of codes, and whether the row held a NaN.
#[kernel]
pub(super) fn i8_token<X: Float>(
    x: View<X, 2>,
    q: ViewMut<I8, 2>,
    scale: ViewMut<F32, 1>,
    sum: ViewMut<F32, 1>,
    status: ViewMut<I32, 1>,
    block_k: usize,
) {
    let row = program_id(0);
    let s = row_scale(x, row, 127.0, block_k);
    let mut invalid = konst::<I32>(0);
    let mut total = zeros::<I32>([1]);
    for k in range(0, x.dim(1), block_k) {
        let t = x.tile((row, k), [1, block_k]).load().cast::<F32>();
        let codes = i8_codes(t, s);
        q.tile((row, k), [1, block_k]).store(codes);
        total += codes.cast::<I32>().sum(1);
        invalid |= has_nan(t);
    }
    scale.tile((row,), [1]).store(s);
    sum.tile((row,), [1]).store(total.cast::<F32>() * s);
    status.set((row,), invalid);
}

/// e4m3: codes and scale.
#[kernel]
pub(super) fn f8_token<X: Float>(
    x: View<X, 2>,
    q: ViewMut<F8E4M3, 2>,
    scale: ViewMut<F32, 1>,
    block_k: usize,
) {
    let row = program_id(0);
    let s = row_scale(x, row, 448.0, block_k);
    for k in range(0, x.dim(1), block_k) {
        let t = x.tile((row, k), [1, block_k]).load().cast::<F32>();
        q.tile((row, k), [1, block_k]).store(f8_codes(t, s));
    }
    scale.tile((row,), [1]).store(s);
}

/// `x = scale · code`, a scale per row.
#[kernel]
pub(super) fn dequant_token<Q: Number, X: Float>(
    q: View<Q, 2>,
    scale: View<F32, 1>,
    x: ViewMut<X, 2>,
    block_k: usize,
) {
    let row = program_id(0);
    let s = scale.get((row,));
    for k in range(0, q.dim(1), block_k) {
        let t = q.tile((row, k), [1, block_k]).load().cast::<F32>() * s;
        x.tile((row, k), [1, block_k]).store(t.cast::<X>());
    }
}

/// `x = scale · code`, a scale per group.
#[kernel]
pub(super) fn dequant_group<Q: Number, X: Float>(
    q: View<Q, 2>,
    scale: View<F32, 2>,
    x: ViewMut<X, 2>,
    len: usize,
) {
    let row = program_id(0);
    for k in range(0, q.dim(1), len) {
        let s = scale.get((row, k / len));
        let t = q.tile((row, k), [1, len]).load().cast::<F32>() * s;
        x.tile((row, k), [1, len]).store(t.cast::<X>());
    }
}
