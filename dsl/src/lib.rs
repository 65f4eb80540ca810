//! What a kernel author imports.
//!
//! A kernel is ordinary Rust that rustc checks and that *runs while code is generated*: its variables
//! are handles ([`Scalar`](prelude::Scalar), [`Tile`](prelude::Tile), [`View`](prelude::View)), and each
//! operation on them appends one to the tile IR being recorded. This page is the whole idea.
//!
//! ```
//! use tilewright_dsl::prelude::*;
//!
//! /// What varies between builds of a kernel is plain Rust, decided while staging.
//! struct Variant {
//!     block: usize,
//!     scale: Option<f64>,
//! }
//!
//! /// out = x + y, one block of elements a program.
//! #[kernel]
//! fn add<E: Float>(x: View<E, 1>, y: View<E, 1>, out: ViewMut<E, 1>, v: &Variant) {
//!     let i = program_id(0) * v.block; //                        Scalar<I64>
//!     let sum = x.tile(i, [v.block]).load() + y.tile(i, [v.block]).load(); // Tile<E>
//!     let sum = match v.scale {
//!         Some(scale) => sum * scale, //          a host value beside a kernel value is a constant
//!         None => sum,
//!     };
//!     out.tile(i, [v.block]).store(sum); //       elements past the end are masked
//! }
//!
//! // Staging: the closure declares the launch parameters, in order, and calls the kernel.
//! let v = Variant { block: 64, scale: None };
//! let func = stage("add", |s| add::<F32>(s.view("x"), s.view("y"), s.view_mut("out"), &v))?;
//! assert_eq!(
//!     tilewright_ir::print(&func),
//!     "\
//! func @add(%x: view<f32, 1>, %y: view<f32, 1>, %out: mut view<f32, 1>) {
//!   assume %x stride 0 equals 1
//!   assume %y stride 0 equals 1
//!   assume %out stride 0 equals 1
//!   %0 = program_id 0
//!   %1 = const 64 : i64
//!   %2 = mul %0, %1 : i64
//!   %3 = load %x[span %2] bounds [dim] : tile<64xf32>
//!   %4 = load %y[span %2] bounds [dim] : tile<64xf32>
//!   %5 = add %3, %4 : tile<64xf32>
//!   store %out[span %2] bounds [dim], %5
//! }
//! "
//! );
//! # Ok::<(), Vec<Diagnostic>>(())
//! ```
//!
//! **Control flow** in a [`#[kernel]`](kernel) function is Rust's, and types decide where it runs. A
//! `for` over [`range`](prelude::range) and an `if` or `while` on a `Scalar<Bool>` become loops and
//! branches of the kernel; everything else runs now. Variables that such a region changes are carried
//! through it; they are handles, tuples, arrays or `Vec`s of them, or structs with
//! [`#[derive(Carry)]`](derive@Carry).
//!
//! ```
//! # use tilewright_dsl::prelude::*;
//! /// The sum of `x`, up to the first block that brings it over `limit`.
//! #[kernel]
//! fn sum_to(x: View<F32, 1>, limit: Scalar<F32>, out: ViewMut<F32, 1>) {
//!     let (mut i, mut sum) = (konst::<I64>(0), konst::<F32>(0.0));
//!     while i < x.dim(0) && sum < limit {
//!         sum += x.tile(i, [8]).load().sum_all();
//!         i += 8;
//!     }
//!     out.set(0, if sum > limit { limit } else { sum });
//! }
//! # assert!(stage("k", |s| sum_to(s.view("x"), s.scalar("l"), s.view_mut("out"))).is_ok());
//! ```
//!
//! **Mistakes** that types can show are rustc's errors. What remains (shapes, for one) is found at the
//! end of [`stage`], which returns all of it with the kernel's lines:
//!
//! ```
//! # use tilewright_dsl::prelude::*;
//! #[kernel]
//! fn wrong(x: View<F32, 2>) {
//!     let t = x.tile((0, 0), [4, 8]).load();
//!     let _ = t + t.t();
//! }
//! let errors = stage("wrong", |s| wrong(s.view("x"))).unwrap_err();
//! assert_eq!(errors[0].message, "`+` of tile<4x8xf32> and tile<8x4xf32>");
//! ```
//!
//! ```text
//! error[K0110]: `+` of tile<4x8xf32> and tile<8x4xf32>
//!  --> src/wrong.rs:4:13
//!   |
//! 4 |     let _ = t + t.t();
//!   |             ^ the shapes differ
//!   = help: tiles are never stretched silently; `v.along(axis, shape)` and `t.broadcast(shape)` do it
//! ```
//!
//! **Further.** Operations are methods of the handles; access to memory starts at
//! [`View::tile`](prelude::View::tile); paged, ragged, routed and quantised operands are in [`views`].

extern crate self as tilewright_dsl;

mod codes;
mod compact;
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
pub mod views;

pub use codes::explain;
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
