//! Values from nothing: constants, ramps, the program's position.

use crate::elem::{Elem, I64, Int};
use crate::handle::{Scalar, Tile};
use crate::literal::IntoConst;
use crate::operand::{IntoOperand, ScalarLike, constant};
use crate::staging::emit;
use std::panic::Location;
use tilewright_ir::{Literal, TileOp};

/// The host number `value` as a kernel constant.
#[track_caller]
pub fn konst<E: Elem>(value: impl IntoConst<E>) -> Scalar<E> {
    Scalar::from_raw(constant::<E>(value, Location::caller()))
}

/// A tile of zeros (`false` for `Bool`).
#[track_caller]
pub fn zeros<E: Elem>(shape: impl AsRef<[usize]>) -> Tile<E> {
    let place = Location::caller();
    let shape = shape.as_ref().to_vec();
    Tile::from_raw(emit(place, |cx| {
        let x = cx.constant(Literal { dtype: E::DTYPE, bits: 0 });
        TileOp::Splat { x, shape }
    }))
}

/// A tile whose every element is `value`, a constant or a scalar.
#[track_caller]
pub fn full<E: Elem>(
    shape: impl AsRef<[usize]>,
    value: impl IntoOperand<E> + ScalarLike,
) -> Tile<E> {
    let value = Scalar::<E>::from_raw(value.operand(Location::caller()).0);
    value.splat(shape)
}

/// `[0, 1, … len−1]` as a tile of shape `[len]`.
#[track_caller]
pub fn iota<E: Int>(len: usize) -> Tile<E> {
    Tile::from_raw(emit(Location::caller(), |_| TileOp::Iota { len, dtype: E::DTYPE }))
}

/// This program's position on grid axis 0, 1 or 2.
#[track_caller]
pub fn program_id(axis: usize) -> Scalar<I64> {
    Scalar::from_raw(emit(Location::caller(), |_| TileOp::ProgramId { axis }))
}

/// The grid's extent on axis 0, 1 or 2.
#[track_caller]
pub fn num_programs(axis: usize) -> Scalar<I64> {
    Scalar::from_raw(emit(Location::caller(), |_| TileOp::NumPrograms { axis }))
}
