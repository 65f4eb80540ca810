//! Where the keys and values of one sequence are: an address function plus bounds.

use super::space::{Attention, Keys};
use tilewright_dsl::prelude::*;

/// The views that one of the [`Keys`] layouts binds.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "`k` and `v` are the op's; each variant's doc gives their shapes")]
pub enum Cache<KV: Float> {
    /// `[num_pages · page_size, num_kv_heads, head_dim]`.
    Rows { k: View<KV, 3>, v: View<KV, 3>, page_size: Index },
    /// `[num_pages, page_size, num_kv_heads, head_dim]`.
    Blocks { k: View<KV, 4>, v: View<KV, 4> },
    /// K as `[num_pages, num_kv_heads, head_dim, page_size]`.
    Transposed { k: View<KV, 4>, v: View<KV, 4> },
    /// `[total_kv, num_kv_heads, head_dim]`.
    Ragged { k: View<KV, 3>, v: View<KV, 3> },
}

/// Which rows of the cache are a sequence's.
#[derive(Clone, Copy)]
pub struct Sequence {
    /// First entry of the page table, or first row.
    first: Index,
    /// Entries of the page table; absent for ragged keys.
    indices: Option<View<I32, 1>>,
    /// Number of keys.
    pub len: Index,
}

/// The page table's views.
#[derive(Clone, Copy)]
pub struct PageTable {
    /// `[batch + 1]`.
    pub indptr: View<I32, 1>,
    /// `[num_indices]`.
    pub indices: View<I32, 1>,
    /// `[batch]`.
    pub last_page_len: View<I32, 1>,
}

impl PageTable {
    /// The pages of sequence `b`.
    pub fn sequence(&self, b: Index, page_size: Index) -> Sequence {
        let first = self.indptr.get((b,)).cast::<I64>();
        let pages = self.indptr.get((b + 1,)).cast::<I64>() - first;
        let last = self.last_page_len.get((b,)).cast::<I64>();
        let len = select(pages.gt(0), (pages - 1) * page_size + last, 0);
        Sequence { first, indices: Some(self.indices), len }
    }
}

impl Sequence {
    /// The rows `indptr[b] .. indptr[b+1]`.
    pub fn ragged(indptr: View<I32, 1>, b: Index) -> Sequence {
        let first = indptr.get((b,)).cast::<I64>();
        let len = indptr.get((b + 1,)).cast::<I64>() - first;
        Sequence { first, indices: None, len }
    }

    fn page(&self, i: Index) -> Index {
        self.indices.map_or(i, |t| t.get((self.first + i,)).cast::<I64>())
    }
}

/// A block of keys of one head: `block_n` of them from `n0` on. Those at or past the sequence's end are
/// not read (values) or may be anything (keys).
pub struct Block<KV: Float> {
    cache: Cache<KV>,
    head: Index,
    /// Number of keys of the sequence.
    len: Index,
    n0: Index,
    /// Page and slot of the block's first key, or its row; for single rows, each key's row.
    page: Index,
    slot: Index,
    rows: Vec<Tile<I32>>,
}

impl<KV: Float> Cache<KV> {
    /// Tokens of a page; 1 for ragged keys.
    pub fn page_size(&self) -> Index {
        match self {
            Cache::Rows { page_size, .. } => *page_size,
            Cache::Blocks { v, .. } | Cache::Transposed { v, .. } => v.dim(1),
            Cache::Ragged { .. } => konst::<I64>(1),
        }
    }

    /// Heads of the cache.
    pub fn num_kv_heads(&self) -> Index {
        match self {
            Cache::Rows { v, .. } | Cache::Ragged { v, .. } => v.dim(1),
            Cache::Blocks { v, .. } | Cache::Transposed { v, .. } => v.dim(2),
        }
    }

