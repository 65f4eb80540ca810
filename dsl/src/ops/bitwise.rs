//! `& | ^ << >>`, their assigning forms, and `!`.

use super::arith::{binary, operator, unary};
use crate::elem::{Bits, Int};
use crate::handle::{Scalar, Tile};
use crate::operand::{IntoOperand, ScalarLike};
use std::ops::{
    BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Not, Shl, ShlAssign, Shr,
    ShrAssign,
};
use std::panic::Location;
use tilewright_ir::{BinaryOp, UnaryOp};

operator!(And: BitAnd bitand, BitAndAssign bitand_assign, "&", Bits, [usize: Int]);
operator!(Or: BitOr bitor, BitOrAssign bitor_assign, "|", Bits, [usize: Int]);
operator!(Xor: BitXor bitxor, BitXorAssign bitxor_assign, "^", Bits, [usize: Int]);
operator!(Shl: Shl shl, ShlAssign shl_assign, "<<", Int, [usize: Int]);
operator!(Shr: Shr shr, ShrAssign shr_assign, ">>", Int, [usize: Int]);

impl<E: Bits> Not for Tile<E> {
    type Output = Tile<E>;
    #[track_caller]
    fn not(self) -> Tile<E> {
        Tile::from_raw(unary(Location::caller(), UnaryOp::Not, self.raw))
    }
}
impl<E: Bits> Not for Scalar<E> {
    type Output = Scalar<E>;
    #[track_caller]
    fn not(self) -> Scalar<E> {
        Scalar::from_raw(unary(Location::caller(), UnaryOp::Not, self.raw))
    }
}
