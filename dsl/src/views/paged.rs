//! Keys and values in pages of a fixed number of tokens.

use super::index_tile;
use crate::diag;
use crate::elem::{Elem, I32, I64};
use crate::handle::{Index, Tile, View, ViewMut};
use crate::operand::{
    CoordForm, CoordHandle, Coords, IntoCoord, IntoIndex, IntoOperand, ScalarLike,
};
use crate::ops::{TileMut, TileRef, konst, select};
use crate::source::Place;
use crate::staging::at;
use std::panic::Location;
use tilewright_macros::Carry;

/// The order of the axes inside a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvLayout {
    /// `[num_pages, 2, page_size, num_kv_heads, head_dim]`.
    Nhd,
    /// `[num_pages, 2, num_kv_heads, page_size, head_dim]`.
    Hnd,
}

impl KvLayout {
    fn slot_axis(self) -> usize {
        match self {
            KvLayout::Nhd => 2,
            KvLayout::Hnd => 3,
        }
    }

    /// The five entries of an access, from those of page, K or V, slot, head and dim.
    fn order<T>(self, [page, part, slot, head, dim]: [T; 5]) -> [T; 5] {
        match self {
            KvLayout::Nhd => [page, part, slot, head, dim],
            KvLayout::Hnd => [page, part, head, slot, dim],
        }
    }
}

/// Which pages belong to which sequence.
#[derive(Clone, Copy, Debug, Carry)]
pub struct PageTable {
    /// `[num_seqs + 1]`: sequence `s` has the entries `indptr[s] .. indptr[s + 1]` of `indices`.
    pub indptr: View<I32, 1>,
    /// Page numbers.
    pub indices: View<I32, 1>,
    /// `[num_seqs]`: tokens in each sequence's last page, 1 to the page size.
    pub last_page_len: View<I32, 1>,
}

impl PageTable {
    /// Number of pages of a sequence.
    #[track_caller]
    pub fn num_pages(self, seq: impl IntoIndex) -> Index {
        let seq = seq.into_index();
        (self.indptr.get(seq + 1) - self.indptr.get(seq)).cast::<I64>()
    }

    /// Number of tokens of a sequence; 0 if it has no page.
    #[track_caller]
    pub fn len(self, seq: impl IntoIndex, page_size: impl IntoIndex) -> Index {
        let seq = seq.into_index();
        let pages = self.num_pages(seq);
        let last = self.last_page_len.get(seq).cast::<I64>();
        let len = (pages - 1) * page_size.into_index() + last;
        select(pages.gt(0), len, 0)
    }

    /// The number of the sequence's page `i`.
    #[track_caller]
    pub fn page(self, seq: impl IntoIndex, i: impl IntoIndex) -> Index {
        let first = self.indptr.get(seq.into_index()).cast::<I64>();
        self.indices.get(first + i.into_index()).cast::<I64>()
    }
}

/// Keys and values of many sequences in pages: `pages` is
/// `[num_pages, 2, page_size, num_kv_heads, head_dim]` (or see [`KvLayout`]), K first.
///
/// ```
/// use tilewright_dsl::prelude::*;
/// use tilewright_dsl::views::{PageTable, PagedView};
///
/// /// The largest score of one query with any key of its sequence.
/// #[kernel]
/// fn best(q: View<F32, 2>, kv: PagedView<F32>, out: ViewMut<F32, 1>) {
///     let seq = program_id(0);
///     let qt = q.tile((seq, 0), [1, 64]).load().reshape([64]);
///     let k = kv.k(seq, 0);
///     let mut best = full::<F32>([16], f64::NEG_INFINITY);
///     for n in range(0, k.len(), 16) {
///         let scores = (k.tile((n, 0), [16, 64]).load() * qt.along(1, [16, 64])).sum(1);
///         let valid = (iota::<I64>(16) + n) < k.len();
///         best = best.max(select(valid, scores, f64::NEG_INFINITY));
///     }
///     out.set(seq, best.max_all());
/// }
///
/// let func = stage("best", |s| {
///     let q = s.view("q");
///     let pages = s.view("pages");
///     let (indptr, indices) = (s.view("indptr"), s.view("indices"));
///     let table = PageTable { indptr, indices, last_page_len: s.view("last_page_len") };
///     best(q, PagedView::new(pages, table).with_page_size(16), s.view_mut("out"))
/// });
/// assert!(func.is_ok());
/// ```
#[derive(Clone, Copy, Debug, Carry)]
pub struct PagedView<E: Elem> {
    pages: View<E, 5>,
    table: PageTable,
    #[carry(host)]
    layout: KvLayout,
    #[carry(host)]
    page_size: Option<usize>,
}

