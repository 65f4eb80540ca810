//! Samplers: logit edits, filters, draws, speculative acceptance, log-probabilities.

pub mod spec;
pub mod reference;
