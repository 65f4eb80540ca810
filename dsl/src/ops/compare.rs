//! Comparisons. `#[kernel]` rewrites `a < b` to [`KernelOrd`] and `a == b` to [`KernelEq`], which
//! give `bool` on host values and a kernel truth value on kernel values; outside of a `#[kernel]`
//! function the methods `lt`, `le`, `gt`, `ge`, `eq` and `ne` do the latter.

use crate::elem::{Bool, Elem, Float, Int};
use crate::handle::{Raw, Scalar, Tile};
use crate::operand::{IntoOperand, ScalarLike, same_shape};
use crate::source::Place;
use crate::staging::emit;
use std::panic::Location;
use tilewright_ir::{CompareOp, TileOp};

fn compare(place: Place, op: CompareOp, lhs: Raw, rhs: Raw) -> Raw {
    let text = match op {
        CompareOp::Eq => "==",
        CompareOp::Ne => "!=",
        CompareOp::Lt => "<",
        CompareOp::Le => "<=",
        CompareOp::Gt => ">",
        CompareOp::Ge => ">=",
    };
    emit(place, |cx| {
        let (lhs, rhs) = same_shape(cx, text, lhs, rhs);
        TileOp::Compare { op, lhs, rhs }
    })
}

macro_rules! comparison_traits {
    ($($(#[$doc:meta])* $trait:ident: $host:ident, $($method:ident $op:ident $token:tt),*;)*) => { $(
        $(#[$doc])*
        #[diagnostic::on_unimplemented(
            message = "`{Self}` cannot be compared with `{R}` in a kernel",
            label = "no comparison of `{Self}` with `{R}`",
            note = "kernel values compare with kernel values of the same element type and with constants; put a host variable on the right"
        )]
        pub trait $trait<R: ?Sized> {
            /// `bool` for host values, else a kernel truth value.
            type Out;
            $(
                #[doc = concat!("`self ", stringify!($token), " rhs`.")]
                #[track_caller]
                fn $method(&self, rhs: &R) -> Self::Out;
            )*
        }

        impl<T: $host + ?Sized> $trait<T> for T {
            type Out = bool;
            $(fn $method(&self, rhs: &T) -> bool {
                self $token rhs
            })*
        }
        impl<E: Elem, R: IntoOperand<E>> $trait<R> for Tile<E> {
            type Out = Tile<Bool>;
            $(#[track_caller]
            fn $method(&self, rhs: &R) -> Tile<Bool> {
                let place = Location::caller();
                let rhs = rhs.operand(place).0;
                Tile::from_raw(compare(place, CompareOp::$op, self.raw, rhs))
            })*
        }
        impl<E: Elem, R: IntoOperand<E> + ScalarLike> $trait<R> for Scalar<E> {
            type Out = Scalar<Bool>;
            $(#[track_caller]
            fn $method(&self, rhs: &R) -> Scalar<Bool> {
                let place = Location::caller();
                let rhs = rhs.operand(place).0;
                Scalar::from_raw(compare(place, CompareOp::$op, self.raw, rhs))
            })*
        }
        impl<E: Elem> $trait<Tile<E>> for Scalar<E> {
            type Out = Tile<Bool>;
            $(#[track_caller]
            fn $method(&self, rhs: &Tile<E>) -> Tile<Bool> {
                Tile::from_raw(compare(Location::caller(), CompareOp::$op, self.raw, rhs.raw))
            })*
        }
        comparison_traits!(@host $trait f64 Float $($method $op),*);
        comparison_traits!(@host $trait usize Int $($method $op),*);
    )* };
    (@host $trait:ident $host:ident $bound:ident $($method:ident $op:ident),*) => {
        comparison_traits!(@side $trait $host $bound Tile $($method $op),*);
        comparison_traits!(@side $trait $host $bound Scalar $($method $op),*);
    };
    (@side $trait:ident $host:ident $bound:ident $handle:ident $($method:ident $op:ident),*) => {
        impl<E: $bound> $trait<$handle<E>> for $host {
            type Out = $handle<Bool>;
            $(#[track_caller]
            fn $method(&self, rhs: &$handle<E>) -> $handle<Bool> {
                let place = Location::caller();
                let lhs = IntoOperand::<E>::operand(*self, place).0;
                $handle::from_raw(compare(place, CompareOp::$op, lhs, rhs.raw))
            })*
        }
    };
}

comparison_traits! {
    /// What `==` and `!=` become in a `#[kernel]` function.
    KernelEq: PartialEq, kernel_eq Eq ==, kernel_ne Ne !=;
    /// What `<`, `<=`, `>` and `>=` become in a `#[kernel]` function.
    KernelOrd: PartialOrd, kernel_lt Lt <, kernel_le Le <=, kernel_gt Gt >, kernel_ge Ge >=;
}

impl KernelEq<str> for String {
    type Out = bool;
    fn kernel_eq(&self, rhs: &str) -> bool {
        self == rhs
    }
    fn kernel_ne(&self, rhs: &str) -> bool {
        self != rhs
    }
}
impl KernelEq<&str> for String {
    type Out = bool;
    fn kernel_eq(&self, rhs: &&str) -> bool {
        self == rhs
    }
    fn kernel_ne(&self, rhs: &&str) -> bool {
        self != rhs
    }
}

macro_rules! comparison_methods {
    ($handle:ident, $bound:ident, $($method:ident $op:ident $text:literal),*) => {
        #[allow(clippy::should_implement_trait, reason = "the result is not a host bool")]
        impl<E: Elem> $handle<E> {
            $(
                #[doc = concat!("`self ", $text, " rhs`, element by element.")]
                #[track_caller]
                pub fn $method<R: IntoOperand<E> + $bound>(self, rhs: R) -> $handle<Bool> {
                    let place = Location::caller();
                    let rhs = rhs.operand(place).0;
                    $handle::from_raw(compare(place, CompareOp::$op, self.raw, rhs))
                }
            )*
        }
    };
}
comparison_methods!(Tile, Copy, eq Eq "==", ne Ne "!=", lt Lt "<", le Le "<=", gt Gt ">", ge Ge ">=");
comparison_methods!(Scalar, ScalarLike, eq Eq "==", ne Ne "!=", lt Lt "<", le Le "<=", gt Gt ">", ge Ge ">=");
