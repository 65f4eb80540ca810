//! Atomic read-modify-write: relaxed, at device scope, without a result.

use super::memory::TileMut;
use crate::elem::{Elem, Number};
use crate::handle::ViewMut;
use crate::operand::{Coords, IntoOperand, ScalarLike};
use crate::staging::emit_n;
use std::panic::Location;
use tilewright_ir::{AtomicOp, TileOp};

impl<E: Elem, const N: usize> TileMut<E, N> {
    /// Combines `value` into the block with `op`; masked elements do nothing.
    #[track_caller]
    pub fn atomic(&self, op: AtomicOp, value: impl IntoOperand<E>) {
        let place = Location::caller();
        let value = value.operand(place).0;
        emit_n::<0>(place, |cx| {
            let value = cx.get(value);
            TileOp::Atomic { op, access: self.access(cx), value: self.fit(cx, value) }
        });
    }
}

impl<E: Number, const N: usize> ViewMut<E, N> {
    /// Adds `value` to one element; outside the view nothing happens.
    #[track_caller]
    pub fn atomic_add(self, coords: impl Coords<N>, value: impl IntoOperand<E> + ScalarLike) {
        let place = Location::caller();
        let value = value.operand(place).0;
        let tile = self.as_view().tile(coords, [1; N]);
        emit_n::<0>(place, |cx| TileOp::Atomic {
            op: AtomicOp::Add,
            access: tile.access(cx),
            value: cx.get(value),
        });
    }
}
