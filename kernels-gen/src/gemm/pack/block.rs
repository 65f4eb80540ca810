//! GGUF blocks: 32 weights with f16 scales, and 256 weights with scales of their scales.

use super::{Place, interleave, interleave_nibbles};
use crate::common::format::PANEL_N;
use tilewright_dsl::prelude::*;

/// f16 numbers from two little-endian byte columns `[16, 2]`.
fn half_at(w: View<U8, 2>, n0: Index, byte: Index) -> Tile<F16> {
    let (low, high) = w.tile((n0, byte), [PANEL_N, 2]).load().split(); // [16] each
    (low.cast::<U16>() | (high.cast::<U16>() << 8)).bitcast::<F16>()
}

fn bytes_at(w: View<U8, 2>, n0: Index, byte: Index, len: usize) -> Tile<U8> {
    w.tile((n0, byte), [PANEL_N, len]).load()
}

/// The low and the high halves of `[16, len]` bytes, one after the other: `[16, 2 * len]`.
fn halves(bytes: Tile<U8>, len: usize) -> Tile<U8> {
    join(bytes & 15, bytes >> 4).permute([0, 2, 1]).reshape([PANEL_N, 2 * len])
}

/// Stores `[16, len]` codes of consecutive `k`, from `k`, in the form that `codes`' type asks for.
fn store_codes<B: Elem>(codes: ViewMut<B, 2>, panel: Index, k: Index, t: Tile<B>, len: usize) {
    codes.tile((panel, k * PANEL_N), [1, PANEL_N * len]).store(interleave(t, len, 4));
}

fn store_nibbles(codes: ViewMut<U8, 2>, panel: Index, k: Index, t: Tile<U8>, len: usize) {
    let at = codes.tile((panel, k * (PANEL_N / 2)), [1, PANEL_N / 2 * len]);
    at.store(interleave_nibbles(t, len));
}

fn store_row<S: Elem>(v: ViewMut<S, 2>, panel: Index, row: Index, t: Tile<S>) {
    v.tile((panel, row * PANEL_N), [1, PANEL_N]).store(t.reshape([1, PANEL_N]));
}

/// q4_0 and q4_1: scale (and minimum), 16 bytes of codes `j` and `j + 16`.
#[kernel]
pub(super) fn pack_q4(
    w: View<U8, 2>,
    codes: ViewMut<U8, 2>,
    scales: ViewMut<F16, 2>,
    mins: Option<ViewMut<F16, 2>>,
    place: Place,
) {
    let n0 = program_id(0) * PANEL_N;
    let head = if mins.is_some() { 4 } else { 2 };
    for block in range(0, w.dim(1) / (head + 16), 1) {
        let at = block * (head + 16);
        let q = halves(bytes_at(w, n0, at + head, 16), 16); // [16, 32]
        store_nibbles(codes, place.panel(), block * 32, q, 32);
        store_row(scales, place.panel(), block, half_at(w, n0, at));
        if let Some(mins) = mins {
            store_row(mins, place.panel(), block, half_at(w, n0, at + 2));
        }
    }
}

/// q5_0: scale, 4 bytes of fifth bits, 16 bytes of low bits `j` and `j + 16`; stored as int8.
#[kernel]
pub(super) fn pack_q5(
    w: View<U8, 2>,
    codes: ViewMut<I8, 2>,
    scales: ViewMut<F16, 2>,
    place: Place,
) {
    let n0 = program_id(0) * PANEL_N;
    for block in range(0, w.dim(1) / 22, 1) {
        let at = block * 22;
        let low = halves(bytes_at(w, n0, at + 6, 16), 16); // [16, 32]
        let bits = bytes_at(w, n0, at + 2, 4).expand(2).broadcast([PANEL_N, 4, 8]);
        let place_of = iota::<I32>(8).cast::<U8>().along(2, [PANEL_N, 4, 8]);
        let high = ((bits >> place_of) & 1).reshape([PANEL_N, 32]);
        let q = (low | (high << 4)).bitcast::<I8>() - 16;
        store_codes(codes, place.panel(), block * 32, q, 32);
        store_row(scales, place.panel(), block, half_at(w, n0, at));
    }
}

