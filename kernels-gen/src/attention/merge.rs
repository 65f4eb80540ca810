//! Joins attention states: the end of split decode, and of any other cut of the keys.
//!
//! One program a head of a row. Weights are exp(lse − max); an empty state is skipped, so whatever its
//! value holds is never read. Sums run over the states in order.

use tilewright_dsl::prelude::*;

/// Joins `v[row, s, head, :]` over s. the head is walked in pieces of `block`.
#[kernel]
pub fn merge_states<I: Float, O: Float>(
    values: View<I, 4>,
    lse_in: View<F32, 3>,
    sinks: Option<View<F32, 1>>,
    out: ViewMut<O, 3>,
    lse: ViewMut<F32, 2>,
    block: usize,
) {
    let (head, row) = (program_id(0), program_id(1));
    let num_states = lse_in.dim(1);
    let head_dim = out.dim(2);
    // NaN and +inf count as −inf: the comparison is false for both.
    let lse_of = |s: Index| {
        let x = lse_in.get((row, s, head));
        select(x.lt(f32::INFINITY), x, f32::NEG_INFINITY)
    };
    let mut m = konst::<F32>(f32::NEG_INFINITY);
    for s in range(0, num_states, 1) {
        m = m.max(lse_of(s));
    }
    let base = select(m.eq(f32::NEG_INFINITY), 0.0, m);
    let mut l = konst::<F32>(0.0);
    for s in range(0, num_states, 1) {
        l += (lse_of(s) - base).exp();
    }
    let mut denominator = l;
    if let Some(sinks) = sinks {
        denominator = l + (sinks.get((head,)) - base).exp();
    }
    let factor = select(l.eq(0.0), 0.0, 1.0 / denominator);
    for d in range(0, head_dim, block) {
        let mut acc = zeros::<F32>([block]);
        for s in range(0, num_states, 1) {
            let w = (lse_of(s) - base).exp();
            if w > 0.0 {
                let x = values.tile((row, s, head, d), [1, 1, 1, block]).load();
                acc = fma(x.reshape([block]).cast::<F32>(), w, acc);
            }
        }
        out.tile((row, head, d), [1, 1, block]).store((acc * factor).cast::<O>());
    }
    lse.set((row, head), select(l.eq(0.0), f32::NEG_INFINITY, base + l.ln()));
}
