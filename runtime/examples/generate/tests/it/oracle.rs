//! The f64 model of these tests agrees with the reference logits, so that it may judge other files.

use crate::support;

#[test]
fn the_f64_model_agrees_with_the_reference_logits() {
    let file = support::open_model();
    let oracle = support::oracle::Oracle::new(&file);
    for r in support::references() {
        let logits = oracle.logits(&r.ids, 1);
        let error = support::relative_error(&logits[0], &r.logits);
        assert!(error <= 1e-5, "{:?}: relative error {error:e}", r.prompt);
        assert_eq!(support::argmax(&logits[0]), r.greedy[0]);
    }
}
