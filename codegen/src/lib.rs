//! Passes, target tables, lowering and the reference interpreter; no LLVM.
//!
//! [`compile`] takes verified tile IR to `.ll` text. `README.md` in this crate is the pipeline on
//! one page.

mod codes;
pub mod interp;
mod limits;
pub mod lir;
mod lower;
mod pass;
mod passes;
mod pipeline;
pub mod target;

pub use codes::explain;
pub use lower::{Support, support_table};
pub use pass::{Dump, Options, Output, Stage, Timing, pass_names};

use target::TargetDesc;
use tilewright_ir::{Diagnostic, Func};

/// Compiles a kernel for a target.
pub fn compile(
    func: &Func,
    target: &TargetDesc,
    options: &Options,
) -> Result<Output, Vec<Diagnostic>> {
    pass::run(func, target, options)
}
