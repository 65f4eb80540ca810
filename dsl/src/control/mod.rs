//! What `#[kernel]` turns `for`, `while`, `if`, `&&` and `||` into.
//!
//! The macro does not know types, so it emits each body once, between calls on a guard. The guard's
//! type decides: for host values the calls do nothing and the Rust loop or branch runs as written;
//! for kernel values the guard opens and closes IR regions around the body.
//!
//! Variables declared outside and changed inside are *carried*: at the start of a region the
//! guard replaces their values by region parameters (`carry_in`), at its end it takes the new values
//! as yields (`carry_out`), and after the construct it puts the results in (`carry_end`).
//! A kernel loop's body is staged twice and the first pass is discarded. The first pass shows which
//! variables really change; and a variable that changed unseen holds a value of the discarded
//! region in the second pass, which is reported.

mod branch;
mod carry;
mod for_loop;
mod logic;
mod regions;
mod while_loop;

pub use branch::{Branch, Carries, Condition, Decision, Host, Kernel, Mode, Value, branch};
pub use carry::{Carry, Leaves};
pub use for_loop::{HostFor, HostLoop, KernelFor, KernelRange, RangeLoop, range, range_part};
pub use logic::{Logic, and, and_needs_rhs, or, or_needs_rhs};
pub use regions::leaving;
pub use while_loop::{While, while_loop};

pub use crate::ops::{KernelEq, KernelOrd};
pub use crate::source::{Entered, Source, enter};
