//! Every `step`-th position of an axis.

use super::index_tile;
use crate::elem::{Elem, I64};
use crate::handle::{Index, View};
use crate::operand::{CoordForm, CoordHandle, Coords, IntoIndex};
use crate::ops::{TileRef, iota, select};
use std::panic::Location;
use tilewright_macros::Carry;

/// `view` with one axis thinned out: position `i` of that axis is `start + i · step`.
///
/// ```
/// use tilewright_dsl::prelude::*;
/// use tilewright_dsl::views::StridedView;
///
/// /// The rows of one rank of four, which take turns.
/// #[kernel]
/// fn shard(x: View<F32, 2>, out: ViewMut<F32, 2>, rank: Index) {
///     let mine = StridedView::new(x, 0, rank, 4);
///     let m = program_id(0) * 8;
///     out.tile((m, 0), [8, 64]).store(mine.tile((m, 0), [8, 64]).load());
/// }
///
/// let func = stage("shard", |s| shard(s.view("x"), s.view_mut("out"), s.scalar("rank")));
/// assert!(func.is_ok());
/// ```
#[derive(Clone, Copy, Debug, Carry)]
pub struct StridedView<E: Elem, const N: usize> {
    view: View<E, N>,
    #[carry(host)]
    axis: usize,
    start: Index,
    step: Index,
}

impl<E: Elem, const N: usize> StridedView<E, N> {
    /// Positions `start`, `start + step`, … of `axis`; `step` is positive.
    #[track_caller]
    pub fn new(
        view: View<E, N>,
        axis: usize,
        start: impl IntoIndex,
        step: impl IntoIndex,
    ) -> StridedView<E, N> {
        StridedView { view, axis, start: start.into_index(), step: step.into_index() }
    }

    /// The extent of `axis`, of the thinned-out one the number of positions left.
    #[track_caller]
    pub fn dim(self, axis: usize) -> Index {
        let dim = self.view.dim(axis);
        if axis == self.axis { (dim - self.start).max(0).div_ceil(self.step) } else { dim }
    }

    /// The block of `shape` at `coords`; positions past the end are masked.
    #[track_caller]
    pub fn tile(self, coords: impl Coords<N>, shape: [usize; N]) -> TileRef<E, N> {
        let mut coords = coords.coords(Location::caller());
        if let (Some(coord), Some(&len)) = (coords.get_mut(self.axis), shape.get(self.axis)) {
            let index = match coord.form {
                CoordForm::Span => iota::<I64>(len) + Index::from_raw(coord.raw),
                CoordForm::Rows | CoordForm::Gather => index_tile(*coord),
            };
            let position = select(index.lt(0), -1, index * self.step + self.start);
            *coord = CoordHandle { raw: position.raw, form: CoordForm::Rows };
        }
        self.view.tile(coords, shape)
    }
}
