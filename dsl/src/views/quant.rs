//! Quantised matrices: packed codes, decoded to tiles.

use crate::diag;
use crate::elem::{Elem, F32, Float, I8, U8};
use crate::handle::{Index, Tile, View};
use crate::operand::IntoIndex;
use crate::ops::join;
use crate::staging::at;
use std::panic::Location;
use tilewright_macros::Carry;

/// How an element is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantCode {
    /// 0 to 15.
    U4,
    /// 0 to 31: the low 4 bits in `codes`, the fifth in `high`.
    U5,
    /// 0 to 63: the low 4 bits in `codes`, two more in `high`.
    U6,
    /// 0 to 255.
    U8,
    /// −128 to 127.
    I8,
}

impl QuantCode {
    /// Bits of an element in `codes`.
    pub fn low_bits(self) -> usize {
        match self {
            QuantCode::U4 | QuantCode::U5 | QuantCode::U6 => 4,
            QuantCode::U8 | QuantCode::I8 => 8,
        }
    }

    /// Bits of an element in `high`.
    pub fn high_bits(self) -> usize {
        match self {
            QuantCode::U5 => 1,
            QuantCode::U6 => 2,
            QuantCode::U4 | QuantCode::U8 | QuantCode::I8 => 0,
        }
    }
}

/// A `[rows, k]` matrix whose element `(i, j)` is `(code − zero) · scale + min`, with one scale and
/// minimum for each row and group of `group` columns.
///
/// Codes are packed along a row, low bits first: with 4 bits, byte `b` holds elements `2b` (low
/// nibble) and `2b + 1`; a bit plane of one bit holds elements `8b` to `8b + 7` in bits 0 to 7 of byte
/// `b`, one of two bits elements `4b` to `4b + 3`.
///
/// ```
/// use tilewright_dsl::prelude::*;
/// use tilewright_dsl::views::{QuantCode, QuantView};
///
/// #[kernel]
/// fn dequantise(w: QuantView<F16>, out: ViewMut<F32, 2>) {
///     let row = program_id(0) * 4;
///     for k in range(0, out.dim(1), 64) {
///         out.tile((row, k), [4, 64]).store(w.load((row, k), [4, 64]));
///     }
/// }
///
/// let func = stage("dequantise", |s| {
///     let (codes, scales) = (s.view("codes"), s.view("scales"));
///     let w = QuantView::new(QuantCode::U4, 32, codes, scales).with_zero(8);
///     dequantise(w, s.view_mut("out"))
/// });
/// assert!(func.is_ok());
/// ```
#[derive(Clone, Copy, Debug, Carry)]
pub struct QuantView<S: Float> {
    /// `[rows, k · low_bits / 8]`.
    codes: View<U8, 2>,
    /// `[rows, k · high_bits / 8]`, for codes of 5 and 6 bits.
    high: Option<View<U8, 2>>,
    /// `[rows, k / group]`.
    scales: View<S, 2>,
    /// `[rows, k / group]`.
    mins: Option<View<S, 2>>,
    #[carry(host)]
    code: QuantCode,
    #[carry(host)]
    group: usize,
    #[carry(host)]
    zero: i32,
}

/// Takes bytes apart: a `[rows, n]` tile of bytes gives `[rows, n · 8 / bits]` elements of `bits` bits,
/// 1, 2, 4 or 8, those of one byte from its low bits up.
#[track_caller]
pub fn unpack(bytes: Tile<U8>, bits: usize) -> Tile<U8> {
    let mut tile = bytes;
    if !matches!(bits, 1 | 2 | 4 | 8) || bytes.rank() != 2 {
        at(Location::caller(), |cx| {
            let what = format!("unpacking {bits}-bit elements of a tile of rank {}", bytes.rank());
            let help = "elements have 1, 2, 4 or 8 bits, and the tile has two axes";
            cx.report(diag::bad_shape(&cx.span(), what, help));
        });
        return tile;
    }
    let mut width = 8;
    while width > bits {
        width /= 2;
        let shape = [tile.extent(0), tile.extent(1) * 2];
        tile = join(tile & ((1 << width) - 1), tile >> width).reshape(shape);
    }
    tile
}

impl<S: Float> QuantView<S> {
    /// Codes of 4 or 8 bits with a scale for each `group` columns.
    pub fn new(
        code: QuantCode,
        group: usize,
        codes: View<U8, 2>,
        scales: View<S, 2>,
    ) -> QuantView<S> {
        QuantView { codes, high: None, scales, mins: None, code, group, zero: 0 }
    }

