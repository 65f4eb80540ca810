//! The paged key-value cache of a session, and the tables that say which pages are whose.

use tilewright::{Args, DType, Runtime, Tensor};

use crate::config::LlamaConfig;
use crate::error::Result;

/// Tokens in a page.
pub(super) const PAGE_SIZE: usize = 64;

/// Head widths whose keys are kept transposed, so that products with queries need no shuffles.
const TRANSPOSED_DIMS: &[usize] = &[64, 128];

/// Keys and values of one layer.
#[derive(Clone, Debug)]
pub(super) struct LayerCache {
    /// `[num_pages, num_kv_heads, head_dim, PAGE_SIZE]` where keys are transposed, else as `v`.
    k: Tensor,
    /// `[num_pages, PAGE_SIZE, num_kv_heads, head_dim]`
    v: Tensor,
    transposed: bool,
}

impl LayerCache {
    /// Adds the cache to the operands of an op.
    pub(super) fn bind(&self, args: Args) -> Args {
        let k = if self.transposed { "kt_cache" } else { "k_cache" };
        args.tensor(k, &self.k).tensor("v_cache", &self.v)
    }
}

/// Which page holds what of which sequence, on the host.
#[derive(Clone, Debug)]
pub(super) struct PageTable {
    /// Pages of each sequence, given out as it grows.
    pages: Vec<Vec<i32>>,
    /// Tokens of each sequence in the cache.
    lens: Vec<usize>,
    num_pages: usize,
    next_free: usize,
}

impl PageTable {
    /// For sequences that grow to at most these lengths.
    pub(super) fn new(max_lens: &[usize]) -> PageTable {
        PageTable {
            pages: vec![Vec::new(); max_lens.len()],
            lens: vec![0; max_lens.len()],
            num_pages: max_lens.iter().map(|n| n.div_ceil(PAGE_SIZE)).sum(),
            next_free: 0,
        }
    }

    /// Pages in the cache.
    pub(super) fn num_pages(&self) -> usize {
        self.num_pages
    }

    /// Tokens of sequence `seq` in the cache.
    pub(super) fn len(&self, seq: usize) -> usize {
        self.lens.get(seq).copied().unwrap_or(0)
    }

    /// Takes one more token into sequence `seq` and returns its slot; −1 when the cache is full, which
    /// appending skips.
    pub(super) fn append(&mut self, seq: usize) -> i64 {
        let (Some(pages), Some(len)) = (self.pages.get_mut(seq), self.lens.get_mut(seq)) else {
            return -1;
        };
        if *len == pages.len() * PAGE_SIZE {
            if self.next_free == self.num_pages {
                return -1;
            }
            pages.push(self.next_free as i32);
            self.next_free += 1;
        }
        let page = pages.last().copied().unwrap_or(0);
        let slot = i64::from(page) * PAGE_SIZE as i64 + (*len % PAGE_SIZE) as i64;
        *len += 1;
        slot
    }

    /// Writes `kv_indptr`, `kv_indices` and `kv_last_page_len` of all sequences; those that `skip` names
    /// are shown without keys.
    pub(super) fn tables(&self, skip: &dyn Fn(usize) -> bool, out: &mut Tables) {
        out.indptr.clear();
        out.indices.clear();
        out.last_page_len.clear();
        out.indptr.push(0);
        for (seq, (pages, len)) in self.pages.iter().zip(&self.lens).enumerate() {
            let shown = !skip(seq) && *len > 0;
            if shown {
                out.indices.extend(pages);
            }
            out.indptr.push(out.indices.len() as i32);
            out.last_page_len.push(if shown { ((*len - 1) % PAGE_SIZE + 1) as i32 } else { 0 });
        }
        // The device's table has room for every page; what lies past the last sequence is not read.
        out.indices.resize(self.num_pages, 0);
    }
}

/// The page tables in the form the kernels take, reused from step to step.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    pub(super) indptr: Vec<i32>,
    pub(super) indices: Vec<i32>,
    pub(super) last_page_len: Vec<i32>,
}

/// Empty caches of all layers.
pub(super) fn layer_caches(
    rt: &Runtime,
    config: &LlamaConfig,
    dtype: DType,
    num_pages: usize,
) -> Result<Vec<LayerCache>> {
    let (heads, dim) = (config.num_kv_heads, config.head_dim);
    let transposed = TRANSPOSED_DIMS.contains(&dim);
    let rows = [num_pages, PAGE_SIZE, heads, dim];
    let keys = if transposed { [num_pages, heads, dim, PAGE_SIZE] } else { rows };
    (0..config.num_layers)
        .map(|_| {
            let (k, v) = (Tensor::zeros(rt, dtype, &keys)?, Tensor::zeros(rt, dtype, &rows)?);
            Ok(LayerCache { k, v, transposed })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_given_out_as_sequences_grow() {
        let mut table = PageTable::new(&[PAGE_SIZE + 1, 3]);
        assert_eq!(table.num_pages(), 3);
        let slots: Vec<i64> = (0..PAGE_SIZE).map(|_| table.append(0)).collect();
        assert_eq!(slots, (0..PAGE_SIZE as i64).collect::<Vec<_>>());
        assert_eq!(table.append(1), PAGE_SIZE as i64);
        assert_eq!(table.append(0), 2 * PAGE_SIZE as i64);
        let mut tables = Tables::default();
        table.tables(&|_| false, &mut tables);
        assert_eq!(tables.indptr, [0, 2, 3]);
        assert_eq!(tables.indices, [0, 2, 1]);
        assert_eq!(tables.last_page_len, [1, 1]);
        table.tables(&|seq| seq == 0, &mut tables);
        assert_eq!(tables.indptr, [0, 0, 1]);
        assert_eq!(tables.last_page_len, [0, 1]);
        assert_eq!(table.len(0), PAGE_SIZE + 1);
    }

    #[test]
    fn a_full_cache_gives_no_slot() {
        let mut table = PageTable::new(&[1]);
        (0..PAGE_SIZE).for_each(|i| assert_eq!(table.append(0), i as i64));
        assert_eq!(table.append(0), -1);
        assert_eq!(table.append(7), -1);
    }
}
