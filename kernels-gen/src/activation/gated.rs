//! Gated activations: out = act(gate) · up.
//!
//! One program a span of one token's row. All math is f32, rounded once. Traffic: two reads and one
//! write of the row.

use super::space::{Gate, Kind};
use tilewright_dsl::prelude::*;

fn sigmoid(x: Tile<F32>) -> Tile<F32> {
    ((-x).exp() + 1.0).recip()
}

/// `act(g) · u`, with the scalars of [`Kind::scalars`].
pub fn gate(kind: Kind, g: Tile<F32>, u: Tile<F32>, scalars: &[Scalar<F32>]) -> Tile<F32> {
    match (kind, scalars) {
        (Kind::Gelu, _) => g * 0.5 * ((g * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0) * u,
        (Kind::GeluTanh, _) => {
            let inner = (g + g * g * g * 0.044715) * (2.0 / std::f64::consts::PI).sqrt();
            g * 0.5 * (inner.tanh() + 1.0) * u
        }
        (Kind::Swiglu | Kind::SwigluInterleaved, &[alpha, beta, limit]) => {
            let (g, u) = (g.min(limit), u.max(-limit).min(limit));
            g * sigmoid(g * alpha) * (u + beta)
        }
        (Kind::Situ, &[beta, linear_beta]) => {
            let bounded = (u / linear_beta).tanh() * linear_beta;
            let u = select(linear_beta.gt(0.0).splat(u.shape()), bounded, u);
            (g / beta).tanh() * beta * sigmoid(g) * u
        }
        _ => g * sigmoid(g) * u,
    }
}

/// One span of a token's row.
#[kernel]
pub fn gated<X: Float>(
    x: View<X, 2>,
    out: ViewMut<X, 2>,
    scalars: &[Scalar<F32>],
    kind: Kind,
    v: &Gate,
) {
    let (span, token) = (program_id(0), program_id(1));
    let inter = out.dim(1);
    let first = span * v.span;
    for k in range(first, inter.min(first + v.span), v.block) {
        let y = if kind == Kind::SwigluInterleaved {
            let pairs = x.tile((token, k * 2), [1, 2 * v.block]).load().cast::<F32>();
            let (g, u) = pairs.reshape([v.block, 2]).split(); // [block]
            gate(kind, g, u, scalars)
        } else {
            let g = x.tile((token, k), [1, v.block]).load().cast::<F32>();
            let u = x.tile((token, inter + k), [1, v.block]).load().cast::<F32>();
            gate(kind, g.reshape([v.block]), u.reshape([v.block]), scalars)
        };
        out.tile((token, k), [1, v.block]).store(y.cast::<X>());
    }
}
