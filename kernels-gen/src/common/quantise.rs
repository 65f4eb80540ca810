//! Dynamic quantisation of values already in registers, shared by every kernel that ends in it.

use tilewright_dsl::prelude::*;

/// Smallest scale: its reciprocal is still finite.
pub const MIN_SCALE: f32 = f32::MIN_POSITIVE;

/// Codes of some groups with their scales.
#[derive(Clone, Copy)]
pub struct Quantised<Q> {
    /// `[groups, len]`.
    pub codes: Tile<Q>,
    /// `[groups]`, greater than 0.
    pub scale: Tile<F32>,
}

/// amax over the elements of each row of `x` that are not NaN, as a scale for codes up to `limit`.
#[kernel]
pub fn group_scale(x: Tile<F32>, limit: f32) -> Tile<F32> {
    scale_of(finite_or_zero(x).abs().max_axis(1), limit)
}

/// The scale for codes up to `limit` of a group whose greatest magnitude is `amax`.
pub fn scale_of(amax: Tile<F32>, limit: f32) -> Tile<F32> {
    (amax.min(f32::MAX) / limit).max(MIN_SCALE)
}

/// `x` with 0 for NaN.
#[kernel]
pub fn finite_or_zero(x: Tile<F32>) -> Tile<F32> {
    select(x == x, x, 0.0)
}

/// int8 codes of `x [groups, len]` for given scales: nearest even, −127 to 127, 0 for NaN.
pub fn i8_codes(x: Tile<F32>, scale: Tile<F32>) -> Tile<I8> {
    let scaled = finite_or_zero(x) * scale.recip().along(0, x.shape());
    scaled.max(-127.0).min(127.0).cast_round::<I8>(Rounding::NearestEven)
}

/// e4m3 codes of `x [groups, len]` for given scales: nearest even, saturating, NaN for NaN.
pub fn f8_codes(x: Tile<F32>, scale: Tile<F32>) -> Tile<F8E4M3> {
    (x * scale.recip().along(0, x.shape())).cast_sat::<F8E4M3>()
}

/// int8 codes and scales of the rows of `x`, each one group.
pub fn quantise_i8(x: Tile<F32>) -> Quantised<I8> {
    let scale = group_scale(x, 127.0);
    Quantised { codes: i8_codes(x, scale), scale }
}

/// e4m3 codes and scales of the rows of `x`, each one group.
pub fn quantise_f8(x: Tile<F32>) -> Quantised<F8E4M3> {
    let scale = group_scale(x, 448.0);
    Quantised { codes: f8_codes(x, scale), scale }
}

/// `scale · Σ codes` of each group, `[groups]`: what the zero point or minimum of a weight
/// multiplies.
pub fn scaled_sum(q: Quantised<I8>) -> Tile<F32> {
    q.codes.cast::<I32>().sum(1).cast::<F32>() * q.scale
}

/// 1 if an element of `x` is NaN, else 0.
#[kernel]
pub fn has_nan(x: Tile<F32>) -> Scalar<I32> {
    select((x != x).any_all(), 1, 0)
}
