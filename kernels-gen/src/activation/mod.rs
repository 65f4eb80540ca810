//! Gated activations.

pub mod spec;
