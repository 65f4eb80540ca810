//! The samplers in naive Rust: full sorts, one row at a time, on the fixed exp and ln.

use super::spec::Status;
use crate::common::exact_math::host;

/// One row's parameters.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "named by the tensors of the op")]
pub struct Params {
    pub temperature: f32,
    pub top_k: i32,
    pub top_p: f32,
    pub min_p: f32,
    pub seed: u64,
    pub offset: u64,
}

/// The lowest index of the maximum, a NaN first.
pub fn argmax(x: &[f32]) -> usize {
    let better = |a: f32, b: f32| a > b || (a.is_nan() && !b.is_nan());
    (1..x.len()).fold(0, |best, i| if better(x[i], x[best]) { i } else { best })
}

/// The tempered logits of the tokens kept, −inf for the others.
pub fn filter(logits: &[f32], p: Params) -> Result<Vec<f32>, Status> {
    let in_unit = |v: f32| (0.0..=1.0).contains(&v);
    if p.temperature.is_nan() || p.temperature < 0.0 || !in_unit(p.top_p) || !in_unit(p.min_p) {
        return Err(Status::BadParam);
    }
    if logits.iter().any(|v| v.is_nan()) || logits.iter().all(|&v| v == f32::NEG_INFINITY) {
        return Err(Status::Invalid);
    }
    let mut out = vec![f32::NEG_INFINITY; logits.len()];
    let best = argmax(logits);
    if logits[best] == f32::INFINITY || p.temperature < 1e-5 {
        out[best] = if logits[best] == f32::INFINITY { 0.0 } else { logits[best] };
        return Ok(out);
    }
    let tempered = |v: f32| {
        let y = (v / p.temperature).clamp(f32::MIN, f32::MAX) + 0.0;
        if v == f32::NEG_INFINITY { v } else { y }
    };
    let mut kept: Vec<(f32, usize)> = logits.iter().map(|&v| tempered(v)).zip(0..).collect();
    kept.retain(|t| t.0 > f32::NEG_INFINITY);
    kept.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let m = kept[0].0;
    if p.min_p > 0.0 {
        let floor = host::ln(p.min_p.max(f32::MIN_POSITIVE));
        kept.retain(|t| t.0 - m >= floor);
    }
    if p.top_k > 0 {
        kept.truncate(p.top_k as usize);
    }
    if p.top_p < 1.0 {
        let total: f64 = kept.iter().map(|t| host::mass(t.0 - m)).sum();
        let target = f64::from(p.top_p) * total;
        let mut sum = 0.0;
        let n = kept.iter().take_while(|t| {
            let more = sum < target;
            sum += host::mass(t.0 - m);
            more
        });
        let n = n.count().max(1);
        kept.truncate(n);
    }
    for (y, i) in kept {
        out[i] = y;
    }
    Ok(out)
}

/// The noise of a token.
pub fn noise(seed: u64, offset: u64, token: usize) -> f32 {
    host::gumbel(host::philox(seed, [offset as u32, (offset >> 32) as u32, token as u32, 0]))
}

/// (id, status).
pub fn sample(logits: &[f32], p: Params) -> (i32, i32) {
    match filter(logits, p) {
        Err(status) => (-1, status as i32),
        Ok(y) => {
            let noisy = |i: usize| match y[i] {
                f32::NEG_INFINITY => y[i],
                v => v + noise(p.seed, p.offset, i),
            };
            let scores: Vec<f32> = (0..y.len()).map(noisy).collect();
            (argmax(&scores) as i32, Status::Ok as i32)
        }
    }
}

/// Repetition, frequency and presence penalties on one logit.
pub fn penalise(
    x: f32,
    prompt: i32,
    output: i32,
    repetition: f32,
    frequency: f32,
    presence: f32,
) -> f32 {
    let seen = prompt > 0 || output > 0;
    let x = match (seen, x > 0.0) {
        (false, _) => x,
        (true, true) => x / repetition,
        (true, false) => x * repetition,
    };
    let x = x - frequency * output as f32;
    if output > 0 { x - presence } else { x }
}

/// Ids (−1 past the end) and the number of drafts accepted.
pub fn rejection_sample(
    draft: &[i32],
    q: &[&[f32]],
    p: &[&[f32]],
    seed: u64,
    offset: u64,
) -> (Vec<i32>, i32) {
    let mut ids = vec![-1; draft.len() + 1];
    let draw = |w: &dyn Fn(usize) -> f32, n: usize, at: u64| {
        let score = |i: usize| match w(i) {
            v if v > 0.0 => host::ln(v.max(f32::MIN_POSITIVE)) + noise(seed, at, i),
            _ => f32::NEG_INFINITY,
        };
        argmax(&(0..n).map(score).collect::<Vec<f32>>()) as i32
    };
    for (i, &x) in draft.iter().enumerate() {
        let at = offset.wrapping_add(i as u64);
        let n = p[i].len();
        let (px, qx) = match usize::try_from(x) {
            Ok(t) if t < n => (p[i][t], q[i][t]),
            _ => (0.0, 1.0),
        };
        let u = host::uniform(host::philox(seed, [at as u32, (at >> 32) as u32, 0, 1]));
        if u * qx < px {
            ids[i] = x;
            continue;
        }
        let residual = |t: usize| p[i][t] - q[i][t];
        let any = (0..n).any(|t| residual(t) > 0.0);
        ids[i] = if any { draw(&residual, n, at) } else { draw(&|t| p[i][t], n, at) };
        return (ids, i as i32);
    }
    let last = draft.len();
    let at = offset.wrapping_add(last as u64);
    ids[last] = draw(&|t| p[last][t], p[last].len(), at);
    (ids, last as i32)
}
