//! The ops by name, with typed operands: thin makers of [`Op`]s. Outputs are given by the caller.
//!
//! ```no_run
//! # fn f(rt: &tilewright::Runtime, x: &tilewright::Tensor, w: &tilewright::Tensor,
//! #     out: &tilewright::Tensor, stream: &tilewright::Stream) -> tilewright::Result<()> {
//! use tilewright::ops::norm;
//! norm::rmsnorm(x, w, 1e-6, out).run(rt, stream)?; // once
//! let call = norm::rmsnorm(x, w, 1e-6, out).call(rt)?; // often
//! call.run(stream)
//! # }
//! ```
//!
//! What these do not offer is reached with [`Op::new`] and [`Args`]: every op of a pack can be.

use crate::{Args, Call, Number, Result, Runtime, Stream, Tensor};

pub mod activation;
pub mod attention;
pub mod gemm;
pub mod moe;
pub mod norm;
pub mod sampler;

/// An op with its operands, not yet planned.
#[derive(Clone, Debug)]
pub struct Op {
    name: String,
    args: Args,
}

impl Op {
    /// Any op.
    pub fn new(name: impl Into<String>) -> Op {
        Op { name: name.into(), args: Args::new() }
    }

    /// With a tensor.
    #[must_use]
    pub fn tensor(mut self, name: &str, tensor: &Tensor) -> Op {
        self.args = self.args.tensor(name, tensor);
        self
    }

    /// With a tensor, if there is one.
    #[must_use]
    pub fn maybe(self, name: &str, tensor: Option<&Tensor>) -> Op {
        match tensor {
            Some(t) => self.tensor(name, t),
            None => self,
        }
    }

    /// With a scalar.
    #[must_use]
    pub fn scalar(mut self, name: &str, value: impl Into<Number>) -> Op {
        self.args = self.args.scalar(name, value);
        self
    }

    /// With the extent of an axis that no tensor's shape gives.
    #[must_use]
    pub fn axis(mut self, name: &str, extent: usize) -> Op {
        self.args = self.args.axis(name, extent);
        self
    }

    /// With an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: &str) -> Op {
        self.args = self.args.attr(name, value);
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its operands.
    pub fn args(&self) -> &Args {
        &self.args
    }

    /// Plans and binds, to run any number of times.
    pub fn call(&self, rt: &Runtime) -> Result<Call> {
        rt.plan(&self.name, &self.args)?.bind(&self.args)
    }

    /// Plans, binds and runs once.
    pub fn run(&self, rt: &Runtime, stream: &Stream) -> Result<()> {
        rt.run(&self.name, &self.args, stream)
    }
}
