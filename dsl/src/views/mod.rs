//! Composite views: an address function plus bounds over plain views, so that one kernel serves
//! paged, ragged, routed and quantised operands without a copy of itself.
//!
//! | view | what it looks like | what it is |
//! |---|---|---|
//! | [`RaggedView`] | `[len(seq), …]` for each sequence | rows of all sequences, one after the other |
//! | [`PagedView`] | `[len(seq), head_dim]` for each sequence and head | pages found by a page table |
//! | [`RoutedView`] | `[num_routed, cols]` | rows picked by a list; −1 is no row |
//! | [`StridedView`] | every `step`-th position of one axis | the whole axis |
//! | [`QuantView`] | `[rows, k]` of `F32` | packed codes, scales and minima by groups |
//!
//! All are structs of plain views. The staging closure declares the parameters and puts them
//! together; the kernel gets the struct.

mod paged;
mod quant;
mod ragged;
mod routed;
mod strided;

pub use paged::{
    KvLayout, PageTable, PagedHead, PagedHeadMut, PagedTile, PagedTileMut, PagedView, PagedViewMut,
};
pub use quant::{QuantCode, QuantView, unpack};
pub use ragged::{RaggedSeq, RaggedSeqMut, RaggedView, RaggedViewMut};
pub use routed::{RoutedView, RoutedViewMut};
pub use strided::StridedView;

use crate::elem::{I32, I64};
use crate::handle::{Index, Tile};
use crate::operand::{CoordForm, CoordHandle, IntoCoord};
use crate::ops::select;
use crate::source::Place;
use crate::staging::at;
use std::panic::Location;
use tilewright_abi::DType;

/// An index tile of either type as `I64`.
#[track_caller]
fn index_tile(coord: CoordHandle) -> Tile<I64> {
    let elem = at(Location::caller(), |cx| cx.ty(coord.raw).elem());
    match elem {
        Some(DType::I32) => Tile::<I32>::from_raw(coord.raw).cast::<I64>(),
        _ => Tile::from_raw(coord.raw),
    }
}

/// `coord` moved by `start`; negative entries of an index tile stay negative.
#[track_caller]
fn shifted(coord: CoordHandle, start: Index, place: Place) -> CoordHandle {
    if coord.form == CoordForm::Span {
        return (Index::from_raw(coord.raw) + start).coord(place);
    }
    let index = index_tile(coord);
    let moved = select(index.lt(0), -1, index + start);
    CoordHandle { raw: moved.raw, form: coord.form }
}