    /// The keys `n0 .. n0 + block_n` of a sequence.
    pub fn block(&self, sequence: &Sequence, head: Index, n0: Index, v: &Attention) -> Block<KV> {
        let zero = konst::<I64>(0);
        let (mut page, mut slot, mut rows) = (zero, zero, Vec::new());
        match self {
            Cache::Ragged { .. } => slot = sequence.first + n0,
            Cache::Blocks { .. } | Cache::Transposed { .. } => {
                let page_size = self.page_size();
                page = sequence.page(n0 / page_size);
                slot = n0 % page_size;
            }
            Cache::Rows { page_size, .. } => {
                let size = page_size.cast::<I32>();
                for j in 0..v.block_n / v.sub {
                    let n = iota::<I32>(v.sub) + (n0 + j * v.sub).cast::<I32>(); // [sub]
                    let entry = n / size + sequence.first.cast::<I32>();
                    let entry = select(n.lt(sequence.len.cast::<I32>()), entry, -1);
                    let page =
                        sequence.indices.map_or(entry, |t| t.gather((entry,), [v.sub]).load_or(-1));
                    rows.push(select(page.ge(0) & entry.ge(0), page * size + n % size, -1));
                }
            }
        }
        Block { cache: *self, head, len: sequence.len, n0, page, slot, rows }
    }
}

impl<KV: Float> Block<KV> {
    /// Keys of register tile `j` as `[depth, sub]`, elements `d ..` of the head.
    pub fn keys_t(&self, j: usize, d: Index, depth: usize, v: &Attention) -> Tile<F32> {
        let from = j * v.sub;
        match self.cache {
            Cache::Transposed { k, .. } => {
                let at = (self.page, self.head, d, self.slot + from);
                let tile = k.tile(at, [1, 1, depth, v.sub]).inside();
                tile.load().reshape([depth, v.sub]).cast::<F32>()
            }
            Cache::Blocks { k, .. } => {
                let at = (self.page, self.slot + from, self.head, d);
                let tile = k.tile(at, [1, v.sub, 1, depth]).inside();
                tile.load().reshape([v.sub, depth]).cast::<F32>().t()
            }
            Cache::Ragged { k, .. } => {
                let tile = k.tile((self.slot + from, self.head, d), [v.sub, 1, depth]);
                let tile = tile.inside_axis(1).inside_axis(2);
                tile.load().reshape([v.sub, depth]).cast::<F32>().t()
            }
            Cache::Rows { k, .. } => {
                let tile = k.tile((self.rows[j], self.head, d), [v.sub, 1, depth]);
                let tile = tile.inside_axis(1).inside_axis(2);
                tile.load().reshape([v.sub, depth]).cast::<F32>().t()
            }
        }
    }

    /// Values of the keys of register tile `j`, elements `d .. d + sub`: `[sub, sub]`, 0 past the
    /// sequence's end, whatever is in memory there.
    pub fn values(&self, j: usize, d: usize, a: &Attention) -> Tile<F32> {
        let from = j * a.sub;
        let left = self.len - self.n0;
        let tile = match self.cache {
            Cache::Blocks { v, .. } | Cache::Transposed { v, .. } => {
                let at = (self.page, self.slot + from, self.head, d);
                let tile = v.tile(at, [1, a.sub, 1, a.sub]).limit(1, self.slot + left);
                tile.inside_axis(0).inside_axis(2).inside_axis(3).load()
            }
            Cache::Ragged { v, .. } => {
                let tile = v.tile((self.slot + from, self.head, d), [a.sub, 1, a.sub]);
                tile.limit(0, self.slot + left).inside_axis(1).inside_axis(2).load()
            }
            Cache::Rows { v, .. } => {
                let tile = v.tile((self.rows[j], self.head, d), [a.sub, 1, a.sub]);
                tile.inside_axis(1).inside_axis(2).load()
            }
        };
        tile.reshape([a.sub, a.sub]).cast::<F32>()
    }
}

/// Declares the views of a layout; `page_size` is read as a launch scalar where the view has no such axis.
pub fn declare<KV: Float>(s: &mut Stage, keys: Keys) -> Cache<KV> {
    match keys {
        Keys::PagedRows => {
            Cache::Rows { k: s.view("k"), v: s.view("v"), page_size: s.scalar("page_size") }
        }
        Keys::PagedBlocks => Cache::Blocks { k: s.view("k"), v: s.view("v") },
        Keys::PagedTransposed => Cache::Transposed { k: s.view("k"), v: s.view("v") },
        Keys::Ragged => Cache::Ragged { k: s.view("k"), v: s.view("v") },
    }
}
