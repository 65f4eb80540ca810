//! Tile IR: the program a kernel is, before any target is chosen.
//!
//! SSA with structured control flow over a closed set of tile operations ([`TileOp`]).
//! [`Builder`] is the only way to make instructions; [`print()`] and [`parse()`] are its text form;
//! [`verify()`] states and checks the rules, and [`Diagnostic`] is how faults are reported.

mod builder;
pub mod codes;
mod diag;
mod func;
pub mod layout;
mod mnemonic;
mod op;
mod parse;
mod print;
mod span;
mod types;
mod verify;

pub use builder::{Builder, result_types};
pub use codes::explain;
pub use diag::Diagnostic;
pub use func::{
    Assume, Def, Fact, Func, Inst, InstData, Param, RegionData, RegionId, Value, ValueData,
};
pub use layout::{Dim, Layout, bits_for};
pub use op::{
    Access, AtomicOp, BinaryOp, Bound, CompareOp, Coord, Literal, ReduceOp, Rounding, TileOp,
    UnaryOp,
};
pub use parse::{parse, parse_file};
pub use print::{print, print_with_spans};
pub use span::Span;
pub use types::{TileType, Type, ViewType};
pub use verify::{MAX_RANK, MAX_TILE_ELEMENTS, verify};

/// Regions may be nested this deep; the parser and the verifier refuse more.
pub const MAX_NESTING: usize = 64;
