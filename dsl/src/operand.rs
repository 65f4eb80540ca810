//! What may stand where: operands, coordinates and shapes.

use crate::diag;
use crate::elem::{Elem, I32, I64, IndexElem};
use crate::handle::{Handle, Raw, RawHandle, Scalar, Tile};
use crate::literal::{IntoConst, literal};
use crate::source::Place;
use crate::staging::{at, emit};
use std::panic::Location;
use tilewright_ir::{Coord, Rounding, TileOp};

/// An operand of element type `E`: a [`Tile`], a [`Scalar`] or a host constant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operand of element type `{E}`",
    label = "expected a tile, a scalar or a constant of that type",
    note = "kernel values convert with `.cast::<E>()`; constants of float types are written `2.0`, of integer types `2`"
)]
pub trait IntoOperand<E: Elem>: Copy {
    #[doc(hidden)]
    fn operand(self, place: Place) -> RawHandle;
}

/// An operand that is not a tile: a [`Scalar`] or a host constant.
#[diagnostic::on_unimplemented(
    message = "a scalar is expected, not `{Self}`",
    label = "neither a `Scalar` nor a host constant"
)]
pub trait ScalarLike {}

impl<E: Elem> IntoOperand<E> for Tile<E> {
    fn operand(self, _: Place) -> RawHandle {
        self.raw_handle()
    }
}
impl<E: Elem> IntoOperand<E> for Scalar<E> {
    fn operand(self, _: Place) -> RawHandle {
        self.raw_handle()
    }
}
impl<E: Elem> ScalarLike for Scalar<E> {}

macro_rules! host_operands {
    ($($host:ident)*) => { $(
        impl<E: Elem> IntoOperand<E> for $host
        where
            $host: IntoConst<E>,
        {
            fn operand(self, place: Place) -> RawHandle {
                RawHandle(constant::<E>(self, place))
            }
        }
        impl ScalarLike for $host {}
    )* };
}
host_operands!(f64 f32 i32 i64 u8 u32 u64 usize bool);

/// The constant `value` of type `E`.
pub(crate) fn constant<E: Elem>(value: impl IntoConst<E>, place: Place) -> Raw {
    emit(place, |cx| {
        let literal = literal(E::DTYPE, value.number()).unwrap_or_else(|reason| {
            cx.report(diag::constant(&cx.span(), reason));
            tilewright_ir::Literal { dtype: E::DTYPE, bits: 0 }
        });
        TileOp::Const(literal)
    })
}

/// A position, an extent or a step: `usize`, `i32`, `i64`, `Scalar<I64>` or `Scalar<I32>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index",
    label = "expected `usize`, `i32`, `i64`, `Scalar<I64>` or `Scalar<I32>`"
)]
pub trait IntoIndex: Copy {
    #[doc(hidden)]
    fn index_at(self, place: Place) -> Scalar<I64>;

    /// The index as a kernel scalar.
    #[track_caller]
    fn into_index(self) -> Scalar<I64> {
        self.index_at(Location::caller())
    }
}

impl IntoIndex for Scalar<I64> {
    fn index_at(self, _: Place) -> Scalar<I64> {
        self
    }
}
impl IntoIndex for Scalar<I32> {
    fn index_at(self, place: Place) -> Scalar<I64> {
        Scalar::from_raw(emit(place, |cx| TileOp::Cast {
            x: cx.get(self.raw),
            to: I64::DTYPE,
            rounding: Rounding::NearestEven,
            saturate: false,
        }))
    }
}
macro_rules! host_indices {
    ($($host:ident)*) => { $(
        impl IntoIndex for $host {
            fn index_at(self, place: Place) -> Scalar<I64> {
                Scalar::from_raw(constant::<I64>(self, place))
            }
        }
    )* };
}
host_indices!(usize i32 i64);

/// A coordinate of a tile access: an index (where the tile starts), or an index tile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a coordinate",
    label = "expected an index (`usize`, `i64`, `Scalar<I64>`, `Scalar<I32>`) or an index tile (`Tile<I32>`, `Tile<I64>`)"
)]
pub trait IntoCoord: Copy {
    #[doc(hidden)]
    fn coord(self, place: Place) -> CoordHandle;
}

/// One coordinate; opaque outside this crate.
#[derive(Clone, Copy, Debug)]
pub struct CoordHandle {
    pub(crate) raw: Raw,
    pub(crate) form: CoordForm,
}

