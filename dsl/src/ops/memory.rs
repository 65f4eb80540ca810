//! Reading and writing views.

use crate::diag;
use crate::elem::{Elem, I64};
use crate::handle::{Scalar, Tile, View, ViewMut};
use crate::operand::{CoordForm, CoordHandle, Coords, IntoIndex, IntoOperand, ScalarLike};
use crate::source::Place;
use crate::staging::{Context, at, emit, emit_n};
use std::ops::Deref;
use std::panic::Location;
use tilewright_ir::{Access, Bound, TileOp, Value};

/// What is known of an access along one axis; see [`tilewright_ir::Bound`].
#[derive(Clone, Copy, Debug)]
enum AxisBound {
    Dim,
    Limit(Scalar<I64>),
    Inside,
}

/// A block of a [`View`], not read yet.
///
/// Elements outside the view (and at or past a [`limit`](TileRef::limit)) are masked: loads give 0
/// or the value of [`load_or`](TileRef::load_or).
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is read before `load`"]
pub struct TileRef<E: Elem, const N: usize> {
    view: View<E, N>,
    coords: [CoordHandle; N],
    bounds: [AxisBound; N],
    shape: [usize; N],
}

/// A block of a [`ViewMut`], not read or written yet; masked elements are not written.
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is written before `store`"]
pub struct TileMut<E: Elem, const N: usize> {
    tile: TileRef<E, N>,
}

impl<E: Elem, const N: usize> Deref for TileMut<E, N> {
    type Target = TileRef<E, N>;
    fn deref(&self) -> &TileRef<E, N> {
        &self.tile
    }
}

impl<E: Elem, const N: usize> View<E, N> {
    /// The extent of `axis`.
    #[track_caller]
    pub fn dim(self, axis: usize) -> Scalar<I64> {
        Scalar::from_raw(emit(Location::caller(), |cx| {
            if axis >= N {
                cx.report(diag::bad_axis(&cx.span(), axis, N, "view"));
            }
            TileOp::Dim { view: cx.get(self.raw), axis: axis.min(N.saturating_sub(1)) }
        }))
    }

    /// The block of `shape` at `coords`, which has one coordinate for each axis: an index (where the
    /// block starts), or a `Tile<I32>` or `Tile<I64>` of shape `[shape[axis]]` with the position of
    /// each row (negative: masked).
    #[track_caller]
    pub fn tile(self, coords: impl Coords<N>, shape: [usize; N]) -> TileRef<E, N> {
        let coords = coords.coords(Location::caller());
        TileRef { view: self, coords, bounds: [AxisBound::Dim; N], shape }
    }

    /// As [`View::tile`], but an index tile has the full `shape` and gives each element its own
    /// position along that axis.
    #[track_caller]
    pub fn gather(self, coords: impl Coords<N>, shape: [usize; N]) -> TileRef<E, N> {
        let mut tile = self.tile(coords, shape);
        for c in &mut tile.coords {
            if c.form == CoordForm::Rows {
                c.form = CoordForm::Gather;
            }
        }
        tile
    }

    /// One element; 0 outside the view.
    #[track_caller]
    pub fn get(self, coords: impl Coords<N>) -> Scalar<E> {
        let tile = self.tile(coords, [1; N]);
        load_element(Location::caller(), &tile)
    }

    /// One element that the kernel promises to be inside the view.
    #[track_caller]
    pub fn get_inside(self, coords: impl Coords<N>) -> Scalar<E> {
        let tile = self.tile(coords, [1; N]).inside();
        load_element(Location::caller(), &tile)
    }
}

impl<E: Elem, const N: usize> ViewMut<E, N> {
    /// As [`View::tile`], to be read or written.
    #[track_caller]
    pub fn tile(self, coords: impl Coords<N>, shape: [usize; N]) -> TileMut<E, N> {
        TileMut { tile: self.as_view().tile(coords, shape) }
    }

    /// As [`View::gather`], to be read or written.
    #[track_caller]
    pub fn gather(self, coords: impl Coords<N>, shape: [usize; N]) -> TileMut<E, N> {
        TileMut { tile: self.as_view().gather(coords, shape) }
    }

    /// Writes one element; outside the view nothing happens.
    #[track_caller]
    pub fn set(self, coords: impl Coords<N>, value: impl IntoOperand<E> + ScalarLike) {
        let place = Location::caller();
        let value = value.operand(place).0;
        let tile = self.as_view().tile(coords, [1; N]);
        emit_n::<0>(place, |cx| TileOp::Store { access: tile.access(cx), value: cx.get(value) });
    }
}