/// A [`PagedView`] that can also be written.
#[derive(Clone, Copy, Debug, Carry)]
pub struct PagedViewMut<E: Elem> {
    view: PagedView<E>,
}

/// K or V of one sequence and head: like a view of shape `[len, head_dim]`.
#[derive(Clone, Copy, Debug, Carry)]
pub struct PagedHead<E: Elem> {
    pages: View<E, 5>,
    indices: View<I32, 1>,
    /// The sequence's first entry in `indices`.
    first: Index,
    len: Index,
    page_size: Index,
    head: Index,
    #[carry(host)]
    part: usize,
    #[carry(host)]
    layout: KvLayout,
    #[carry(host)]
    host_page_size: Option<usize>,
}

/// A [`PagedHead`] that can also be written.
#[derive(Clone, Copy, Debug, Carry)]
pub struct PagedHeadMut<E: Elem> {
    head: PagedHead<E>,
}

/// A block of a [`PagedHead`], not read yet.
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is read before `load`"]
pub struct PagedTile<E: Elem> {
    tile: TileRef<E, 5>,
    shape: [usize; 2],
}

/// A block of a [`PagedHeadMut`], not read or written yet.
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is written before `store`"]
pub struct PagedTileMut<E: Elem> {
    tile: PagedTile<E>,
}

impl<E: Elem> PagedView<E> {
    /// Pages in [`KvLayout::Nhd`], their size read from the view.
    pub fn new(pages: View<E, 5>, table: PageTable) -> PagedView<E> {
        PagedView { pages, table, layout: KvLayout::Nhd, page_size: None }
    }

    /// The same pages in another layout.
    pub fn with_layout(self, layout: KvLayout) -> PagedView<E> {
        PagedView { layout, ..self }
    }

    /// The same pages of a size known while staging, which the launch should promise with
    /// [`assume_dim_equals`](crate::Stage::assume_dim_equals).
    pub fn with_page_size(self, page_size: usize) -> PagedView<E> {
        PagedView { page_size: Some(page_size), ..self }
    }

    /// Tokens in a page.
    #[track_caller]
    pub fn page_size(self) -> Index {
        match self.page_size {
            Some(size) => konst(size),
            None => self.pages.dim(self.layout.slot_axis()),
        }
    }

    /// Number of tokens of a sequence.
    #[track_caller]
    pub fn len(self, seq: impl IntoIndex) -> Index {
        self.table.len(seq, self.page_size())
    }

    /// Number of pages of a sequence.
    #[track_caller]
    pub fn num_pages(self, seq: impl IntoIndex) -> Index {
        self.table.num_pages(seq)
    }

    /// The number of the sequence's page `i`.
    #[track_caller]
    pub fn page(self, seq: impl IntoIndex, i: impl IntoIndex) -> Index {
        self.table.page(seq, i)
    }

    /// The keys of one sequence and head.
    #[track_caller]
    pub fn k(self, seq: impl IntoIndex, head: impl IntoIndex) -> PagedHead<E> {
        self.head(0, seq.into_index(), head.into_index())
    }

    /// The values of one sequence and head.
    #[track_caller]
    pub fn v(self, seq: impl IntoIndex, head: impl IntoIndex) -> PagedHead<E> {
        self.head(1, seq.into_index(), head.into_index())
    }

    #[track_caller]
    fn head(self, part: usize, seq: Index, head: Index) -> PagedHead<E> {
        PagedHead {
            pages: self.pages,
            indices: self.table.indices,
            first: self.table.indptr.get(seq).cast::<I64>(),
            len: self.len(seq),
            page_size: self.page_size(),
            head,
            part,
            layout: self.layout,
            host_page_size: self.page_size,
        }
    }
}

impl<E: Elem> PagedHead<E> {
    /// Number of tokens.
    #[track_caller]
    #[allow(clippy::len_without_is_empty, reason = "a kernel value has no host answer")]
    pub fn len(self) -> Index {
        self.len
    }

    /// The block of `shape`, tokens by elements of the head, at `coords`; tokens past the end of the
    /// sequence are masked.
    ///
    /// With an index as the first coordinate, the block lies inside one page: it starts at a
    /// multiple of its number of tokens, which divides the page size. With an index tile of shape
    /// `[shape[0]]`, each token is where its page is; that costs an address for each row.
    #[track_caller]
    pub fn tile(self, coords: impl Coords<2>, shape: [usize; 2]) -> PagedTile<E> {
        let place = Location::caller();
        let [token, dim] = coords.coords(place);
        let tile = match token.form {
            CoordForm::Span => self.inside_page(Index::from_raw(token.raw), dim, shape, place),
            CoordForm::Rows | CoordForm::Gather => self.across_pages(token, dim, shape, place),
        };
        PagedTile { tile, shape }
    }

