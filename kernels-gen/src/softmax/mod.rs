//! Softmax and log-softmax over rows.

pub mod spec;
pub mod reference;
