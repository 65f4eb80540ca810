//! `&&` and `||`: short-circuiting on host values, element-wise on kernel values, whose right side
//! is always computed.

use crate::elem::Bool;
use crate::handle::{Scalar, Tile};
use crate::ops::konst;

/// Truth values that `&&` and `||` combine with one of type `R`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` and `{R}` cannot be combined with `&&` or `||`",
    label = "not two truth values",
    note = "`&&` and `||` take `bool`, `Scalar<Bool>` and `Tile<Bool>`; a tile combines with tiles only"
)]
pub trait Logic<R>: Copy {
    /// `bool` if both sides are host values.
    type Out;
    /// The left side, if it is a host value.
    fn host(self) -> Option<bool>;
    /// Both sides are true.
    #[track_caller]
    fn and(self, rhs: R) -> Self::Out;
    /// One side is true.
    #[track_caller]
    fn or(self, rhs: R) -> Self::Out;
    /// The result when the left side alone decides.
    #[track_caller]
    fn decided(self) -> Self::Out;
}

impl Logic<bool> for bool {
    type Out = bool;
    fn host(self) -> Option<bool> {
        Some(self)
    }
    fn and(self, rhs: bool) -> bool {
        self & rhs
    }
    fn or(self, rhs: bool) -> bool {
        self | rhs
    }
    fn decided(self) -> bool {
        self
    }
}

/// The left side is decided while staging: the right side is the result, or is not staged at all.
impl Logic<Scalar<Bool>> for bool {
    type Out = Scalar<Bool>;
    fn host(self) -> Option<bool> {
        Some(self)
    }
    fn and(self, rhs: Scalar<Bool>) -> Scalar<Bool> {
        rhs
    }
    fn or(self, rhs: Scalar<Bool>) -> Scalar<Bool> {
        rhs
    }
    #[track_caller]
    fn decided(self) -> Scalar<Bool> {
        konst(self)
    }
}

macro_rules! kernel_logic {
    ($lhs:ident, $rhs:ty) => {
        impl Logic<$rhs> for $lhs<Bool> {
            type Out = $lhs<Bool>;
            fn host(self) -> Option<bool> {
                None
            }
            #[track_caller]
            fn and(self, rhs: $rhs) -> $lhs<Bool> {
                self & rhs
            }
            #[track_caller]
            fn or(self, rhs: $rhs) -> $lhs<Bool> {
                self | rhs
            }
            fn decided(self) -> $lhs<Bool> {
                self
            }
        }
    };
}
kernel_logic!(Scalar, Scalar<Bool>);
kernel_logic!(Scalar, bool);
kernel_logic!(Tile, Tile<Bool>);

/// Whether `lhs && rhs` needs `rhs`, of which only the type is known yet.
pub fn and_needs_rhs<L: Logic<R>, R>(lhs: &L, _rhs: &Option<R>) -> bool {
    lhs.host() != Some(false)
}

/// Whether `lhs || rhs` needs `rhs`, of which only the type is known yet.
pub fn or_needs_rhs<L: Logic<R>, R>(lhs: &L, _rhs: &Option<R>) -> bool {
    lhs.host() != Some(true)
}

/// `lhs && rhs`, of which `rhs` is absent if `lhs` decides.
#[track_caller]
pub fn and<L: Logic<R>, R>(lhs: L, rhs: Option<R>) -> L::Out {
    match rhs {
        Some(rhs) => lhs.and(rhs),
        None => lhs.decided(),
    }
}

/// `lhs || rhs`, of which `rhs` is absent if `lhs` decides.
#[track_caller]
pub fn or<L: Logic<R>, R>(lhs: L, rhs: Option<R>) -> L::Out {
    match rhs {
        Some(rhs) => lhs.or(rhs),
        None => lhs.decided(),
    }
}
