//! The table of cosines and sines.
//!
//! One program a position. Frequencies and angles are f64: `theta^(-2i/d)` as a power of two by a
//! Taylor series, the angle reduced by 2π, and only the rest handed to f32 sin and cos.
//! So the error does not grow with the position. Built once a model; speed does not matter.

use super::space::{Rope, Scaling};
use std::f64::consts::{LN_2, TAU};
use tilewright_dsl::prelude::*;

/// The scalars that the scaling rules read; see the spec.
#[derive(Clone, Copy)]
pub struct Parameters {
    /// Base of the frequencies.
    pub theta: Scalar<F32>,
    /// Stretch.
    pub factor: Scalar<F32>,
    /// llama3: turns below which a frequency is stretched whole.
    pub low_freq_factor: Scalar<F32>,
    /// llama3: turns above which it is kept.
    pub high_freq_factor: Scalar<F32>,
    /// Context length of training.
    pub original_max_position: Scalar<F32>,
    /// yarn: turns above which a frequency is kept.
    pub beta_fast: Scalar<F32>,
    /// yarn: turns below which it is stretched whole.
    pub beta_slow: Scalar<F32>,
    /// Multiplies cosines and sines.
    pub attention_factor: Scalar<F32>,
}

/// 2^x, within a few units of 1e-16, for |x| < 1000.
fn exp2(x: Tile<F64>) -> Tile<F64> {
    let n = x.round();
    let r = (x - n) * LN_2;
    let mut sum = zeros::<F64>(x.shape()) + 1.0;
    for k in (1..=15).rev() {
        sum = fma(sum * r, 1.0 / f64::from(k), 1.0);
    }
    sum * ((n.cast::<I64>() + 1023) << 52).bitcast::<F64>()
}

/// Base-2 logarithm of a positive f32: the f32 result improved by one Newton step.
fn log2(x: Scalar<F32>) -> Tile<F64> {
    let guess = x.log2().cast::<F64>().splat([1]);
    let exact = x.cast::<F64>().splat([1]);
    guess + (exact * exp2(-guess) - 1.0) * (1.0 / LN_2)
}

/// The frequencies of pairs `i` (an index tile) of `rotary_dim / 2`.
fn frequencies(
    i: Tile<F64>,
    rotary_dim: Index,
    divisors: Option<Tile<F32>>,
    p: &Parameters,
    scaling: Scaling,
) -> Tile<F64> {
    let shape = i.shape();
    let wide = |s: Scalar<F32>| s.cast::<F64>().splat(&shape);
    let dim = rotary_dim.cast::<F64>().splat(&shape);
    let log_theta = log2(p.theta).broadcast(&shape);
    let f = exp2(-(i * 2.0 / dim) * log_theta);
    let stretched = f / wide(p.factor);
    let original = wide(p.original_max_position);
    match scaling {
        Scaling::None => f,
        Scaling::Linear => stretched,
        Scaling::Divisors => divisors.map_or(f, |d| f / d.cast::<F64>()),
        Scaling::Llama3 => {
            let (low, high) = (wide(p.low_freq_factor), wide(p.high_freq_factor));
            let turns = original * f * (1.0 / TAU);
            let smooth = ((turns - low) / (high - low)).max(0.0).min(1.0);
            (1.0 - smooth) * stretched + smooth * f
        }
        Scaling::Yarn => {
            // The pair whose wavelength makes `beta` turns in the original context.
            let pair_of = |beta: Scalar<F32>| {
                let turns = (p.original_max_position / (beta * TAU)).max(f32::MIN_POSITIVE);
                dim * log2(turns).broadcast(&shape) / (2.0 * log_theta)
            };
            let low = pair_of(p.beta_fast).floor().max(0.0);
            let high = pair_of(p.beta_slow).ceil().min(dim - 1.0);
            let high = select(high.eq(low), low + 0.001, high);
            let ramp = ((i - low) / (high - low)).max(0.0).min(1.0);
            stretched * ramp + f * (1.0 - ramp)
        }
    }
}

/// cos_sin[p, i] and cos_sin[p, half + i] of one position p.
#[kernel]
pub fn table(
    freq_factors: Option<View<F32, 1>>,
    cos_sin: ViewMut<F32, 2>,
    p: &Parameters,
    scaling: Scaling,
    v: &Rope,
) {
    let position = program_id(0);
    let rotary_dim = cos_sin.dim(1);
    let half = rotary_dim / 2;
    for start in range(0, half, v.block) {
        let i = (iota::<I64>(v.block) + start).cast::<F64>(); // [block]
        let divisors = freq_factors.map(|f| f.tile((start,), [v.block]).load_or(1.0));
        let angle = frequencies(i, rotary_dim, divisors, p, scaling) * position.cast::<F64>();
        let turns = (angle * (1.0 / TAU)).round();
        let rest = fma(turns, -TAU, angle).cast::<F32>();
        let (c, s) = (rest.cos() * p.attention_factor, rest.sin() * p.attention_factor);
        cos_sin.tile((position, start), [1, v.block]).limit(1, half).store(c);
        cos_sin.tile((position, half + start), [1, v.block]).store(s);
    }
}
