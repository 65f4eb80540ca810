//! Element-wise functions, `fma` and `select`.

use super::arith::unary;
use super::on_handles;
use crate::elem::{Bool, Elem, Float, Number};
use crate::handle::{Handle, RawHandle, Scalar, Tile};
use crate::operand::{IntoOperand, like};
use crate::staging::emit;
use std::panic::Location;
use tilewright_ir::{TileOp, UnaryOp};

macro_rules! functions {
    ($($name:ident $op:ident $doc:literal;)*) => {
        on_handles! {
            where E: Float;
            $(
                #[doc = $doc]
                #[track_caller]
                pub fn $name(self) -> Self {
                    Self::from_raw(unary(Location::caller(), UnaryOp::$op, self.raw))
                }
            )*
        }
    };
}
functions! {
    exp Exp "e to the power of each element. f32: within 2 ulp.";
    exp2 Exp2 "2 to the power of each element. f32: within 2 ulp.";
    ln Ln "Natural logarithm. f32: within 2 ulp; `ln 0` is −inf, of a negative NaN.";
    log2 Log2 "Logarithm to base 2. f32: within 2 ulp.";
    sqrt Sqrt "Square root, correctly rounded.";
    rsqrt Rsqrt "`1 / sqrt(x)`, each step correctly rounded.";
    recip Recip "`1 / x`, correctly rounded.";
    sin Sin "Sine of radians.";
    cos Cos "Cosine of radians.";
    tanh Tanh "Hyperbolic tangent. f32: within 4 ulp.";
    erf Erf "Error function. f32: within 4 ulp.";
    floor Floor "The nearest integer not above.";
    ceil Ceil "The nearest integer not below.";
    round Round "The nearest integer, ties to even.";
    trunc Trunc "The integer part.";
}

/// `a · b + c` with one rounding. The first operand decides whether the result is a tile.
#[track_caller]
pub fn fma<A>(a: A, b: impl IntoOperand<A::Elem>, c: impl IntoOperand<A::Elem>) -> A
where
    A: Handle,
    A::Elem: Number,
{
    let place = Location::caller();
    let (a, b, c) = (a.raw_handle().0, b.operand(place).0, c.operand(place).0);
    A::of(RawHandle(emit(place, |cx| {
        let (b, c) = (like(cx, "fma", a, b), like(cx, "fma", a, c));
        TileOp::Fma { a: cx.get(a), b, c }
    })))
}

/// The condition of a [`select`]: a `Tile<Bool>`, whose result is a tile, or a `Scalar<Bool>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel condition",
    label = "expected `Tile<Bool>` or `Scalar<Bool>`",
    note = "a host `bool` is decided while staging: write `if`"
)]
pub trait Mask: Copy {
    /// The result for elements of type `E`.
    type Of<E: Elem>: Handle<Elem = E>;
    #[doc(hidden)]
    fn mask(self) -> RawHandle;
}
impl Mask for Tile<Bool> {
    type Of<E: Elem> = Tile<E>;
    fn mask(self) -> RawHandle {
        self.raw_handle()
    }
}
impl Mask for Scalar<Bool> {
    type Of<E: Elem> = Scalar<E>;
    fn mask(self) -> RawHandle {
        self.raw_handle()
    }
}

/// `on_true` where `cond` holds, else `on_false`; both are computed. With a tile condition, scalars
/// and constants are repeated to its shape.
#[track_caller]
pub fn select<E: Elem, C: Mask>(
    cond: C,
    on_true: impl IntoOperand<E>,
    on_false: impl IntoOperand<E>,
) -> C::Of<E> {
    let place = Location::caller();
    let cond = cond.mask().0;
    let (on_true, on_false) = (on_true.operand(place).0, on_false.operand(place).0);
    Handle::of(RawHandle(emit(place, |cx| {
        let (on_true, on_false) =
            (like(cx, "select", cond, on_true), like(cx, "select", cond, on_false));
        TileOp::Select { cond: cx.get(cond), on_true, on_false }
    })))
}
