//! Rotary position embedding in naive f64.

use std::f64::consts::PI;

/// How a model stretches its frequencies.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "named by the scalars of the op")]
pub enum Scaling<'a> {
    None,
    Linear { factor: f64 },
    Llama3 { factor: f64, low_freq_factor: f64, high_freq_factor: f64, original: f64 },
    Yarn { factor: f64, beta_fast: f64, beta_slow: f64, original: f64 },
    Divisors(&'a [f32]),
}

/// The frequency of pair `i`.
pub fn frequency(theta: f64, rotary_dim: usize, i: usize, scaling: Scaling<'_>) -> f64 {
    let dim = rotary_dim as f64;
    let f = theta.powf(-2.0 * i as f64 / dim);
    match scaling {
        Scaling::None => f,
        Scaling::Linear { factor } => f / factor,
        Scaling::Divisors(d) => f / f64::from(d[i]),
        Scaling::Llama3 { factor, low_freq_factor, high_freq_factor, original } => {
            let turns = original * f / (2.0 * PI);
            let smooth = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor);
            let smooth = smooth.clamp(0.0, 1.0);
            (1.0 - smooth) * f / factor + smooth * f
        }
        Scaling::Yarn { factor, beta_fast, beta_slow, original } => {
            let dim_of =
                |turns: f64| dim * (original / (turns * 2.0 * PI)).ln() / (2.0 * theta.ln());
            let low = dim_of(beta_fast).floor().max(0.0);
            let high = dim_of(beta_slow).ceil().min(dim - 1.0);
            let high = if high == low { low + 0.001 } else { high };
            let ramp = ((i as f64 - low) / (high - low)).clamp(0.0, 1.0);
            f / factor * ramp + f * (1.0 - ramp)
        }
    }
}

/// Rotates one head in place by the angles `position · f_i`; `half` pairs by halves, else neighbours.
pub fn rotate(head: &mut [f64], cos: &[f64], sin: &[f64], half: bool) {
    let n = cos.len();
    for i in 0..n {
        let (a, b) = if half { (i, i + n) } else { (2 * i, 2 * i + 1) };
        let (x, y) = (head[a], head[b]);
        head[a] = x * cos[i] - y * sin[i];
        head[b] = y * cos[i] + x * sin[i];
    }
}
