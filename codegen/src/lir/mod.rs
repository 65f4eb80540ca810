//! Per-lane SSA: typed vector operations one step above LLVM assembly.
//!
//! In: what the lowering of a tile function emits through [`Builder`]. Out: `.ll` text
//! ([`print()`]). A module is a few functions: the kernel first, then the helpers that it calls for
//! what is rare or needs a loop. There is no optimisation here beyond folding of constants while
//! building; LLVM does that.
//!
//! Rules: a value is used after its definition, in a block its definition dominates; no vector
//! lane is ever poison or undefined, so that lanes outside a tile may be computed on.

mod builder;
mod op;
mod print;
mod verify;

pub use builder::Builder;
pub use op::{BinOp, Block, BlockData, CastOp, CmpOp, Elem, Func, Inst, Module, Op, Term, Ty, Val};
pub use print::{Attributes, KEEPS_REGISTERS, print};
pub use verify::verify;
