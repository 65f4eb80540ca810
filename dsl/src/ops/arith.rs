//! `+ - * / %`, their assigning forms, negation, `max`, `min`, `abs`, `div_ceil`.

use super::on_handles;
use crate::elem::{Elem, Float, Int, Number};
use crate::handle::{Raw, Scalar, Tile};
use crate::operand::{IntoOperand, ScalarLike, same_shape};
use crate::source::Place;
use crate::staging::emit;
use std::ops::{
    Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign,
};
use std::panic::Location;
use tilewright_ir::{BinaryOp, TileOp, UnaryOp};

/// Appends an element-wise operation of two operands; a scalar beside a tile is repeated.
pub(crate) fn binary(place: Place, op: BinaryOp, name: &str, lhs: Raw, rhs: Raw) -> Raw {
    emit(place, |cx| {
        let (lhs, rhs) = same_shape(cx, name, lhs, rhs);
        TileOp::Binary { op, lhs, rhs }
    })
}

/// Appends an element-wise operation of one operand.
pub(crate) fn unary(place: Place, op: UnaryOp, x: Raw) -> Raw {
    emit(place, |cx| TileOp::Unary { op, x: cx.get(x) })
}

/// An operator on handles. Each handle has one impl that is generic over the right operand, so that
/// rustc always knows the result type; a host number on the left is an `f64` or a `usize`, which a
/// literal becomes by itself.
macro_rules! operator {
    ($op:ident: $trait:ident $method:ident, $assign:ident $assign_method:ident, $text:literal,
     $bound:ident, [$($host:ident: $host_bound:ident),*]) => {
        impl<E: $bound, R: IntoOperand<E>> $trait<R> for Tile<E> {
            type Output = Tile<E>;
            #[track_caller]
            fn $method(self, rhs: R) -> Tile<E> {
                let place = Location::caller();
                let rhs = rhs.operand(place).0;
                Tile::from_raw(binary(place, BinaryOp::$op, $text, self.raw, rhs))
            }
        }
        impl<E: $bound, R: IntoOperand<E> + ScalarLike> $trait<R> for Scalar<E> {
            type Output = Scalar<E>;
            #[track_caller]
            fn $method(self, rhs: R) -> Scalar<E> {
                let place = Location::caller();
                let rhs = rhs.operand(place).0;
                Scalar::from_raw(binary(place, BinaryOp::$op, $text, self.raw, rhs))
            }
        }
        impl<E: $bound> $trait<Tile<E>> for Scalar<E> {
            type Output = Tile<E>;
            #[track_caller]
            fn $method(self, rhs: Tile<E>) -> Tile<E> {
                let place = Location::caller();
                Tile::from_raw(binary(place, BinaryOp::$op, $text, self.raw, rhs.raw))
            }
        }
        $(
            impl<E: $host_bound> $trait<Tile<E>> for $host {
                type Output = Tile<E>;
                #[track_caller]
                fn $method(self, rhs: Tile<E>) -> Tile<E> {
                    let place = Location::caller();
                    let lhs = IntoOperand::<E>::operand(self, place).0;
                    Tile::from_raw(binary(place, BinaryOp::$op, $text, lhs, rhs.raw))
                }
            }
            impl<E: $host_bound> $trait<Scalar<E>> for $host {
                type Output = Scalar<E>;
                #[track_caller]
                fn $method(self, rhs: Scalar<E>) -> Scalar<E> {
                    let place = Location::caller();
                    let lhs = IntoOperand::<E>::operand(self, place).0;
                    Scalar::from_raw(binary(place, BinaryOp::$op, $text, lhs, rhs.raw))
                }
            }
        )*
        impl<E: $bound, R: IntoOperand<E>> $assign<R> for Tile<E> {
            #[track_caller]
            fn $assign_method(&mut self, rhs: R) {
                *self = $trait::$method(*self, rhs);
            }
        }
        impl<E: $bound, R: IntoOperand<E> + ScalarLike> $assign<R> for Scalar<E> {
            #[track_caller]
            fn $assign_method(&mut self, rhs: R) {
                *self = $trait::$method(*self, rhs);
            }
        }
    };
}
pub(crate) use operator;

