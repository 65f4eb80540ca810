//! Attention in naive f64: one query head against a list of keys.

/// What changes the scores and the weights of one head.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Multiplies q·k.
    pub sm_scale: f64,
    /// `c · tanh(x / c)` where c > 0.
    pub soft_cap: f64,
    /// The head's sink logit.
    pub sink: Option<f64>,
    /// Rounds a weight to the dtype that P·V is computed in.
    pub round_p: &'a dyn Fn(f64) -> f64,
}

/// (out, lse) of one query over `keys[n]`, `values[n]`; the caller lists only the keys it may see.
pub fn head(q: &[f64], keys: &[&[f64]], values: &[&[f64]], rules: Rules<'_>) -> (Vec<f64>, f64) {
    let dim = values.first().map_or(q.len(), |v| v.len());
    let scores: Vec<f64> = keys
        .iter()
        .map(|k| {
            let x = q.iter().zip(*k).map(|(a, b)| a * b).sum::<f64>() * rules.sm_scale;
            if rules.soft_cap > 0.0 { rules.soft_cap * (x / rules.soft_cap).tanh() } else { x }
        })
        .collect();
    let m = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if m == f64::NEG_INFINITY {
        return (vec![0.0; dim], m);
    }
    let l: f64 = scores.iter().map(|s| (s - m).exp()).sum();
    let denominator = l + rules.sink.map_or(0.0, |s| (s - m).exp());
    let mut out = vec![0.0; dim];
    for (s, v) in scores.iter().zip(values) {
        let p = (rules.round_p)((s - m).exp());
        for (o, x) in out.iter_mut().zip(*v) {
            *o += p * x / denominator;
        }
    }
    (out, m + l.ln())
}

/// The keys that query `i` of `q_len` sees of `kv_len`: a half-open range.
pub fn visible(
    i: usize,
    q_len: usize,
    kv_len: usize,
    causal: bool,
    window_left: i64,
) -> (usize, usize) {
    let last = i as i64 + kv_len as i64 - q_len as i64;
    let end = if causal { last + 1 } else { kv_len as i64 };
    let end = end.clamp(0, kv_len as i64);
    let start = if window_left >= 0 { (last - window_left).clamp(0, end) } else { 0 };
    (start as usize, end as usize)
}

/// Joins states; those with an lse of −inf, NaN or +inf are empty.
pub fn merge(states: &[(&[f64], f64)], sink: Option<f64>) -> (Vec<f64>, f64) {
    let live = || states.iter().filter(|s| s.1.is_finite());
    let m = live().map(|s| s.1).fold(f64::NEG_INFINITY, f64::max);
    let mut out = vec![0.0; states.first().map_or(0, |s| s.0.len())];
    if m == f64::NEG_INFINITY {
        return (out, m);
    }
    let l: f64 = live().map(|s| (s.1 - m).exp()).sum();
    let denominator = l + sink.map_or(0.0, |s| (s - m).exp());
    for (v, lse) in live() {
        for (o, x) in out.iter_mut().zip(*v) {
            *o += (lse - m).exp() * x / denominator;
        }
    }
    (out, m + l.ln())
}