    /// With the bits above the low 4, for codes of 5 or 6 bits.
    pub fn with_high(self, high: View<U8, 2>) -> QuantView<S> {
        QuantView { high: Some(high), ..self }
    }

    /// With minima, which are added.
    pub fn with_mins(self, mins: View<S, 2>) -> QuantView<S> {
        QuantView { mins: Some(mins), ..self }
    }

    /// With the code that stands for zero.
    pub fn with_zero(self, zero: i32) -> QuantView<S> {
        QuantView { zero, ..self }
    }

    /// The unsigned codes of the block of `shape` at row `i` and column `j`, without `zero`, scales
    /// and minima. `j` and `shape[1]` are multiples of 8.
    #[track_caller]
    pub fn codes(self, (i, j): (impl IntoIndex, impl IntoIndex), shape: [usize; 2]) -> Tile<U8> {
        let (i, j) = (i.into_index(), j.into_index());
        let low = packed(self.codes, self.code.low_bits(), i, j, shape);
        let bits = self.code.high_bits();
        if bits == 0 {
            return low;
        }
        let Some(high) = self.high else {
            at(Location::caller(), |cx| {
                let what = format!("codes `{:?}` without their high bits", self.code);
                cx.report(diag::bad_shape(&cx.span(), what, "add them: `with_high(view)`"));
            });
            return low;
        };
        low | (packed(high, bits, i, j, shape) << 4)
    }

    /// The codes of [`QuantCode::I8`], or the others less `zero` where that fits 8 bits.
    #[track_caller]
    pub fn signed_codes(
        self,
        coords: (impl IntoIndex, impl IntoIndex),
        shape: [usize; 2],
    ) -> Tile<I8> {
        let codes = self.codes(coords, shape).bitcast::<I8>();
        if self.zero == 0 { codes } else { codes - self.zero }
    }

    /// The scale of each element of the block of `shape` at row `i` and column `j`, a multiple of
    /// `group` as is `shape[1]`.
    #[track_caller]
    pub fn scales(self, (i, j): (impl IntoIndex, impl IntoIndex), shape: [usize; 2]) -> Tile<F32> {
        self.of_groups(self.scales, i.into_index(), j.into_index(), shape)
    }

    /// The decoded block of `shape` at row `i` and column `j`, a multiple of `group` as is `shape[1]`.
    #[track_caller]
    pub fn load(self, (i, j): (impl IntoIndex, impl IntoIndex), shape: [usize; 2]) -> Tile<F32> {
        let (i, j) = (i.into_index(), j.into_index());
        let codes = match self.code {
            QuantCode::I8 => self.codes((i, j), shape).bitcast::<I8>().cast::<F32>(),
            QuantCode::U4 | QuantCode::U5 | QuantCode::U6 | QuantCode::U8 => {
                self.codes((i, j), shape).cast::<F32>()
            }
        };
        let codes = if self.zero == 0 { codes } else { codes - f64::from(self.zero) };
        let scaled = codes * self.of_groups(self.scales, i, j, shape);
        match self.mins {
            Some(mins) => scaled + self.of_groups(mins, i, j, shape),
            None => scaled,
        }
    }

    /// A value for each group, repeated over its columns.
    #[track_caller]
    fn of_groups<E: Elem>(
        self,
        view: View<E, 2>,
        i: Index,
        j: Index,
        shape: [usize; 2],
    ) -> Tile<F32> {
        let [m, k] = shape;
        if self.group == 0 || !k.is_multiple_of(self.group) {
            at(Location::caller(), |cx| {
                let what = format!("{k} columns are not whole groups of {}", self.group);
                cx.report(diag::bad_shape(&cx.span(), what, ""));
            });
            return crate::ops::zeros(shape);
        }
        let groups = k / self.group;
        let values = view.tile((i, j / self.group), [m, groups]).load().cast::<F32>();
        values.expand(2).broadcast([m, groups, self.group]).reshape(shape)
    }
}

/// The elements of `bits` bits of a packed view.
#[track_caller]
fn packed(view: View<U8, 2>, bits: usize, i: Index, j: Index, [m, k]: [usize; 2]) -> Tile<U8> {
    let per_byte = 8 / bits;
    if !k.is_multiple_of(per_byte) {
        at(Location::caller(), |cx| {
            let what = format!("{k} columns of {bits} bits are not whole bytes");
            cx.report(diag::bad_shape(&cx.span(), what, ""));
        });
    }
    let column = if per_byte == 1 { j } else { j / per_byte };
    unpack(view.tile((i, column), [m, k.div_ceil(per_byte)]).load(), bits)
}