operator!(Add: Add add, AddAssign add_assign, "+", Number, [f64: Float, usize: Int]);
operator!(Sub: Sub sub, SubAssign sub_assign, "-", Number, [f64: Float, usize: Int]);
operator!(Mul: Mul mul, MulAssign mul_assign, "*", Number, [f64: Float, usize: Int]);
operator!(Div: Div div, DivAssign div_assign, "/", Number, [f64: Float, usize: Int]);
operator!(Rem: Rem rem, RemAssign rem_assign, "%", Number, [f64: Float, usize: Int]);

impl<E: Number> Neg for Tile<E> {
    type Output = Tile<E>;
    #[track_caller]
    fn neg(self) -> Tile<E> {
        Tile::from_raw(unary(Location::caller(), UnaryOp::Neg, self.raw))
    }
}
impl<E: Number> Neg for Scalar<E> {
    type Output = Scalar<E>;
    #[track_caller]
    fn neg(self) -> Scalar<E> {
        Scalar::from_raw(unary(Location::caller(), UnaryOp::Neg, self.raw))
    }
}

/// `max` and `min`, whose operand on a scalar must be a scalar.
macro_rules! extremes {
    ($handle:ident, $($bound:ident)+) => {
        impl<E: Number> $handle<E> {
            /// The greater, element by element. Floats: NaN wins, −0 is less than +0.
            #[track_caller]
            pub fn max<R: $($bound +)+ IntoOperand<E>>(self, rhs: R) -> Self {
                let place = Location::caller();
                let rhs = rhs.operand(place).0;
                Self::from_raw(binary(place, BinaryOp::Max, "max", self.raw, rhs))
            }

            /// The lesser, element by element. Floats: NaN wins, −0 is less than +0.
            #[track_caller]
            pub fn min<R: $($bound +)+ IntoOperand<E>>(self, rhs: R) -> Self {
                let place = Location::caller();
                let rhs = rhs.operand(place).0;
                Self::from_raw(binary(place, BinaryOp::Min, "min", self.raw, rhs))
            }

            /// Within `lo ..= hi`; NaN stays NaN.
            #[track_caller]
            pub fn clamp<A, B>(self, lo: A, hi: B) -> Self
            where
                A: $($bound +)+ IntoOperand<E>,
                B: $($bound +)+ IntoOperand<E>,
            {
                self.max(lo).min(hi)
            }
        }
    };
}
extremes!(Tile, Copy);
extremes!(Scalar, ScalarLike);

on_handles! {
    where E: Number;

    /// The absolute value; integers wrap.
    #[track_caller]
    pub fn abs(self) -> Self {
        Self::from_raw(unary(Location::caller(), UnaryOp::Abs, self.raw))
    }
}

impl<E: Int> Scalar<E> {
    /// The quotient rounded up, for operands that are not negative.
    #[track_caller]
    pub fn div_ceil<R: IntoOperand<E> + ScalarLike>(self, rhs: R) -> Self {
        let place = Location::caller();
        let rhs = Scalar::<E>::from_raw(rhs.operand(place).0);
        (self + (rhs - 1)) / rhs
    }

    /// The least multiple of `rhs` that is not less, for operands that are not negative.
    #[track_caller]
    pub fn next_multiple_of<R: IntoOperand<E> + ScalarLike>(self, rhs: R) -> Self {
        let place = Location::caller();
        let rhs = Scalar::<E>::from_raw(rhs.operand(place).0);
        self.div_ceil(rhs) * rhs
    }
}

impl<E: Elem> Scalar<E> {
    /// A tile of `shape` whose every element is this.
    #[track_caller]
    pub fn splat(self, shape: impl AsRef<[usize]>) -> Tile<E> {
        let shape = shape.as_ref().to_vec();
        Tile::from_raw(emit(Location::caller(), |cx| TileOp::Splat { x: cx.get(self.raw), shape }))
    }
}
