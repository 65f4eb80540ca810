//! LayerNorm.
//!
//! One program a row, read three times (twice from cache): mean, variance about the mean, result.

use super::space::Norm;
use tilewright_dsl::prelude::*;

/// out = (x − mean) / sqrt(var + eps) · weight + bias.
#[kernel]
pub fn layernorm<X: Float, W: Float, O: Float>(
    x: View<X, 2>,
    weight: View<W, 1>,
    bias: View<W, 1>,
    out: ViewMut<O, 2>,
    eps: Scalar<F32>,
    v: &Norm,
) {
    let row = program_id(0);
    let n = x.dim(1);
    let count = n.cast::<F32>();
    let at = |k: Index| x.tile((row, k), [1, v.block]).load().reshape([v.block]).cast::<F32>();
    let mut sum = zeros::<F32>([v.block]);
    for k in range(0, n, v.block) {
        sum += at(k);
    }
    let mean = sum.sum_all() / count;
    let mut squares = zeros::<F32>([v.block]);
    for k in range(0, n, v.block) {
        // Positions past the row read 0 and must not count as 0 − mean.
        let inside = (iota::<I64>(v.block) + k).lt(n);
        let d = select(inside, at(k) - mean, 0.0);
        squares = fma(d, d, squares);
    }
    let r = (squares.sum_all() / count + eps).rsqrt();
    for k in range(0, n, v.block) {
        let w = weight.tile((k,), [v.block]).load().cast::<F32>(); // [block]
        let b = bias.tile((k,), [v.block]).load().cast::<F32>();
        out.tile((row, k), [1, v.block]).store(fma((at(k) - mean) * r, w, b).cast::<O>());
    }
}
