//! The only crate that links LLVM: `.ll` text to machine code, and the `kc` command.
//!
//! In: the text that `tilewright-codegen` prints, and a [`Machine`]. Out: assembly, an object, or
//! a shared object; the same input gives the same bytes. Nothing here knows about tiles.
//!
//! LLVM reports some failures ("cannot select") by ending the process. A caller that must survive
//! them (a tuner, a fuzzer) uses [`isolated`], which compiles in a child process.

pub mod artifact;
mod emit;
mod error;
mod ffi;
pub mod isolated;
mod knobs;
mod link;
mod machine;
mod toolchain;

pub use artifact::{Artifact, compile_kernel};
pub use emit::{Level, Output, emit, shared_object};
pub use error::{Error, Step};
pub use ffi::labelled;
pub use link::link_shared;
pub use machine::Machine;
pub use toolchain::{linker_version, llvm_version, toolchain};
