//! The gated activations in naive f64, one element at a time.

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `silu(g) · u`.
pub fn silu_and_mul(g: f64, u: f64) -> f64 {
    g * sigmoid(g) * u
}

/// The tanh form of `gelu(g) · u`.
pub fn gelu_tanh_and_mul(g: f64, u: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (g + 0.044715 * g * g * g);
    0.5 * g * (1.0 + inner.tanh()) * u
}

/// The erf form of `gelu(g) · u`.
pub fn gelu_and_mul(g: f64, u: f64) -> f64 {
    0.5 * g * (1.0 + erf(g * std::f64::consts::FRAC_1_SQRT_2)) * u
}

/// SwiGLU with limit, alpha and beta.
pub fn swiglu(g: f64, u: f64, alpha: f64, beta: f64, limit: f64) -> f64 {
    let (g, u) = (g.min(limit), u.clamp(-limit, limit));
    g * sigmoid(alpha * g) * (u + beta)
}

/// SiTU.
pub fn situ_and_mul(g: f64, u: f64, beta: f64, linear_beta: f64) -> f64 {
    let u = if linear_beta > 0.0 { linear_beta * (u / linear_beta).tanh() } else { u };
    beta * (g / beta).tanh() * sigmoid(g) * u
}

/// The error function, by its series for small arguments and its continued fraction for large ones.
pub fn erf(x: f64) -> f64 {
    let a = x.abs();
    let two_over_root_pi = 2.0 / std::f64::consts::PI.sqrt();
    let value = if a < 3.0 {
        let (mut term, mut sum) = (a, a);
        for n in 1..200 {
            term *= -a * a / n as f64;
            sum += term / (2 * n + 1) as f64;
        }
        two_over_root_pi * sum
    } else {
        let mut f = 0.0;
        for n in (1..60).rev() {
            f = n as f64 / 2.0 / (a + f);
        }
        1.0 - (-a * a).exp() / ((a + f) * std::f64::consts::PI.sqrt())
    };
    value.copysign(x)
}
