//! The operations of the DSL, one file per group.
//!
//! Every operation is `#[track_caller]` and appends one op to the kernel being staged (or a few,
//! where the doc says so).

mod arith;
mod atomic;
mod bitwise;
mod cast;
mod compare;
mod create;
mod math;
mod memory;
mod mma;
mod random;
mod reduce;
mod shape;
mod sort;

pub use compare::{KernelEq, KernelOrd};
pub use create::{full, iota, konst, num_programs, program_id, zeros};
pub use math::{Mask, fma, select};
pub use memory::{TileMut, TileRef};
pub use mma::{mma, mma_scaled};
pub use random::philox;
pub use shape::join;

/// The same methods on `Tile<E>` and on `Scalar<E>`.
macro_rules! on_handles {
    (where E: $bound:ident; $($body:tt)*) => {
        impl<E: $bound> crate::handle::Tile<E> { $($body)* }
        impl<E: $bound> crate::handle::Scalar<E> { $($body)* }
    };
}
use on_handles;
