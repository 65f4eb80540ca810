//! Samplers: logit edits, filters, draws, speculative acceptance, log-probabilities.
//!
//! A sample is four launches. The *scan* reads the row once and leaves the maximum of every 64 logits.
//! The *row plan* reads those: it settles greedy and invalid rows, and bounds what can survive top-k and
//! min-p. The *sweep* reads what it must of the row for rows without filters (the draw, by chunk) and for
//! top-p alone (the mass). The *finish* lists the candidates, finds the exact cut by bisection and draws.
//! A row of a usual request is read one to two times, most of the second time being skipped by the maxima.

mod best;
mod candidates;
mod edits;
mod finish;
mod impls;
pub mod reference;
mod row_plan;
mod scan;
pub mod spec;
mod speculative;
mod sweep;
mod top_logprobs;

use crate::OpEntry;

/// The ops of this family.
pub fn entries() -> Vec<OpEntry> {
    vec![
        OpEntry { spec: spec::apply_bitmask(), impls: Box::new(|_| impls::bitmask_impls()) },
        OpEntry { spec: spec::apply_logit_bias(), impls: Box::new(|_| impls::bias_impls()) },
        OpEntry { spec: spec::apply_penalties(), impls: Box::new(|_| impls::penalties_impls()) },
        OpEntry { spec: spec::argmax(), impls: Box::new(|_| impls::argmax_impls()) },
        OpEntry { spec: spec::sample(), impls: Box::new(|_| impls::sample_impls()) },
        OpEntry { spec: spec::filter(), impls: Box::new(|_| impls::filter_impls()) },
        OpEntry { spec: spec::top_logprobs(), impls: Box::new(|_| impls::top_logprobs_impls()) },
        OpEntry { spec: spec::rejection_sample(), impls: Box::new(|_| impls::rejection_impls()) },
    ]
}
