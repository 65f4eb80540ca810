//! The corpus of the row, attention, softmax and sampler kernels: every case runs on the interpreter
//! and as compiled code on guarded memory, with poisoned outputs and scratch, against the references.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub, reason = "tests")]

mod activation;
mod attention;
mod embedding;
mod gemm;
mod harness;
mod moe;
mod norm;
mod quant;
mod rope;
mod sampler;
mod softmax;
mod speculative;
