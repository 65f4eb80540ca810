//! Sorting and counting.

use crate::elem::{I32, Number};
use crate::handle::Tile;
use crate::staging::{emit, emit_n};
use std::panic::Location;
use tilewright_ir::TileOp;

impl<E: Number> Tile<E> {
    /// The elements along `axis` in order, and where each one stood. Stable; NaN is the greatest.
    #[track_caller]
    pub fn sort(self, axis: usize, descending: bool) -> (Tile<E>, Tile<I32>) {
        let [values, positions] =
            emit_n(Location::caller(), |cx| TileOp::Sort { x: cx.get(self.raw), axis, descending });
        (Tile::from_raw(values), Tile::from_raw(positions))
    }
}

impl Tile<I32> {
    /// How often each of the values `0 .. bins` occurs in a rank-1 tile.
    #[track_caller]
    pub fn histogram(self, bins: usize) -> Tile<I32> {
        Tile::from_raw(emit(Location::caller(), |cx| TileOp::Histogram {
            x: cx.get(self.raw),
            bins,
        }))
    }
}