fn load_element<E: Elem, const N: usize>(place: Place, tile: &TileRef<E, N>) -> Scalar<E> {
    Scalar::from_raw(emit(place, |cx| TileOp::Load {
        access: tile.access(cx),
        shape: Vec::new(),
        other: None,
    }))
}

impl<E: Elem, const N: usize> TileRef<E, N> {
    /// The shape of the block.
    pub fn shape(&self) -> [usize; N] {
        self.shape
    }

    /// Masks positions at or past `limit` along `axis`, besides those outside the view.
    #[track_caller]
    pub fn limit(mut self, axis: usize, limit: impl IntoIndex) -> Self {
        let place = Location::caller();
        let limit = limit.index_at(place);
        self.bound(place, axis, AxisBound::Limit(limit));
        self
    }

    /// Promises that every position is inside the view.
    pub fn inside(mut self) -> Self {
        self.bounds = [AxisBound::Inside; N];
        self
    }

    /// Promises that every position along `axis` is inside the view.
    #[track_caller]
    pub fn inside_axis(mut self, axis: usize) -> Self {
        self.bound(Location::caller(), axis, AxisBound::Inside);
        self
    }

    /// Reads the block; masked elements are 0.
    #[track_caller]
    pub fn load(&self) -> Tile<E> {
        Tile::from_raw(emit(Location::caller(), |cx| TileOp::Load {
            access: self.access(cx),
            shape: self.shape.to_vec(),
            other: None,
        }))
    }

    /// Reads the block; masked elements are `other`.
    #[track_caller]
    pub fn load_or(&self, other: impl IntoOperand<E> + ScalarLike) -> Tile<E> {
        let place = Location::caller();
        let other = other.operand(place).0;
        Tile::from_raw(emit(place, |cx| TileOp::Load {
            access: self.access(cx),
            shape: self.shape.to_vec(),
            other: Some(cx.get(other)),
        }))
    }

    fn bound(&mut self, place: Place, axis: usize, bound: AxisBound) {
        match self.bounds.get_mut(axis) {
            Some(b) => *b = bound,
            None => {
                at(place, |cx| cx.report(diag::bad_axis(&cx.span(), axis, N, "view")));
            }
        }
    }

    pub(crate) fn access(&self, cx: &mut Context) -> Access {
        Access {
            view: cx.get(self.view.raw),
            coords: self.coords.iter().map(|c| c.to_ir(cx)).collect(),
            bounds: self
                .bounds
                .iter()
                .map(|b| match b {
                    AxisBound::Dim => Bound::Dim,
                    AxisBound::Limit(s) => Bound::Limit(cx.get(s.raw)),
                    AxisBound::Inside => Bound::Inside,
                })
                .collect(),
        }
    }
}

impl<E: Elem, const N: usize> TileMut<E, N> {
    /// A block that is known to be part of a writable view.
    pub(crate) fn of(tile: TileRef<E, N>) -> Self {
        TileMut { tile }
    }

    /// As [`TileRef::limit`].
    #[track_caller]
    pub fn limit(self, axis: usize, limit: impl IntoIndex) -> Self {
        TileMut { tile: self.tile.limit(axis, limit) }
    }

    /// As [`TileRef::inside`].
    pub fn inside(self) -> Self {
        TileMut { tile: self.tile.inside() }
    }

    /// As [`TileRef::inside_axis`].
    #[track_caller]
    pub fn inside_axis(self, axis: usize) -> Self {
        TileMut { tile: self.tile.inside_axis(axis) }
    }

    /// Writes the block; masked elements are not written. A scalar or constant is repeated to the
    /// block's shape, and a tile may leave out axes of extent 1.
    #[track_caller]
    pub fn store(&self, value: impl IntoOperand<E>) {
        let place = Location::caller();
        let value = value.operand(place).0;
        emit_n::<0>(place, |cx| {
            let value = cx.get(value);
            TileOp::Store { access: self.tile.access(cx), value: self.fit(cx, value) }
        });
    }

    /// `value` with the block's shape, as far as repeating and axes of extent 1 can give it.
    pub(crate) fn fit(&self, cx: &mut Context, value: Value) -> Value {
        let value = cx.splat(value, &self.tile.shape);
        let shape = cx.builder.func().ty(value).shape();
        let squeezed = |s: &[usize]| s.iter().copied().filter(|&d| d != 1).collect::<Vec<_>>();
        if shape != self.tile.shape && squeezed(shape) == squeezed(&self.tile.shape) {
            return cx.push1(TileOp::Reshape { x: value, shape: self.tile.shape.to_vec() });
        }
        if shape != self.tile.shape {
            let ty = cx.builder.func().ty(value).clone();
            cx.report(diag::store_shape(&cx.span(), &ty, &self.tile.shape));
        }
        value
    }
}
