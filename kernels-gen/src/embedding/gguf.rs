//! Rows of GGUF blocks, dequantised on the way: one program a token.
//!
//! Codes and scales are small enough that every product below is exact in f32; formats with a minimum
//! add it in one fused step, so each value is rounded once.

use crate::common::format::{Block, Source};
use tilewright_dsl::prelude::*;

/// The bytes of one block of one row of the table.
#[derive(Clone, Copy)]
struct Bytes {
    table: View<U8, 2>,
    row: Index,
    start: Index,
}

impl Bytes {
    fn one(self, at: usize) -> Scalar<U8> {
        self.table.get((self.row, self.start + at))
    }

    fn some(self, at: usize, len: usize) -> Tile<U8> {
        self.table.tile((self.row, self.start + at), [1, len]).load().reshape([len])
    }

    fn f16(self, at: usize) -> Scalar<F32> {
        let (low, high) = (self.one(at).cast::<U16>(), self.one(at + 1).cast::<U16>());
        (low | (high << 8)).bitcast::<F16>().cast::<F32>()
    }

    fn u32(self, at: usize) -> Scalar<U32> {
        let byte = |i: usize| self.one(at + i).cast::<U32>() << (8 * i);
        byte(0) | byte(1) | byte(2) | byte(3)
    }
}

fn low(q: Tile<U8>) -> Tile<F32> {
    (q & 15).cast::<F32>()
}

fn high(q: Tile<U8>) -> Tile<F32> {
    (q >> 4).cast::<F32>()
}

/// Six-bit scale and minimum of a group of a q4_k block, whose twelve packed bytes start at 4.
fn q4_k_scale(b: Bytes, group: usize) -> (Scalar<F32>, Scalar<F32>) {
    let s = |i: usize| b.one(4 + i);
    let (scale, min) = if group < 4 {
        (s(group) & 63, s(group + 4) & 63)
    } else {
        let (both, scale_top, min_top) = (s(group + 4), s(group - 4) >> 6, s(group) >> 6);
        ((both & 15) | (scale_top << 4), (both >> 4) | (min_top << 4))
    };
    (scale.cast::<F32>(), min.cast::<F32>())
}

/// The values of one block, as (first element, values).
fn block(source: Source, b: Bytes) -> Vec<(usize, Tile<F32>)> {
    match source {
        Source::Q4_0 => {
            let (d, q) = (b.f16(0), b.some(2, 16));
            vec![(0, (low(q) - 8.0) * d), (16, (high(q) - 8.0) * d)]
        }
        Source::Q4_1 => {
            let (d, m, q) = (b.f16(0), b.f16(2), b.some(4, 16));
            vec![(0, fma(low(q), d, m)), (16, fma(high(q), d, m))]
        }
        Source::Q5_0 => {
            let (d, fifth, q) = (b.f16(0), b.u32(2), b.some(6, 16));
            let bit = |from: usize| {
                let bits = fifth.splat([16]) >> (iota::<U32>(16) + from);
                (bits & 1).bitcast::<I32>().cast::<F32>() * 16.0
            };
            vec![(0, (low(q) + bit(0) - 16.0) * d), (16, (high(q) + bit(16) - 16.0) * d)]
        }
        Source::Q4K => {
            let (d, dmin) = (b.f16(0), b.f16(2));
            let mut parts = Vec::new();
            for pair in 0..4 {
                let q = b.some(16 + 32 * pair, 32);
                for (group, code) in [(2 * pair, low(q)), (2 * pair + 1, high(q))] {
                    let (scale, min) = q4_k_scale(b, group);
                    parts.push((32 * group, fma(code, d * scale, -(dmin * min))));
                }
            }
            parts
        }
        Source::Q6K => {
            let d = b.f16(208);
            let part = |sub: usize| {
                let (half, quarter, l) = (sub / 8, sub / 2 % 4, sub % 2 * 16);
                let q = b.some(half * 64 + quarter % 2 * 32 + l, 16);
                let bottom = (q >> (quarter / 2 * 4)) & 15;
                let top = (b.some(128 + half * 32 + l, 16) >> (quarter * 2)) & 3;
                let code = (bottom | (top << 4)).cast::<F32>() - 32.0;
                let scale = b.one(192 + sub).bitcast::<I8>().cast::<F32>();
                (16 * sub, code * (d * scale))
            };
            (0..16).map(part).collect()
        }
        _ => {
            let codes = b.some(2, 32).bitcast::<I8>().cast::<F32>();
            vec![(0, codes * b.f16(0))]
        }
    }
}

/// out[t, :] = dequantise(table[ids[t], :]) for a block format.
#[kernel]
pub fn gather_gguf(
    ids: View<I32, 1>,
    table: View<U8, 2>,
    out: ViewMut<F32, 2>,
    source: Source,
    geometry: Block,
) {
    let token = program_id(0);
    let id = ids.get((token,)).cast::<I64>();
    for i in range(0, out.dim(1) / geometry.len, 1) {
        let b = Bytes { table, row: id, start: i * geometry.bytes };
        for (at, values) in block(source, b) {
            let len = values.shape().iter().product();
            out.tile((token, i * geometry.len + at), [1, len]).store(values);
        }
    }
}
