//! The norms in naive f64.

/// RMSNorm of one row.
pub fn rmsnorm(x: &[f32], weight: &[f32], eps: f32) -> Vec<f64> {
    let n = x.len() as f64;
    let mean = x.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>() / n;
    let r = 1.0 / (mean + f64::from(eps)).sqrt();
    x.iter().zip(weight).map(|(&v, &w)| f64::from(v) * r * f64::from(w)).collect()
}

/// Rounded sum of one row and its RMSNorm; `round` is the rounding to the residual's dtype.
pub fn add_rmsnorm(
    x: &[f32],
    residual: &[f32],
    weight: &[f32],
    eps: f32,
    round: impl Fn(f32) -> f32,
) -> (Vec<f32>, Vec<f64>) {
    let sum: Vec<f32> = x.iter().zip(residual).map(|(&a, &b)| round(a + b)).collect();
    let out = rmsnorm(&sum, weight, eps);
    (sum, out)
}

/// LayerNorm of one row.
pub fn layernorm(x: &[f32], weight: &[f32], bias: &[f32], eps: f32) -> Vec<f64> {
    let n = x.len() as f64;
    let mean = x.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    let var = x.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
    let r = 1.0 / (var + f64::from(eps)).sqrt();
    let affine = weight.iter().zip(bias);
    x.iter()
        .zip(affine)
        .map(|(&v, (&w, &b))| (f64::from(v) - mean) * r * f64::from(w) + f64::from(b))
        .collect()
}
