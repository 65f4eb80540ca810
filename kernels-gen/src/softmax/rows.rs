//! Softmax and log-softmax of rows: one program a row.
//!
//! Three walks over the row, two of them from cache: maximum, sum of exponentials, result. A maximum of
//! −inf counts as 0, so that a row of −inf alone has the sum 0 and no NaN appears.

use super::space::Softmax;
use tilewright_dsl::prelude::*;

/// (maximum, or 0 where that is −inf; sum of exp(x − maximum)) of a row.
#[kernel]
fn statistics<X: Float>(x: View<X, 2>, row: Index, v: &Softmax) -> (Scalar<F32>, Scalar<F32>) {
    let n = x.dim(1);
    let at = |k: Index| {
        let tile = x.tile((row, k), [1, v.block]).load_or(f32::NEG_INFINITY);
        tile.reshape([v.block]).cast::<F32>()
    };
    let mut highest = full::<F32>([v.block], f32::NEG_INFINITY);
    for k in range(0, n, v.block) {
        highest = highest.max(at(k));
    }
    let m = highest.max_all();
    let base = select(m.eq(f32::NEG_INFINITY), 0.0, m);
    let mut sum = zeros::<F32>([v.block]);
    for k in range(0, n, v.block) {
        sum += (at(k) - base).exp();
    }
    (base, sum.sum_all())
}

/// out = exp(x − max) / sum; zeros for a row of −inf.
#[kernel]
pub fn softmax<X: Float, O: Float>(x: View<X, 2>, out: ViewMut<O, 2>, v: &Softmax) {
    let row = program_id(0);
    let (base, sum) = statistics(x, row, v);
    let factor = select(sum.eq(0.0), 0.0, 1.0 / sum);
    for k in range(0, x.dim(1), v.block) {
        let t = x.tile((row, k), [1, v.block]).load().cast::<F32>();
        out.tile((row, k), [1, v.block]).store(((t - base).exp() * factor).cast::<O>());
    }
}

/// lse = max + ln(sum), out = x − lse; −inf stays −inf.
#[kernel]
pub fn log_softmax<X: Float, O: Float>(
    x: View<X, 2>,
    out: ViewMut<O, 2>,
    lse: ViewMut<F32, 1>,
    v: &Softmax,
) {
    let row = program_id(0);
    let (base, sum) = statistics(x, row, v);
    let log = base + sum.ln();
    for k in range(0, x.dim(1), v.block) {
        let t = x.tile((row, k), [1, v.block]).load().cast::<F32>();
        let y = select(t.eq(f32::NEG_INFINITY), f32::NEG_INFINITY, t - log);
        out.tile((row, k), [1, v.block]).store(y.cast::<O>());
    }
    lse.set((row,), log);
}
