//! Weights of one element per `k`: floats and int8.

use super::{Place, interleave};
use crate::common::format::PANEL_N;
use tilewright_dsl::prelude::*;

/// Elements of `k` packed at once; the packed length is a multiple of it.
const BLOCK_K: usize = 8;

/// `codes[panel, ..] = w[16 n .. 16 n + 16, ..]` as `[k8 / group][16][group]`, zero past `n` and
/// `k`.
#[kernel]
pub(super) fn pack_plain<E: Elem>(w: View<E, 2>, codes: ViewMut<E, 2>, place: Place, group: usize) {
    let n0 = program_id(0) * PANEL_N;
    for k in range(0, w.dim(1), BLOCK_K) {
        let t = w.tile((n0, k), [PANEL_N, BLOCK_K]).load(); // [16, 8]
        let panel = interleave(t, BLOCK_K, group);
        codes.tile((place.panel(), k * PANEL_N), [1, PANEL_N * BLOCK_K]).store(panel);
    }
}
