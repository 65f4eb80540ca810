//! RMSNorm: plain, with the residual addition, and by head.
//!
//! One program a row. The row is read twice, the second time from cache: once for the sum of squares
//! in f32, once to scale and store. A sum that overflows (or meets a NaN) is taken again over
//! `x · 2^-80`, where no finite row overflows; eps is then below the sum's precision.
//! Traffic: one read and one write of the row (and of the residual), the weight from cache.

use super::space::Norm;
use tilewright_dsl::prelude::*;

/// 2^-80.
const TINY: f32 = f32::from_bits((127 - 80) << 23);

/// What a row is multiplied with: `x · pre · post`.
#[derive(Clone, Copy, Carry)]
struct RowScale {
    pre: Scalar<F32>,
    post: Scalar<F32>,
}

/// 1 / sqrt(mean(x²) + eps) of the row of `n` elements that `at(k)` reads from element k on, given
/// the plain sum of its squares.
#[kernel]
fn row_scale(
    sum: Scalar<F32>,
    at: impl Fn(Index) -> Tile<F32>,
    n: Index,
    eps: Scalar<F32>,
    v: &Norm,
) -> RowScale {
    let count = n.cast::<F32>();
    let mut scale = RowScale { pre: konst::<F32>(1.0), post: (sum / count + eps).rsqrt() };
    if !(sum <= f32::MAX) {
        let mut acc = zeros::<F32>([v.block]);
        for k in range(0, n, v.block) {
            let t = at(k) * TINY;
            acc = fma(t, t, acc);
        }
        scale = RowScale { pre: konst::<F32>(TINY), post: (acc.sum_all() / count).rsqrt() };
    }
    scale
}

/// The scale of a row that is already in memory.
#[kernel]
fn scale_of_row(at: impl Fn(Index) -> Tile<F32>, n: Index, eps: Scalar<F32>, v: &Norm) -> RowScale {
    let mut acc = zeros::<F32>([v.block]);
    for k in range(0, n, v.block) {
        let t = at(k);
        acc = fma(t, t, acc);
    }
    row_scale(acc.sum_all(), at, n, eps, v)
}

/// out = x / rms(x) · (weight + weight_offset), a program a row.
#[kernel]
pub fn rmsnorm<X: Float, W: Float, O: Float>(
    x: View<X, 2>,
    weight: View<W, 1>,
    out: ViewMut<O, 2>,
    eps: Scalar<F32>,
    weight_offset: Scalar<F32>,
    v: &Norm,
) {
    let row = program_id(0);
    let n = x.dim(1);
    let at = |k: Index| x.tile((row, k), [1, v.block]).load().reshape([v.block]).cast::<F32>();
    let scale = scale_of_row(at, n, eps, v);
    for k in range(0, n, v.block) {
        let w = weight.tile((k,), [v.block]).load().cast::<F32>() + weight_offset; // [block]
        let y = at(k) * scale.pre * scale.post * w;
        out.tile((row, k), [1, v.block]).store(y.cast::<O>());
    }
}

/// residual = round(x + residual), then [`rmsnorm`] of it, a program a row.
#[kernel]
pub fn add_rmsnorm<X: Float, W: Float, O: Float>(
    x: View<X, 2>,
    residual: ViewMut<X, 2>,
    weight: View<W, 1>,
    out: ViewMut<O, 2>,
    eps: Scalar<F32>,
    weight_offset: Scalar<F32>,
    v: &Norm,
) {
    let row = program_id(0);
    let n = x.dim(1);
    let shape = [1, v.block];
    let mut acc = zeros::<F32>([v.block]);
    for k in range(0, n, v.block) {
        let old = residual.tile((row, k), shape).load().reshape([v.block]).cast::<F32>();
        let new = x.tile((row, k), shape).load().reshape([v.block]).cast::<F32>() + old;
        let rounded = new.cast::<X>(); // [block]
        residual.tile((row, k), shape).store(rounded);
        let t = rounded.cast::<F32>();
        acc = fma(t, t, acc);
    }
    let at = |k: Index| residual.tile((row, k), shape).load().reshape([v.block]).cast::<F32>();
    let scale = row_scale(acc.sum_all(), at, n, eps, v);
    for k in range(0, n, v.block) {
        let w = weight.tile((k,), [v.block]).load().cast::<F32>() + weight_offset; // [block]
        let y = at(k) * scale.pre * scale.post * w;
        out.tile((row, k), shape).store(y.cast::<O>());
    }
}

/// [`rmsnorm`] of each head of a token, a program a token.
#[kernel]
pub fn qk_norm<X: Float, W: Float, O: Float>(
    x: View<X, 3>,
    weight: View<W, 1>,
    out: ViewMut<O, 3>,
    eps: Scalar<F32>,
    weight_offset: Scalar<F32>,
    v: &Norm,
) {
    let token = program_id(0);
    let n = x.dim(2);
    let shape = [1, 1, v.block];
    for head in range(0, x.dim(1), 1) {
        let at = |k: Index| x.tile((token, head, k), shape).load().reshape([v.block]).cast::<F32>();
        let scale = scale_of_row(at, n, eps, v);
        for k in range(0, n, v.block) {
            let w = weight.tile((k,), [v.block]).load().cast::<F32>() + weight_offset; // [block]
            let y = at(k) * scale.pre * scale.post * w;
            out.tile((token, head, k), shape).store(y.cast::<O>());
        }
    }
}
