//! The kernels, their specs, variant spaces and references.
//!
//! One folder per family: `spec.rs` is the contract as data, `space.rs` the legal variants for a
//! target's capabilities, `reference.rs` the meaning in naive Rust, and one file per algorithm. No
//! kernel names an architecture.

pub mod activation;
pub mod attention;
pub mod common;
pub mod embedding;
pub mod gemm;
pub mod moe;
pub mod norm;
pub mod quant;
mod registry;
pub mod rope;
pub mod sampler;
pub mod softmax;

pub use registry::{ImplDef, LaunchDef, OpEntry, StageFn, registry};
