//! Runtime that servers embed: plans and launches compiled kernels. No compiler is in the process.
//!
//! # In one page
//!
//! A [`Runtime`] is a device, a pack of compiled kernels and a store of tuned configs. Tensors live in
//! the device's memory. An op is planned once per problem, bound once per set of tensors, and run any
//! number of times; `run` neither allocates nor reads host arrays.
//!
//! ```no_run
//! use tilewright::{Args, DType, Graph, Runtime, Tensor};
//!
//! # fn main() -> tilewright::Result<()> {
//! # static PACK: &[u8] = &[];
//! # let (bf16_bytes, mapped_file) = (vec![0u8; 8], vec![0u8; 64]);
//! // The CPU with 4 threads (0: one per core), kernels from an embedded pack (or `.pack_dir(path)`).
//! let rt = Runtime::builder().cpu_threads(4).pack(PACK).build()?; // PACK: &'static [u8]
//! let stream = rt.stream()?;
//!
//! // Tensors: views of buffers with shape, strides and offset; cloning shares the buffer.
//! let a = Tensor::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?; // copies the slice
//! let b = Tensor::from_bytes(&rt, &bf16_bytes, DType::BF16, &[2, 2])?; // copies bytes of any dtype
//! let w = Tensor::from_owner(&rt, mapped_file, DType::U8, &[64])?; // no copy; owner: AsRef<[u8]>
//! let c = Tensor::zeros(&rt, DType::F32, &[2, 2])?; // or `Tensor::empty`
//! let row = c.slice(0, 1, 1)?; // a view: axis, start, length
//! let flat = c.reshape(&[4])?; // a view: packed tensors only
//! let turned = c.transpose(0, 1)?; // a view: strides swapped
//!
//! // Name the operands of the op; axes, dtypes and strides follow from the tensors. What no shape gives
//! // is added with `.axis("top_k", 8)`, choices with `.attr("epilogue", "silu")`.
//! let args = Args::new().tensor("a", &a).tensor("b", &b).tensor("c", &c).scalar("alpha", 1.0);
//! let plan = rt.plan("gemm.plain", &args)?; // picks the variant; `plan.reason()` says why
//! let mut call = plan.bind(&args)?; // checks every tensor; allocates the workspace
//! call.run(&stream)?; // any number of times
//! call.set_tensor("c", &turned)?; // binds another tensor of the same shape and dtype
//! call.set_scalar("alpha", 2.0)?;
//! let values: Vec<f32> = c.to_vec()?; // waits for the device
//! c.write_slice(&[0.0f32; 4])?; // host to device, in place
//!
//! // A graph: record once, replay with one wake-up of the worker threads. Inputs change in place.
//! let graph = Graph::record(&rt, &stream, |s| (0..3).try_for_each(|_| call.run(s)))?;
//! graph.replay(&stream)?;
//! # Ok(())
//! # }
//! ```
//!
//! [`ops`] has the ops with typed operands. [`Runtime::run`] plans, binds and runs in one go, for what runs once. [`Plan::bind_with`] shares
//! scratch memory between calls: `rt.workspace(bytes)` of the largest [`Plan::workspace_bytes`].
//!
//! # Rules
//!
//! - A launch on the CPU has finished when `run` returns. Threads that use one buffer at the same time
//!   order their own work.
//! - Results do not depend on the number of threads.
//! - A missing or unusable tuned config never fails a call: the default is used, and that is said once.
//! - Nothing here panics, and errors name op, operand, the two values that differ, and the remedy.
//! - After a fork the child makes its own runtime; the parent's is refused there.

#[cfg(test)]
extern crate self as tilewright;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;

mod args;
mod buffer;
pub mod capi;
mod catalog;
mod config_store;
pub mod device;
pub mod dlpack;
mod error;
mod graph;
pub mod knobs;
mod launch;
mod notice;
pub mod ops;
mod plan;
mod pool;
mod resolve;
mod runtime;
mod select;
pub mod store;
mod tensor;

pub use args::{Args, Number};
pub use buffer::{Buffer, Element};
pub use catalog::Catalog;
pub use config_store::{Choice, Configs};
pub use error::{Error, ErrorKind, Result};
pub use graph::{Event, Graph, Stream};
pub use launch::Call;
pub use plan::Plan;
pub use runtime::{Builder, Runtime};
pub use select::{Candidate, Reason, Selection, candidates, select, select_exactly};
pub use tensor::{MAX_RANK, Tensor};
pub use tilewright_abi as abi;
pub use tilewright_abi::{DType, Problem, TensorLayout};
