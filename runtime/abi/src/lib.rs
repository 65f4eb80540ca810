//! The data contract between compiler, tuner and runtime.
//!
//! Data only: no behaviour beyond parsing, printing and checking itself.

mod dtype;

pub use dtype::{DType, Kind};
