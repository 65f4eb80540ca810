//! Runtime that servers embed: plans and launches compiled kernels. No compiler is in the process.
//!
//! # In one page
//!
//! A [`Runtime`] is a device, a pack of compiled kernels and a store of tuned configs. Tensors live in
//! the device's memory. An op is planned once per problem, bound once per set of tensors, and run any
//! number of times; `run` neither allocates nor reads host arrays.
//!
//! ```ignore
//! use tilewright::{Args, DType, Graph, Runtime, Tensor};
//!
//! // The CPU with 4 threads (0: one per core), kernels from an embedded pack (or `.pack_dir(path)`).
//! let rt = Runtime::builder().cpu_threads(4).pack(PACK).build()?;   // PACK: &'static [u8]
//! let stream = rt.stream()?;
//!
//! // Tensors: views of buffers with shape, strides and offset; cloning shares the buffer.
//! let a = Tensor::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;  // copies the slice
//! let b = Tensor::from_bytes(&rt, bf16_bytes, DType::BF16, &[2, 2])?;   // copies bytes of any dtype
//! let w = Tensor::from_owner(&rt, mapped_file, DType::U8, &[len])?;     // no copy; owner: AsRef<[u8]>
//! let c = Tensor::zeros(&rt, DType::F32, &[2, 2])?;                     // or `Tensor::empty`
//! let row = c.slice(0, 1, 1)?;               // axis, start, len        (a view)
//! let flat = c.reshape(&[4])?;               // packed tensors only     (a view)
//! let t = c.transpose(0, 1)?;                // strides swapped         (a view)
//!
//! // Name the operands of the op; axes, dtypes and strides follow from the tensors.
//! let args = Args::new().tensor("a", &a).tensor("b", &b).tensor("c", &c).scalar("alpha", 1.0);
//! // .axis("top_k", 8) for an axis that no shape gives, .attr("epilogue", "silu") for a choice
//! let plan = rt.plan("gemm.dense", &args)?;  // picks the variant; `plan.reason()` says why
//! let mut call = plan.bind(&args)?;          // checks every tensor; allocates the workspace
//! call.run(&stream)?;                        // any number of times
//! call.set_tensor("a", &a2)?;                // rebind in place: same shape and dtype
//! call.set_scalar("alpha", 2.0)?;
//! let values: Vec<f32> = c.to_vec()?;        // waits for the device
//! let bytes: Vec<u8> = b.to_bytes()?;
//! c.write_slice(&[0.0f32; 4])?;              // host to device, in place
//!
//! // A graph: record once, replay with one wake-up of the worker threads. Inputs change in place.
//! let graph = Graph::record(&rt, &stream, |s| { call.run(s)?; other.run(s) })?;
//! graph.replay(&stream)?;
//! ```
//!
//! `rt.run("op", &args, &stream)` does plan (cached), bind and run in one go, for what runs once.
//! Share scratch memory between calls with `plan.bind_with(&args, &workspace)`, where
//! `workspace = rt.workspace(plan.workspace_bytes())?` is at least as large as each plan asks.

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
pub use select::{Reason, Selection, select};
pub use tensor::{MAX_RANK, Tensor};
pub use tilewright_abi as abi;
pub use tilewright_abi::{DType, Problem, TensorLayout};
