//! The f64 model of these tests agrees with the reference logits, so that it may judge other files.

use crate::support;

#[test]
fn the_f64_model_agrees_with_the_reference_logits() {
    let file = support::open_model();
    let oracle = support::oracle::Oracle::new(&file);
    for r in support::references() {
        let logits = oracle.logits(&r.ids, r.ids.len());
        let last = logits.last().expect("a row a token");
        let error = support::relative_error(last, &r.logits);
        assert!(error <= 1e-5, "{:?}: relative error {error:e}", r.prompt);
        assert_eq!(support::argmax(last), r.greedy[0]);
        let pairs = logits.iter().zip(&r.ids[1..]);
        let nll: f64 = pairs.map(|(row, next)| negative_log_likelihood(row, *next)).sum();
        let mean = nll / (r.ids.len() - 1) as f64;
        assert!((mean - r.mean_nll).abs() <= 1e-4, "{:?}: {mean} for {}", r.prompt, r.mean_nll);
    }
}

fn negative_log_likelihood(logits: &[f32], token: u32) -> f64 {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|v| f64::from(v - max).exp()).sum();
    sum.ln() - f64::from(logits[token as usize] - max)
}