    #[track_caller]
    fn inside_page(
        self,
        token: Index,
        dim: CoordHandle,
        shape: [usize; 2],
        place: Place,
    ) -> TileRef<E, 5> {
        if let Some(size) = self.host_page_size
            && !size.is_multiple_of(shape[0].max(1))
        {
            at(place, |cx| {
                let what = format!("a block of {} tokens crosses pages of {size}", shape[0]);
                let help = "use a block that divides the page size, or an index tile of tokens";
                cx.report(diag::bad_shape(&cx.span(), what, help));
            });
        }
        let page = self.indices.get(self.first + token / self.page_size);
        let slot = token % self.page_size;
        let coords = [
            page.coord(place),
            self.part.coord(place),
            slot.coord(place),
            self.head.coord(place),
            dim,
        ];
        self.pages
            .tile(self.layout.order(coords), self.full_shape(shape))
            .limit(self.layout.slot_axis(), slot + (self.len - token))
    }

    #[track_caller]
    fn across_pages(
        self,
        tokens: CoordHandle,
        dim: CoordHandle,
        shape: [usize; 2],
        place: Place,
    ) -> TileRef<E, 5> {
        let full = self.full_shape(shape);
        let tokens = index_tile(tokens);
        let valid = tokens.ge(0) & tokens.lt(self.len);
        let entry = select(valid, self.first + tokens / self.page_size, -1);
        let page = self.indices.tile(entry, [shape[0]]).load_or(-1);
        let slot = select(valid, tokens % self.page_size, -1);
        let axis = self.layout.slot_axis();
        let whole = |raw| CoordHandle { raw, form: CoordForm::Gather };
        let coords = [
            whole(page.along(axis, full).raw),
            self.part.coord(place),
            whole(slot.along(axis, full).raw),
            self.head.coord(place),
            dim,
        ];
        self.pages.tile(self.layout.order(coords), full)
    }

    fn full_shape(self, [tokens, dims]: [usize; 2]) -> [usize; 5] {
        self.layout.order([1, 1, tokens, 1, dims])
    }
}

impl<E: Elem> PagedTile<E> {
    /// Reads the block, `[tokens, dims]`; masked elements are 0.
    #[track_caller]
    pub fn load(self) -> Tile<E> {
        self.tile.load().reshape(self.shape)
    }

    /// Reads the block, `[tokens, dims]`; masked elements are `other`.
    #[track_caller]
    pub fn load_or(self, other: impl IntoOperand<E> + ScalarLike) -> Tile<E> {
        self.tile.load_or(other).reshape(self.shape)
    }
}

impl<E: Elem> PagedViewMut<E> {
    /// As [`PagedView::new`].
    pub fn new(pages: ViewMut<E, 5>, table: PageTable) -> PagedViewMut<E> {
        PagedViewMut { view: PagedView::new(pages.as_view(), table) }
    }

    /// As [`PagedView::with_layout`].
    pub fn with_layout(self, layout: KvLayout) -> PagedViewMut<E> {
        PagedViewMut { view: self.view.with_layout(layout) }
    }

    /// As [`PagedView::with_page_size`].
    pub fn with_page_size(self, page_size: usize) -> PagedViewMut<E> {
        PagedViewMut { view: self.view.with_page_size(page_size) }
    }

    /// The same pages, for reading only.
    pub fn as_view(self) -> PagedView<E> {
        self.view
    }

    /// The keys of one sequence and head.
    #[track_caller]
    pub fn k(self, seq: impl IntoIndex, head: impl IntoIndex) -> PagedHeadMut<E> {
        PagedHeadMut { head: self.view.k(seq, head) }
    }

    /// The values of one sequence and head.
    #[track_caller]
    pub fn v(self, seq: impl IntoIndex, head: impl IntoIndex) -> PagedHeadMut<E> {
        PagedHeadMut { head: self.view.v(seq, head) }
    }
}

impl<E: Elem> PagedHeadMut<E> {
    /// The same, for reading only.
    pub fn as_head(self) -> PagedHead<E> {
        self.head
    }

    /// As [`PagedHead::tile`], to be read or written.
    #[track_caller]
    pub fn tile(self, coords: impl Coords<2>, shape: [usize; 2]) -> PagedTileMut<E> {
        PagedTileMut { tile: self.head.tile(coords, shape) }
    }
}

impl<E: Elem> PagedTileMut<E> {
    /// Reads the block; masked elements are 0.
    #[track_caller]
    pub fn load(self) -> Tile<E> {
        self.tile.load()
    }

    /// Writes the block, `[tokens, dims]`; masked elements are not written.
    #[track_caller]
    pub fn store(self, value: impl IntoOperand<E>) {
        TileMut::of(self.tile.tile).store(value);
    }
}
