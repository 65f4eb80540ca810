//! Weight formats: the bytes a file holds, and the panels the GEMM kernels stream.
//!
//! A weight matrix is `[n, k]`, one row per output column of the GEMM. A packed weight is a row of
//! *panels* of [`PANEL_N`] output columns; panel `p` holds columns `16 p .. 16 p + 16`, padded with
//! zeros past `n`. A program that computes some panels reads each of their bytes once, in order.
//! Three buffers hold a weight, each `[num_panels, ..]` with contiguous rows:
//!
//! | packed format | `codes`, in one panel | `scales`, in one panel | `mins` | `supers` |
//! |---|---|---|---|---|
//! | `f32`, `f16`, `f8e4m3` | `[k8][16]` of the dtype | | | |
//! | `bf16` | `[k8/2][16][2]` bf16 | | | |
//! | `i8` | `[k8/4][16][4]` i8 | `[16]` f32, one per column | | |
//! | `q8_0` | `[k/4][16][4]` i8 | `[k/32][16]` f16 | | |
//! | `q4_0` | `[k/8][16][4]` u8 of two codes | `[k/32][16]` f16 | | |
//! | `q4_1` | `[k/8][16][4]` u8 of two codes | `[k/32][16]` f16 | `[k/32][16]` f16 | |
//! | `q4_k` | `[k/8][16][4]` u8 of two codes | `[k/32][16]` u8 | `[k/32][16]` u8 | `[k/256][2][16]` f16: d, dmin |
//! | `q6_k` | `[k/4][16][4]` i8 | `[k/16][16]` i8 | | `[k/256][16]` f16 |
//!
//! `k8` is `k` rounded up to a multiple of 8; the padding is zero. Byte `[j][n][i]` of a 4-bit
//! panel holds the code of `k = 8 j + i` in its low and of `k = 8 j + 4 + i` in its high half, so
//! that one mask and one shift give two operands of a 4-deep integer dot product.

use tilewright_abi::DType;

/// Output columns in a panel: one 512-bit or two 256-bit vectors of f32 sums.
pub const PANEL_N: usize = 16;

/// How a weight lies in the file it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "named by the GGUF block type or dtype they stand for")]
pub enum Source {
    F32,
    F16,
    BF16,
    F8E4M3,
    /// int8 codes; the scales are the caller's, one f32 per output column.
    I8,
    Q4_0,
    Q4_1,
    Q5_0,
    Q8_0,
    Q4K,
    Q6K,
}

/// How a packed weight lies in memory; see the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the table in the module's head describes each")]
pub enum Packed {
    F32,
    F16,
    BF16,
    F8E4M3,
    I8,
    Q8_0,
    Q4_0,
    Q4_1,
    Q4K,
    Q6K,
}

/// Block geometry of a GGUF block format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Weights in a block.
    pub len: usize,
    /// Bytes of a block.
    pub bytes: usize,
}

impl Source {
    /// Every source format.
    pub const ALL: [Source; 11] = [
        Source::F32,
        Source::F16,
        Source::BF16,
        Source::F8E4M3,
        Source::I8,
        Source::Q4_0,
        Source::Q4_1,
        Source::Q5_0,
        Source::Q8_0,
        Source::Q4K,
        Source::Q6K,
    ];

