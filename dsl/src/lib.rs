//! What a kernel author imports.

extern crate self as tilewright_dsl;

pub mod control;
mod diag;
mod elem;
mod handle;
mod literal;
mod operand;
mod ops;
mod params;
mod source;
mod staging;

pub use staging::{Stage, stage};
pub use tilewright_ir::{AtomicOp, Diagnostic, Func, ReduceOp, Rounding};
pub use tilewright_macros::{Carry, kernel};

/// Everything a kernel file needs: `use tilewright_dsl::prelude::*;`.
pub mod prelude {
    pub use crate::control::{Carry, KernelRange, range, range_part};
    pub use crate::elem::{
        BF16, Bits, Bool, Elem, F8E4M3, F8E5M2, F16, F32, F64, Float, I4, I8, I16, I32, I64,
        IndexElem, Int, Number, U4, U8, U16, U32, U64,
    };
    pub use crate::handle::{Handle, Index, Scalar, Tile, View, ViewMut};
    pub use crate::literal::IntoConst;
    pub use crate::operand::{Coords, IntoCoord, IntoIndex, IntoOperand, ScalarLike};
    pub use crate::ops::{
        KernelEq, KernelOrd, Mask, TileMut, TileRef, fma, full, iota, join, konst, mma, mma_scaled,
        num_programs, philox, program_id, select, zeros,
    };
    pub use crate::staging::{Stage, stage};
    pub use tilewright_ir::{AtomicOp, Diagnostic, Func, ReduceOp, Rounding};
    pub use tilewright_macros::{Carry, kernel};
}
