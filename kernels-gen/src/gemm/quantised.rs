//! `c = a · wᵀ` with a quantised weight in panels.
//!
//! Programs and register tile as in `dense`. Two forms:
//!
//! * `exact`: float activations; a group's codes are dequantised, four `k` at a time, into the
//!   operand of f32 products. Bound by the conversion when `block_m` is small.
//! * `int8`: int8 activations with a scale per 32 elements of a row; per group of 32 one integer
//!   product of depth 32 gives exact sums `dot`, and with `s_a = scale_a · Σ codes_a`
//!   `acc += scale_b · (scale_a · dot − zero · s_a) + min_b · s_a`.
//!
//! The codes of four neighbouring `k` of one column are neighbours in a panel, as the byte dot
//! products of all vector units want them; two 4-bit codes a byte are taken apart by one mask and
//! one shift.
//!
//! Traffic: each panel once per chunk of rows (`k · 16` codes and `k / 2` scales; 5 bits a weight for
//! q4_1), each chunk of `a` once per panel from a near cache. One row is bound by reading the weight;
//! from about eight rows on by the dot products.

use super::rows::Rows;
use super::weight::{GROUP, Weight};
use crate::common::format::PANEL_N;
use tilewright_dsl::prelude::*;

/// Sums of one register tile from float activations.
#[kernel]
pub(crate) fn exact_tile<A: Float, B: Int + Bits, S: Number>(
    a: View<A, 2>,
    w: Weight<B, S>,
    rows: Rows,
    p: Index,
) -> Tile<F32> {
    let mut acc = zeros::<F32>([rows.block_m, PANEL_N]);
    for k in range(0, a.dim(1), w.group()) {
        let scale = w.scale(p, k);
        let zero = match w.min(p, k) {
            Some(min) => min,
            None => scale * -w.zero_point(),
        };
        let (scale, zero) = (scale.along(1, [4, PANEL_N]), zero.along(1, [4, PANEL_N]));
        for j in 0..w.group() / 8 {
            let k = k + 8 * j;
            let codes = w.codes(p, k, 8); // [8, 16]
            for quad in 0..2 {
                let code = codes.slice(0, 4 * quad, 4).cast::<F32>(); // [4, 16]
                let at = rows.load(a, k + 4 * quad, 4).cast::<F32>(); // [block_m, 4]
                acc = mma(at, fma(code, scale, zero), acc);
            }
        }
    }
    acc
}

/// Sums of one register tile from int8 activations.
#[kernel]
pub(crate) fn int8_tile<B: Int + Bits, S: Number>(
    a: View<I8, 2>,
    scale_a: View<F32, 2>,
    sum_a: View<F32, 2>,
    w: Weight<B, S>,
    rows: Rows,
    p: Index,
) -> Tile<F32> {
    let shape = [rows.block_m, PANEL_N];
    let mut acc = zeros::<F32>(shape);
    for group in range(0, a.dim(1) / GROUP, 1) {
        let at = rows.load(a, group * GROUP, GROUP); // [block_m, 32]
        let scale = rows.load(scale_a, group, 1).broadcast(shape);
        let sum = rows.load(sum_a, group, 1).broadcast(shape);
        for part in 0..GROUP / w.group() {
            let k = group * GROUP + part * w.group();
            let ap = at.slice(1, part * w.group(), w.group());
            let dot = mma(ap, w.codes(p, k, w.group()), zeros::<I32>(shape)).cast::<F32>();
            let column = w.scale(p, k).along(1, shape);
            if w.zero_point() != 0.0 {
                acc = fma(fma(dot, scale, sum * -w.zero_point()), column, acc);
            } else {
                acc = fma(dot * scale, column, acc);
            }
            if let Some(min) = w.min(p, k) {
                acc = fma(sum, min.along(1, shape), acc);
            }
        }
    }
    acc
}
