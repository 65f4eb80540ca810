//! Softmax and log-softmax over rows.

pub mod spec;