    /// The name in op names: `gemm.pack_<name>`.
    pub fn name(self) -> &'static str {
        match self {
            Source::Q5_0 => "q5_0",
            _ => self.packed().name(),
        }
    }

    /// Element type of the unpacked tensor; block formats are bytes.
    pub fn dtype(self) -> DType {
        match self {
            Source::F32 => DType::F32,
            Source::F16 => DType::F16,
            Source::BF16 => DType::BF16,
            Source::F8E4M3 => DType::F8E4M3,
            Source::I8 => DType::I8,
            Source::Q4_0
            | Source::Q4_1
            | Source::Q5_0
            | Source::Q8_0
            | Source::Q4K
            | Source::Q6K => DType::U8,
        }
    }

    /// The block geometry, if the format has blocks.
    pub fn block(self) -> Option<Block> {
        let (len, bytes) = match self {
            Source::Q4_0 => (32, 18),
            Source::Q4_1 => (32, 20),
            Source::Q5_0 => (32, 22),
            Source::Q8_0 => (32, 34),
            Source::Q4K => (256, 144),
            Source::Q6K => (256, 210),
            Source::F32 | Source::F16 | Source::BF16 | Source::F8E4M3 | Source::I8 => return None,
        };
        Some(Block { len, bytes })
    }

    /// What packing it gives. Five-bit codes are widened to int8 ones: same values, one byte each.
    pub fn packed(self) -> Packed {
        match self {
            Source::F32 => Packed::F32,
            Source::F16 => Packed::F16,
            Source::BF16 => Packed::BF16,
            Source::F8E4M3 => Packed::F8E4M3,
            Source::I8 => Packed::I8,
            Source::Q4_0 => Packed::Q4_0,
            Source::Q4_1 => Packed::Q4_1,
            Source::Q5_0 | Source::Q8_0 => Packed::Q8_0,
            Source::Q4K => Packed::Q4K,
            Source::Q6K => Packed::Q6K,
        }
    }
}

impl Packed {
    /// Every packed format.
    pub const ALL: [Packed; 10] = [
        Packed::F32,
        Packed::F16,
        Packed::BF16,
        Packed::F8E4M3,
        Packed::I8,
        Packed::Q8_0,
        Packed::Q4_0,
        Packed::Q4_1,
        Packed::Q4K,
        Packed::Q6K,
    ];

    /// The name in op names: `gemm.<name>`.
    pub fn name(self) -> &'static str {
        match self {
            Packed::F32 => "f32",
            Packed::F16 => "f16",
            Packed::BF16 => "bf16",
            Packed::F8E4M3 => "f8e4m3",
            Packed::I8 => "i8",
            Packed::Q8_0 => "q8_0",
            Packed::Q4_0 => "q4_0",
            Packed::Q4_1 => "q4_1",
            Packed::Q4K => "q4_k",
            Packed::Q6K => "q6_k",
        }
    }

    /// Element type of the codes.
    pub fn codes(self) -> DType {
        match self {
            Packed::F32 => DType::F32,
            Packed::F16 => DType::F16,
            Packed::BF16 => DType::BF16,
            Packed::F8E4M3 => DType::F8E4M3,
            Packed::I8 | Packed::Q8_0 | Packed::Q6K => DType::I8,
            Packed::Q4_0 | Packed::Q4_1 | Packed::Q4K => DType::U8,
        }
    }

    /// Codes of 4 bits, two to a byte.
    pub fn is_nibbles(self) -> bool {
        matches!(self, Packed::Q4_0 | Packed::Q4_1 | Packed::Q4K)
    }

    /// Element type of the group scales, if there are any.
    pub fn scales(self) -> Option<DType> {
        match self {
            Packed::F32 | Packed::F16 | Packed::BF16 | Packed::F8E4M3 => None,
            Packed::I8 => Some(DType::F32),
            Packed::Q8_0 | Packed::Q4_0 | Packed::Q4_1 => Some(DType::F16),
            Packed::Q4K => Some(DType::U8),
            Packed::Q6K => Some(DType::I8),
        }
    }

    /// Element type of the group minima, if there are any.
    pub fn mins(self) -> Option<DType> {
        match self {
            Packed::Q4_1 => Some(DType::F16),
            Packed::Q4K => Some(DType::U8),
            _ => None,
        }
    }

    /// f16 values per column and 256 weights that multiply the group scales (and minima).
    pub fn supers(self) -> usize {
        match self {
            Packed::Q4K => 2,
            Packed::Q6K => 1,
            _ => 0,
        }
    }

    /// Weights that share a scale; `None` when one scale (or none) serves the whole column.
    pub fn group(self) -> Option<usize> {
        match self {
            Packed::F32 | Packed::F16 | Packed::BF16 | Packed::F8E4M3 | Packed::I8 => None,
            Packed::Q8_0 | Packed::Q4_0 | Packed::Q4_1 | Packed::Q4K => Some(32),
            Packed::Q6K => Some(16),
        }
    }

    /// `k` must be a multiple of this.
    pub fn k_multiple(self) -> usize {
        match self.group() {
            None => 1,
            Some(_) if self.supers() > 0 => 256,
            Some(_) => 32,
        }
    }
}
