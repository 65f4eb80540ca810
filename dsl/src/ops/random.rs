//! Counter-based random numbers.

use crate::elem::{U32, U64};
use crate::handle::{Handle, RawHandle, Scalar};
use crate::operand::{IntoOperand, like};
use crate::staging::emit;
use std::panic::Location;
use tilewright_ir::TileOp;

/// The first word of Philox4x32-10 for `key` and the counter words `c0` to `c3`: the same on every
/// target and in every order. `c2` decides whether the result is a tile.
#[track_caller]
pub fn philox<T: Handle<Elem = U32>>(
    key: Scalar<U64>,
    c0: impl IntoOperand<U32>,
    c1: impl IntoOperand<U32>,
    c2: T,
    c3: impl IntoOperand<U32>,
) -> T {
    let place = Location::caller();
    let (c0, c1, c3) = (c0.operand(place).0, c1.operand(place).0, c3.operand(place).0);
    let c2 = c2.raw_handle().0;
    T::of(RawHandle(emit(place, |cx| {
        let counter = [c0, c1, c2, c3].map(|c| like(cx, "philox", c2, c));
        TileOp::Philox { key: cx.get(key.raw), counter }
    })))
}
