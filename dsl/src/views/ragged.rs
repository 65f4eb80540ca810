//! Sequences of different lengths, one after the other.

use super::shifted;
use crate::elem::{Elem, I32, I64};
use crate::handle::{Index, View, ViewMut};
use crate::operand::{Coords, IntoIndex};
use crate::ops::{TileMut, TileRef};
use std::panic::Location;
use tilewright_macros::Carry;

/// Rows of all sequences, one after the other: sequence `s` has rows `indptr[s] .. indptr[s + 1]` of
/// the first axis of `data`.
///
/// ```
/// use tilewright_dsl::prelude::*;
/// use tilewright_dsl::views::RaggedView;
///
/// #[kernel]
/// fn sums(x: RaggedView<F32, 2>, out: ViewMut<F32, 2>) {
///     let x = x.seq(program_id(0));
///     let mut acc = zeros::<F32>([8, 64]);
///     for n in range(0, x.len(), 8) {
///         acc += x.tile((n, 0), [8, 64]).load(); // rows of the next sequence are masked
///     }
///     out.tile((program_id(0), 0), [1, 64]).store(acc.sum(0));
/// }
///
/// let func = stage("sums", |s| {
///     let x = RaggedView { data: s.view("x"), indptr: s.view("indptr") };
///     sums(x, s.view_mut("out"))
/// });
/// assert!(func.is_ok());
/// ```
#[derive(Clone, Copy, Debug, Carry)]
pub struct RaggedView<E: Elem, const N: usize> {
    /// `[total_rows, …]`.
    pub data: View<E, N>,
    /// `[num_seqs + 1]`, from 0, not decreasing.
    pub indptr: View<I32, 1>,
}

/// A [`RaggedView`] that can also be written.
#[derive(Clone, Copy, Debug, Carry)]
pub struct RaggedViewMut<E: Elem, const N: usize> {
    /// `[total_rows, …]`.
    pub data: ViewMut<E, N>,
    /// `[num_seqs + 1]`, from 0, not decreasing.
    pub indptr: View<I32, 1>,
}

/// One sequence of a [`RaggedView`]: like a view whose first axis is the sequence's rows.
#[derive(Clone, Copy, Debug, Carry)]
pub struct RaggedSeq<E: Elem, const N: usize> {
    data: View<E, N>,
    start: Index,
    end: Index,
}

/// One sequence of a [`RaggedViewMut`].
#[derive(Clone, Copy, Debug, Carry)]
pub struct RaggedSeqMut<E: Elem, const N: usize> {
    data: ViewMut<E, N>,
    start: Index,
    end: Index,
}

macro_rules! ragged {
    ($view:ident, $seq:ident, $tile:ident) => {
        impl<E: Elem, const N: usize> $view<E, N> {
            /// Number of sequences.
            #[track_caller]
            pub fn num_seqs(self) -> Index {
                self.indptr.dim(0) - 1
            }

            /// Sequence `seq`.
            #[track_caller]
            pub fn seq(self, seq: impl IntoIndex) -> $seq<E, N> {
                let seq = seq.into_index();
                let start = self.indptr.get(seq).cast::<I64>();
                let end = self.indptr.get(seq + 1).cast::<I64>();
                $seq { data: self.data, start, end }
            }
        }

        impl<E: Elem, const N: usize> $seq<E, N> {
            /// Number of rows.
            #[track_caller]
            #[allow(clippy::len_without_is_empty, reason = "a kernel value has no host answer")]
            pub fn len(self) -> Index {
                self.end - self.start
            }

            /// The sequence's row `i` as a row of all sequences' data.
            #[track_caller]
            pub fn row(self, i: impl IntoIndex) -> Index {
                self.start + i.into_index()
            }

            /// The extent of `axis` of the data; [`len`](Self::len) for the first.
            #[track_caller]
            pub fn dim(self, axis: usize) -> Index {
                if axis == 0 { self.len() } else { self.data.dim(axis) }
            }

            /// The block of `shape` at `coords`, the first of which counts from the sequence's start.
            /// Rows past the sequence's end are masked.
            #[track_caller]
            pub fn tile(self, coords: impl Coords<N>, shape: [usize; N]) -> $tile<E, N> {
                let place = Location::caller();
                let mut coords = coords.coords(place);
                if let Some(first) = coords.first_mut() {
                    *first = shifted(*first, self.start, place);
                }
                self.data.tile(coords, shape).limit(0, self.end)
            }
        }
    };
}
ragged!(RaggedView, RaggedSeq, TileRef);
ragged!(RaggedViewMut, RaggedSeqMut, TileMut);
