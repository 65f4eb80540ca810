//! `c = a · wᵀ` with a float weight in panels.
//!
//! A program computes one panel of 16 columns for a chunk of rows. The register tile is
//! `[block_m, 16]`: per `k` one panel row is loaded and each of `block_m` elements of `a`
//! multiplies it. The panel (`16 k` elements) stays in a near cache while the chunk's rows pass
//! over it, so `w` streams from memory once per chunk and `a` once per panel. The idea is Goto's
//! GEBP with the roles of A and B as in BLIS; with the weight packed ahead, `a` needs no packing
//! for chunks this small.

use super::rows::Rows;
use crate::common::format::PANEL_N;
use tilewright_dsl::prelude::*;

/// Elements of `k` per trip; panels are padded to a multiple of it.
const BLOCK_K: usize = 8;

/// Elements `k .. k + 8` of one panel: `[8, 16]`. Panels in groups of `group`:
/// `[8/group][16][group]`.
fn panel<B: Elem>(b: View<B, 2>, p: Index, k: Index, group: usize) -> Tile<B> {
    let t = b.tile((p, k * PANEL_N), [1, BLOCK_K * PANEL_N]).inside().load();
    t.reshape([BLOCK_K / group, PANEL_N, group]).permute([0, 2, 1]).reshape([BLOCK_K, PANEL_N])
}

/// Sums of one register tile. `O` is the type in which products are formed: f32, or bf16 where the
/// target multiplies bf16 pairs.
#[kernel]
pub(crate) fn dense_tile<A: Float, B: Float, O: Float>(
    a: View<A, 2>,
    b: View<B, 2>,
    rows: Rows,
    p: Index,
    group: usize,
) -> Tile<F32> {
    let k_end = a.dim(1);
    let whole = k_end / BLOCK_K * BLOCK_K;
    let mut acc = zeros::<F32>([rows.block_m, PANEL_N]);
    for k in range(0, whole, BLOCK_K) {
        let at = rows.load(a, k, BLOCK_K).cast::<O>(); // [block_m, 8]
        acc = mma(at, panel(b, p, k, group).cast::<O>(), acc);
    }
    if whole < k_end {
        let at = rows.load_masked(a, whole, BLOCK_K).cast::<O>();
        acc = mma(at, panel(b, p, whole, group).cast::<O>(), acc);
    }
    acc
}
