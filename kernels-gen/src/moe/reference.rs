//! What routing, alignment and combination mean: naive f64.

/// Ids, weights and validity of one token.
pub fn route(
    logits: &[f32],
    bias: Option<&[f32]>,
    top_k: usize,
    softmax: bool,
    renormalize: bool,
    scale: f32,
) -> (Vec<usize>, Vec<f64>, bool) {
    let valid = logits.iter().all(|x| !x.is_nan());
    let x: Vec<f64> =
        logits.iter().map(|&x| if x.is_nan() { f64::NEG_INFINITY } else { x.into() }).collect();
    let score: Vec<f64> = if softmax {
        let top = x.iter().copied().fold(f64::from(f32::MIN), f64::max).min(f64::from(f32::MAX));
        let e: Vec<f64> = x.iter().map(|x| (x.min(f64::from(f32::MAX)) - top).exp()).collect();
        let sum: f64 = e.iter().sum();
        e.iter().map(|e| e / sum).collect()
    } else {
        x.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect()
    };
    let choice = |e: usize| match bias {
        Some(bias) => score[e] + f64::from(bias[e]),
        None => x[e],
    };
    let mut ids: Vec<usize> = (0..logits.len()).collect();
    ids.sort_by(|&a, &b| choice(b).partial_cmp(&choice(a)).unwrap_or(std::cmp::Ordering::Equal));
    ids.truncate(top_k);
    let total: f64 = ids.iter().map(|&e| score[e]).sum();
    let divisor = if renormalize { total } else { 1.0 };
    let weight = |&e: &usize| if valid { score[e] / divisor * f64::from(scale) } else { 0.0 };
    let weights = ids.iter().map(weight).collect();
    (ids, weights, valid)
}

/// (slots, experts, offsets) of `moe.align`.
pub fn align(
    ids: &[i32],
    num_experts: usize,
    block_m: usize,
    num_blocks: usize,
) -> (Vec<i32>, Vec<i32>, Vec<i32>) {
    let (mut slots, mut experts, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
    for e in 0..num_experts {
        let own = ids.iter().enumerate().filter(|&(_, &id)| id == e as i32).map(|(s, _)| s as i32);
        let before = slots.len();
        slots.extend(own);
        offsets.push(offsets[e] + (slots.len() - before) as i32);
        while slots.len() % block_m != 0 {
            slots.push(-1);
        }
        experts.resize(slots.len() / block_m, e as i32);
    }
    slots.resize(num_blocks * block_m, -1);
    experts.resize(num_blocks, -1);
    (slots, experts, offsets)
}

/// `out[m, n]` from `c[m * top_k, n]` and `weights[m, top_k]`.
pub fn combine(c: &[f64], weights: &[f64], n: usize, top_k: usize) -> Vec<f64> {
    let m = weights.len() / top_k;
    let at = |i: usize, j: usize| -> f64 {
        (0..top_k).map(|t| weights[i * top_k + t] * c[(i * top_k + t) * n + j]).sum()
    };
    (0..m * n).map(|x| at(x / n, x % n)).collect()
}
