//! Quantisers with a scale per group of a row's neighbours.
//!
//! One program a row; per trip one group is read, reduced to its scale and written: one pass, every
//! element read once. Traffic: the row in, a quarter of it (of f32) and the scales out.

use crate::common::quantise::{f8_codes, group_scale, has_nan, quantise_i8, scaled_sum};
use tilewright_dsl::prelude::*;

/// int8: codes, scales, scaled sums of codes, and per row whether it held a NaN.
#[kernel]
pub(super) fn i8_group<X: Float>(
    x: View<X, 2>,
    q: ViewMut<I8, 2>,
    scale: ViewMut<F32, 2>,
    sum: ViewMut<F32, 2>,
    status: ViewMut<I32, 1>,
    len: usize,
) {
    let row = program_id(0);
    let mut invalid = konst::<I32>(0);
    for k in range(0, x.dim(1), len) {
        let t = x.tile((row, k), [1, len]).load().cast::<F32>();
        let group = quantise_i8(t);
        q.tile((row, k), [1, len]).store(group.codes);
        scale.tile((row, k / len), [1, 1]).inside().store(group.scale);
        sum.tile((row, k / len), [1, 1]).inside().store(scaled_sum(group));
        invalid |= has_nan(t);
    }
    status.set((row,), invalid);
}

/// e4m3: codes and scales.
#[kernel]
pub(super) fn f8_group<X: Float>(
    x: View<X, 2>,
    q: ViewMut<F8E4M3, 2>,
    scale: ViewMut<F32, 2>,
    len: usize,
) {
    let row = program_id(0);
    for k in range(0, x.dim(1), len) {
        let t = x.tile((row, k), [1, len]).load().cast::<F32>();
        let s = group_scale(t, 448.0);
        q.tile((row, k), [1, len]).store(f8_codes(t, s));
        scale.tile((row, k / len), [1, 1]).inside().store(s);
    }
}
