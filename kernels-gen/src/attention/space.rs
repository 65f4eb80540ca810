//! Variants of attention.

use tilewright_abi::{DType, Family, TargetCaps, Variant};

/// How the keys and values lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Pages of `[page_size, num_kv_heads, head_dim]` without gaps, of any size: each key's row is
    /// looked up on its own.
    PagedRows,
    /// As `PagedRows` with any strides, where a page is a multiple of the key block: one look-up a block.
    PagedBlocks,
    /// K as `[num_kv_heads, head_dim, page_size]` a page; V as in `PagedBlocks`.
    PagedTransposed,
    /// Contiguous rows, by the sequence's own indptr.
    Ragged,
}

impl Keys {
    /// The name in kernels and algorithms.
    pub fn name(self) -> &'static str {
        match self {
            Keys::PagedRows => "rows",
            Keys::PagedBlocks => "blocks",
            Keys::PagedTransposed => "transposed",
            Keys::Ragged => "ragged",
        }
    }
}

/// One compiled form of an attention kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attention {
    /// Elements of a head, a multiple of `sub`.
    pub head_dim: usize,
    /// Query rows of a program: heads of one group for decode, tokens of one head for prefill.
    pub rows: usize,
    /// Keys that a program scores at once, a multiple of `sub`.
    pub block_n: usize,
    /// Width of a register tile: keys of a score tile, elements of an output tile.
    pub sub: usize,
    /// Keys of one split of a sequence (decode).
    pub split: usize,
    /// Where keys and values are.
    pub keys: Keys,
}

impl Attention {
    /// The text form.
    pub fn variant(self) -> Variant {
        Variant::new()
            .with("keys", self.keys.name())
            .with("d", self.head_dim)
            .with("rows", self.rows)
            .with("bn", self.block_n)
    }
}

/// One choice of head dimension, dtypes (q and out, cache) and layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Elements of a head.
    pub head_dim: usize,
    /// Element type of q and out.
    pub q: DType,
    /// Element type of the cache.
    pub cache: DType,
    /// Where keys and values are.
    pub keys: Keys,
}

const F32: DType = DType::F32;
const BF16: DType = DType::BF16;
const F16: DType = DType::F16;

/// What paged kernels are made for: the common head dimensions in every layout and dtype, the others
/// with the layout that any page size fits.
pub fn paged_cases() -> Vec<Case> {
    let common = [(F32, F32), (F32, F16), (BF16, BF16), (F16, F16), (BF16, DType::F8E4M3)];
    let plain = [(F32, F32), (BF16, BF16)];
    let mut cases = Vec::new();
    let mut add = |dims: &[usize], dtypes: &[(DType, DType)], keys: Keys| {
        for &head_dim in dims {
            cases.extend(dtypes.iter().map(|&(q, cache)| Case { head_dim, q, cache, keys }));
        }
    };
    add(&[64, 128], &common, Keys::PagedTransposed);
    add(&[64, 128], &plain, Keys::PagedBlocks);
    add(&[64, 128], &common, Keys::PagedRows);
    add(&[80, 96, 256], &plain, Keys::PagedRows);
    cases
}

/// What ragged kernels are made for.
pub fn ragged_cases() -> Vec<Case> {
    let dtypes = [(F32, F32), (BF16, BF16), (F16, F16)];
    let dims = [64, 80, 128];
    let of = |d| dtypes.map(|(q, cache)| Case { head_dim: d, q, cache, keys: Keys::Ragged });
    dims.into_iter().flat_map(of).collect()
}

/// Heads of a group that a decode program takes: the group size itself, or blocks of 4.
pub fn decode_rows(case: Case) -> &'static [usize] {
    match (case.head_dim, case.cache) {
        (64, DType::F32 | DType::F16) => &[3, 1, 4],
        (64 | 128, _) => &[1, 4],
        _ => &[4],
    }
}

/// Register tiles of two vectors; a score tile of `rows` leaves a quarter of the registers to the
/// operands. `(sub, rows)`.
pub fn tile(caps: &TargetCaps) -> (usize, usize) {
    match caps.family {
        Family::Cpu => {
            let sub = 2 * caps.lanes(DType::F32) as usize;
            (sub.min(16), (caps.vector_regs as usize * 3 / 4 / (sub / 16).max(1) / 2).clamp(2, 8))
        }
        Family::Nvptx | Family::Amdgcn => (16, 16),
    }
}

/// Keys of a split: long enough to hide a program's start, short enough that two cores share one
/// sequence of a thousand keys.
pub const SPLIT: usize = 256;

/// The default variant of a case with `rows` query rows; `None` gives as many as the registers hold.
pub fn default(caps: &TargetCaps, case: Case, rows: Option<usize>) -> Attention {
    let (sub, most) = tile(caps);
    Attention {
        head_dim: case.head_dim,
        rows: rows.unwrap_or(most),
        block_n: if case.head_dim <= 128 { 2 * sub } else { sub },
        sub,
        split: SPLIT,
        keys: case.keys,
    }
}
