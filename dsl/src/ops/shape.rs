//! Shapes: reshape, transpose, broadcast, slice, join, split.

use crate::diag;
use crate::elem::Elem;
use crate::handle::Tile;
use crate::source::Place;
use crate::staging::{at, emit, emit_n};
use std::panic::Location;
use tilewright_ir::TileOp;

fn report(place: Place, what: String, help: &str) {
    at(place, |cx| cx.report(diag::bad_shape(&cx.span(), what, help)));
}

impl<E: Elem> Tile<E> {
    /// The same elements in row-major order with another shape.
    #[track_caller]
    pub fn reshape(self, shape: impl AsRef<[usize]>) -> Tile<E> {
        let place = Location::caller();
        let (from, shape) = (self.shape(), shape.as_ref().to_vec());
        if from.iter().product::<usize>() != shape.iter().product() {
            report(place, format!("a tile of shape {from:?} cannot be reshaped to {shape:?}"), "");
        }
        Tile::from_raw(emit(place, |cx| TileOp::Reshape { x: cx.get(self.raw), shape }))
    }

    /// Swaps the last two axes.
    #[track_caller]
    pub fn t(self) -> Tile<E> {
        let rank = self.rank();
        if rank < 2 {
            report(
                Location::caller(),
                format!("`t` of a tile of rank {rank}"),
                "it swaps the last two axes",
            );
            return self;
        }
        let mut perm: Vec<usize> = (0..rank).collect();
        perm.swap(rank - 2, rank - 1);
        self.permute(perm)
    }

    /// Axis `i` of the result is axis `perm[i]` of the tile.
    #[track_caller]
    pub fn permute(self, perm: impl AsRef<[usize]>) -> Tile<E> {
        let perm = perm.as_ref().to_vec();
        Tile::from_raw(emit(Location::caller(), |cx| TileOp::Transpose {
            x: cx.get(self.raw),
            perm,
        }))
    }

    /// Repeats axes of extent 1 to `shape`, which has the same rank.
    #[track_caller]
    pub fn broadcast(self, shape: impl AsRef<[usize]>) -> Tile<E> {
        let place = Location::caller();
        let (from, shape) = (self.shape(), shape.as_ref().to_vec());
        let fits =
            from.len() == shape.len() && from.iter().zip(&shape).all(|(a, b)| *a == 1 || a == b);
        if !fits {
            report(
                place,
                format!("a tile of shape {from:?} cannot be broadcast to {shape:?}"),
                "only axes of extent 1 are repeated; `expand(axis)` inserts one",
            );
        }
        if from == shape {
            return self;
        }
        Tile::from_raw(emit(place, |cx| TileOp::Broadcast { x: cx.get(self.raw), shape }))
    }

    /// Inserts an axis of extent 1 before `axis`.
    #[track_caller]
    pub fn expand(self, axis: usize) -> Tile<E> {
        let mut shape = self.shape();
        if axis > shape.len() {
            let rank = shape.len();
            at(Location::caller(), |cx| {
                cx.report(diag::bad_axis(&cx.span(), axis, rank + 1, "tile"))
            });
            return self;
        }
        shape.insert(axis, 1);
        self.reshape(shape)
    }

    /// Lays a rank-1 tile along `axis` of `shape` and repeats it along the others: with `axis` 0 of
    /// `[m, n]`, element `(i, j)` of the result is element `i`.
    #[track_caller]
    pub fn along(self, axis: usize, shape: impl AsRef<[usize]>) -> Tile<E> {
        let shape = shape.as_ref();
        let from = self.shape();
        if from.len() != 1 || shape.get(axis) != from.first() {
            report(
                Location::caller(),
                format!("a tile of shape {from:?} cannot lie along axis {axis} of {shape:?}"),
                "`v.along(axis, shape)` needs a rank-1 tile with `shape[axis]` elements",
            );
            return self;
        }
        let unit: Vec<usize> =
            (0..shape.len()).map(|i| if i == axis { from[0] } else { 1 }).collect();
        self.reshape(unit).broadcast(shape)
    }

    /// Every row of the result, of shape `[m, n]`, is this rank-1 tile.
    #[track_caller]
    pub fn row_bcast(self, shape: [usize; 2]) -> Tile<E> {
        self.along(1, shape)
    }

    /// Every column of the result, of shape `[m, n]`, is this rank-1 tile.
    #[track_caller]
    pub fn col_bcast(self, shape: [usize; 2]) -> Tile<E> {
        self.along(0, shape)
    }

    /// `len` elements of `axis`, from `start`; the other axes stay whole.
    #[track_caller]
    pub fn slice(self, axis: usize, start: usize, len: usize) -> Tile<E> {
        let place = Location::caller();
        let mut shape = self.shape();
        let rank = shape.len();
        let Some(extent) = shape.get_mut(axis) else {
            at(place, |cx| cx.report(diag::bad_axis(&cx.span(), axis, rank, "tile")));
            return self;
        };
        if start.saturating_add(len) > *extent || len == 0 {
            report(place, format!("{len} elements from {start} on of an axis of {extent}"), "");
            return self;
        }
        *extent = len;
        let starts = (0..rank).map(|i| if i == axis { start } else { 0 }).collect();
        Tile::from_raw(emit(place, |cx| TileOp::Slice { x: cx.get(self.raw), starts, shape }))
    }

    /// Takes the last axis, of extent 2, apart.
    #[track_caller]
    pub fn split(self) -> (Tile<E>, Tile<E>) {
        let [a, b] = emit_n(Location::caller(), |cx| TileOp::Split { x: cx.get(self.raw) });
        (Tile::from_raw(a), Tile::from_raw(b))
    }
}

/// Stacks two tiles of one shape along a new last axis of extent 2.
#[track_caller]
pub fn join<E: Elem>(lhs: Tile<E>, rhs: Tile<E>) -> Tile<E> {
    Tile::from_raw(emit(Location::caller(), |cx| TileOp::Join {
        lhs: cx.get(lhs.raw),
        rhs: cx.get(rhs.raw),
    }))
}
