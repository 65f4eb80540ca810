//! Applies the rotation to q and k.
//!
//! One program a token: its row of the table stays in registers or cache over all heads. Each head is
//! read and written once; a pair is read whole before it is written, so the output may be the input.

use super::space::{Rope, Style};
use tilewright_dsl::prelude::*;

/// Rotates the heads of one token of `x` into `out`.
#[kernel]
fn rotate_heads<X: Float>(
    token: Index,
    position: Index,
    cos_sin: View<F32, 2>,
    x: View<X, 3>,
    out: ViewMut<X, 3>,
    style: Style,
    v: &Rope,
) {
    let rotary_dim = cos_sin.dim(1);
    let half = rotary_dim / 2;
    for start in range(0, half, v.block) {
        let c = cos_sin.tile((position, start), [1, v.block]).load().reshape([v.block]);
        let s = cos_sin.tile((position, half + start), [1, v.block]).load().reshape([v.block]);
        for head in range(0, x.dim(1), 1) {
            if style == Style::Half {
                let shape = [1, 1, v.block];
                let low = x.tile((token, head, start), shape).limit(2, half);
                let high = x.tile((token, head, half + start), shape).limit(2, rotary_dim);
                let a = low.load().reshape([v.block]).cast::<F32>(); // [block]
                let b = high.load().reshape([v.block]).cast::<F32>();
                let (ra, rb) = (a * c - b * s, b * c + a * s);
                out.tile((token, head, start), shape).limit(2, half).store(ra.cast::<X>());
                let high = out.tile((token, head, half + start), shape).limit(2, rotary_dim);
                high.store(rb.cast::<X>());
            } else {
                let shape = [1, 1, 2 * v.block];
                let pairs = x.tile((token, head, start * 2), shape).limit(2, rotary_dim);
                let (a, b) = pairs.load().cast::<F32>().reshape([v.block, 2]).split(); // [block]
                let both = join(a * c - b * s, b * c + a * s).reshape([2 * v.block]);
                let pairs = out.tile((token, head, start * 2), shape).limit(2, rotary_dim);
                pairs.store(both.cast::<X>());
            }
        }
    }
    for start in range(rotary_dim, x.dim(2), v.block) {
        for head in range(0, x.dim(1), 1) {
            let rest = x.tile((token, head, start), [1, 1, v.block]).load();
            out.tile((token, head, start), [1, 1, v.block]).store(rest);
        }
    }
}

/// Rotates q into q_out and k into k_out by each token's position.
#[kernel]
pub fn apply<X: Float>(
    positions: View<I32, 1>,
    cos_sin: View<F32, 2>,
    q: View<X, 3>,
    k: View<X, 3>,
    q_out: ViewMut<X, 3>,
    k_out: ViewMut<X, 3>,
    style: Style,
    v: &Rope,
) {
    let token = program_id(0);
    let position = positions.get((token,)).cast::<I64>();
    rotate_heads(token, position, cos_sin, q, q_out, style, v);
    rotate_heads(token, position, cos_sin, k, k_out, style, v);
}
