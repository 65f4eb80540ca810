//! Softmax in naive f64.

/// Probabilities and the natural log of the sum of exponentials of one row.
pub fn softmax(x: &[f64]) -> (Vec<f64>, f64) {
    if x.iter().any(|v| v.is_nan()) {
        return (vec![f64::NAN; x.len()], f64::NAN);
    }
    let m = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if m == f64::NEG_INFINITY {
        return (vec![0.0; x.len()], m);
    }
    let e: Vec<f64> = x.iter().map(|&v| (v - m).exp()).collect();
    let l: f64 = e.iter().sum();
    (e.iter().map(|v| v / l).collect(), m + l.ln())
}

/// Log-probabilities of one row.
pub fn log_softmax(x: &[f64]) -> (Vec<f64>, f64) {
    let (_, lse) = softmax(x);
    let out = x.iter().map(|&v| if v == f64::NEG_INFINITY { v } else { v - lse }).collect();
    (out, lse)
}