/// How a coordinate's value is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoordForm {
    Span,
    Rows,
    Gather,
}

impl CoordHandle {
    pub(crate) fn to_ir(self, cx: &mut crate::staging::Context) -> Coord {
        let value = cx.get(self.raw);
        match self.form {
            CoordForm::Span => Coord::Span(value),
            CoordForm::Rows => Coord::Rows(value),
            CoordForm::Gather => Coord::Gather(value),
        }
    }
}

macro_rules! span_coords {
    ($($index:ty)*) => { $(
        impl IntoCoord for $index {
            fn coord(self, place: Place) -> CoordHandle {
                CoordHandle { raw: self.index_at(place).raw, form: CoordForm::Span }
            }
        }
    )* };
}
span_coords!(usize i32 i64 Scalar<I64> Scalar<I32>);

impl<E: IndexElem> IntoCoord for Tile<E> {
    fn coord(self, _: Place) -> CoordHandle {
        CoordHandle { raw: self.raw, form: CoordForm::Rows }
    }
}

impl IntoCoord for CoordHandle {
    fn coord(self, _: Place) -> CoordHandle {
        self
    }
}

/// The coordinates of an access to a view of `N` axes: a tuple or an array of `N` coordinates; for
/// one axis also the coordinate itself.
#[diagnostic::on_unimplemented(
    message = "expected the coordinates of {N} axes, found `{Self}`",
    label = "not {N} of `usize`, `i64`, `Scalar<I64>`, `Scalar<I32>`, `Tile<I32>` or `Tile<I64>`",
    note = "write one coordinate for each axis, as a tuple: `(i, j)`; for one axis `(i,)` or `i`"
)]
pub trait Coords<const N: usize> {
    #[doc(hidden)]
    fn coords(self, place: Place) -> [CoordHandle; N];
}

impl<A: IntoCoord> Coords<1> for A {
    fn coords(self, place: Place) -> [CoordHandle; 1] {
        [self.coord(place)]
    }
}
impl<A: IntoCoord, const N: usize> Coords<N> for [A; N] {
    fn coords(self, place: Place) -> [CoordHandle; N] {
        self.map(|a| a.coord(place))
    }
}
macro_rules! tuple_coords {
    ($($n:literal: $($t:ident)*;)*) => { $(
        impl<$($t: IntoCoord),*> Coords<$n> for ($($t,)*) {
            #[allow(non_snake_case, reason = "the variables are named after their types")]
            fn coords(self, place: Place) -> [CoordHandle; $n] {
                let ($($t,)*) = self;
                [$($t.coord(place)),*]
            }
        }
    )* };
}
tuple_coords! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
}

/// Two operands as values of one type: a scalar beside a tile is repeated to the tile's shape.
/// `op` is the operator, for the message when the shapes differ.
pub(crate) fn same_shape(
    cx: &mut crate::staging::Context,
    op: &str,
    lhs: Raw,
    rhs: Raw,
) -> (tilewright_ir::Value, tilewright_ir::Value) {
    let (lhs_ty, rhs_ty) = (cx.ty(lhs), cx.ty(rhs));
    let (lhs, rhs) = (cx.get(lhs), cx.get(rhs));
    let (lhs, rhs) = (cx.splat(lhs, rhs_ty.shape()), cx.splat(rhs, lhs_ty.shape()));
    if lhs_ty.shape() != rhs_ty.shape() && !lhs_ty.shape().is_empty() && !rhs_ty.shape().is_empty()
    {
        cx.report(diag::shapes_differ(&cx.span(), op, &lhs_ty, &rhs_ty));
        return (lhs, lhs);
    }
    (lhs, rhs)
}

/// `rhs` as an operand of the form of `lhs`, for ops whose first operand decides the result's type.
pub(crate) fn like(
    cx: &mut crate::staging::Context,
    op: &str,
    lhs: Raw,
    rhs: Raw,
) -> tilewright_ir::Value {
    if cx.ty(lhs).shape().is_empty() && !cx.ty(rhs).shape().is_empty() {
        let ty = cx.ty(rhs);
        cx.report(diag::tile_in_scalar(&cx.span(), &ty));
        return cx.get(lhs);
    }
    same_shape(cx, op, lhs, rhs).1
}

/// The shape of a handle's value, empty for a scalar.
pub(crate) fn shape_of(raw: Raw) -> Vec<usize> {
    at(Location::caller(), |cx| cx.ty(raw).shape().to_vec()).unwrap_or_default()
}
