//! Gated activations.

pub mod spec;
pub mod reference;