/// q8_0: scale, 32 int8 codes.
#[kernel]
pub(super) fn pack_q8(
    w: View<U8, 2>,
    codes: ViewMut<I8, 2>,
    scales: ViewMut<F16, 2>,
    place: Place,
) {
    let n0 = program_id(0) * PANEL_N;
    for block in range(0, w.dim(1) / 34, 1) {
        let at = block * 34;
        let q = bytes_at(w, n0, at + 2, 32).bitcast::<I8>(); // [16, 32]
        store_codes(codes, place.panel(), block * 32, q, 32);
        store_row(scales, place.panel(), block, half_at(w, n0, at));
    }
}

/// q4_k: two f16 super-scales, 12 bytes of 6-bit scales and minima, 128 bytes of codes, those of an
/// even group of 32 in the low halves and of the next odd one in the high halves.
#[kernel]
pub(super) fn pack_q4_k(
    w: View<U8, 2>,
    codes: ViewMut<U8, 2>,
    scales: ViewMut<U8, 2>,
    mins: ViewMut<U8, 2>,
    supers: ViewMut<F16, 2>,
    place: Place,
) {
    let n0 = program_id(0) * PANEL_N;
    for block in range(0, w.dim(1) / 144, 1) {
        let at = block * 144;
        store_row(supers, place.panel(), block * 2, half_at(w, n0, at));
        store_row(supers, place.panel(), block * 2 + 1, half_at(w, n0, at + 2));
        let low = bytes_at(w, n0, at + 4, 4); // scales of groups 0..4, and high bits of 4..8
        let mid = bytes_at(w, n0, at + 8, 4); // the same of the minima
        let top = bytes_at(w, n0, at + 12, 4); // low bits of both for groups 4..8
        let scale_high = (top & 15) | ((low >> 6) << 4);
        let min_high = (top >> 4) | ((mid >> 6) << 4);
        store_four(scales, place.panel(), block * 8, low & 63);
        store_four(scales, place.panel(), block * 8 + 4, scale_high);
        store_four(mins, place.panel(), block * 8, mid & 63);
        store_four(mins, place.panel(), block * 8 + 4, min_high);
        for pair in range(0, 4, 1) {
            let q = bytes_at(w, n0, at + 16 + pair * 32, 32); // [16, 32]: groups 2 pair, 2 pair + 1
            store_nibbles(codes, place.panel(), block * 256 + pair * 64, q & 15, 32);
            store_nibbles(codes, place.panel(), block * 256 + pair * 64 + 32, q >> 4, 32);
        }
    }
}

/// Four groups' `[16, 4]` values to four rows of 16.
fn store_four(v: ViewMut<U8, 2>, panel: Index, row: Index, t: Tile<U8>) {
    v.tile((panel, row * PANEL_N), [1, 4 * PANEL_N]).store(t.t().reshape([1, 4 * PANEL_N]));
}

/// q6_k: 128 bytes of low bits, 64 of high bits, 16 int8 scales, an f16 super-scale; stored as
/// int8.
#[kernel]
pub(super) fn pack_q6_k(
    w: View<U8, 2>,
    codes: ViewMut<I8, 2>,
    scales: ViewMut<I8, 2>,
    supers: ViewMut<F16, 2>,
    place: Place,
) {
    let n0 = program_id(0) * PANEL_N;
    for block in range(0, w.dim(1) / 210, 1) {
        let at = block * 210;
        store_row(supers, place.panel(), block, half_at(w, n0, at + 208));
        let scale = bytes_at(w, n0, at + 192, 16).bitcast::<I8>().t().reshape([1, 16 * PANEL_N]);
        scales.tile((place.panel(), block * (16 * PANEL_N)), [1, 16 * PANEL_N]).store(scale);
        for half in range(0, 2, 1) {
            let high = bytes_at(w, n0, at + 128 + half * 32, 32);
            for quarter in 0..4 {
                let low = bytes_at(w, n0, at + half * 64 + quarter % 2 * 32, 32);
                let low = if quarter < 2 { low & 15 } else { low >> 4 };
                let q = low | (((high >> (2 * quarter)) & 3) << 4);
                let k = block * 256 + half * 128 + quarter * 32;
                store_codes(codes, place.panel(), k, q.bitcast::<I8>() - 32, 32);
            }
        }
    }
}
