//! Rows picked by a list, as a mixture of experts routes them.

use crate::elem::{Elem, I32};
use crate::handle::{Tile, View, ViewMut};
use crate::operand::{IntoCoord, IntoIndex};
use crate::ops::{TileMut, TileRef, select};
use tilewright_macros::Carry;

/// The rows of `data` that `rows` names, in that order; −1 is no row, and is masked.
///
/// ```
/// use tilewright_dsl::prelude::*;
/// use tilewright_dsl::views::{RoutedView, RoutedViewMut};
///
/// /// Copies each token to its places in expert order.
/// #[kernel]
/// fn permute(x: RoutedView<BF16>, out: ViewMut<BF16, 2>) {
///     let m = program_id(0) * 16;
///     out.tile((m, 0), [16, 64]).store(x.tile((m, 0), [16, 64]).load());
/// }
///
/// let func = stage("permute", |s| {
///     // `sorted_ids` holds token · 2 + choice: two experts for each token.
///     let x = RoutedView { data: s.view("x"), rows: s.view("sorted_ids"), copies: 2 };
///     permute(x, s.view_mut("out"))
/// });
/// assert!(func.is_ok());
/// ```
#[derive(Clone, Copy, Debug, Carry)]
pub struct RoutedView<E: Elem> {
    /// `[num_rows, cols]`.
    pub data: View<E, 2>,
    /// `[num_routed]`: rows, or −1.
    pub rows: View<I32, 1>,
    /// How many entries stand for the same row: row `rows[i] / copies` is meant. 1 if the list names
    /// rows directly.
    #[carry(host)]
    pub copies: usize,
}

/// A [`RoutedView`] that can also be written; no two entries may name the same row then.
#[derive(Clone, Copy, Debug, Carry)]
pub struct RoutedViewMut<E: Elem> {
    /// `[num_rows, cols]`.
    pub data: ViewMut<E, 2>,
    /// `[num_routed]`: rows, or −1.
    pub rows: View<I32, 1>,
    /// As [`RoutedView::copies`].
    #[carry(host)]
    pub copies: usize,
}

macro_rules! routed {
    ($view:ident, $tile:ident) => {
        impl<E: Elem> $view<E> {
            /// The rows that entries `i .. i + len` name, −1 past the end of the list.
            #[track_caller]
            pub fn row_indices(self, i: impl IntoIndex, len: usize) -> Tile<I32> {
                let entries = self.rows.tile(i.into_index(), [len]).load_or(-1);
                if self.copies == 1 {
                    return entries;
                }
                // Division rounds towards zero: −1 / 2 would be row 0.
                select(entries.lt(0), -1, entries / self.copies)
            }

            /// The block of `shape` at entry `i` of the list and column `j`.
            #[track_caller]
            pub fn tile(
                self,
                (i, j): (impl IntoIndex, impl IntoCoord),
                shape: [usize; 2],
            ) -> $tile<E, 2> {
                let rows = self.row_indices(i, shape[0]);
                self.data.tile((rows, j), shape)
            }
        }
    };
}
routed!(RoutedView, TileRef);
routed!(RoutedViewMut, TileMut);
