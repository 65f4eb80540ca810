//! `&&` and `||`: short-circuiting on host values, element-wise on kernel values, whose right side
//! is always computed.

use crate::elem::Bool;
use crate::handle::{Scalar, Tile};
use crate::ops::konst;

/// Truth values that `&&` and `||` combine with one of type `R`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` and `{R}` cannot be combined with `&&` or `||`",
    label = "not a truth value",
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

macro_rules! operators {
    ($($name:ident $method:ident $decides:literal $text:literal;)*) => { $(
        #[doc = concat!("`lhs ", $text, " rhs`, in two steps so that a host value can skip the second.")]
        #[derive(Debug)]
        pub struct $name<L, R> {
            lhs: L,
            rhs: Option<R>,
        }

        impl<L: Logic<R>, R> $name<L, R> {
            /// The left side is known.
            pub fn new(lhs: L) -> Self {
                $name { lhs, rhs: None }
            }

            /// Whether the right side is to be computed.
            pub fn needs_rhs(&self) -> bool {
                self.lhs.host() != Some($decides)
            }

            /// The right side is known.
            pub fn rhs(&mut self, rhs: R) {
                self.rhs = Some(rhs);
            }

            /// The result.
            #[track_caller]
            pub fn finish(self) -> L::Out {
                match self.rhs {
                    Some(rhs) => self.lhs.$method(rhs),
                    None => self.lhs.decided(),
                }
            }
        }
    )* };
}
operators! {
    And and false "&&";
    Or or true "||";
}
