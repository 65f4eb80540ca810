//! Values at run time: a scalar or a tile as a typed vector of element bits.

use super::convert;
use tilewright_abi::{DType, Kind};
use tilewright_ir::{Literal, Rounding};

/// The bits of each element, in the narrowest machine word; sub-byte elements take a byte.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    B1(Vec<u8>),
    B2(Vec<u16>),
    B4(Vec<u32>),
    B8(Vec<u64>),
}

impl Data {
    /// Words of the element's width from 64-bit ones.
    pub(super) fn from_bits(d: DType, bits: impl Iterator<Item = u64>) -> Data {
        match d.bits() {
            ..=8 => Data::B1(bits.map(|b| b as u8).collect()),
            9..=16 => Data::B2(bits.map(|b| b as u16).collect()),
            17..=32 => Data::B4(bits.map(|b| b as u32).collect()),
            33.. => Data::B8(bits.collect()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Data::B1(v) => v.len(),
            Data::B2(v) => v.len(),
            Data::B4(v) => v.len(),
            Data::B8(v) => v.len(),
        }
    }

    /// The bits of element `i`, 0 beyond the end.
    pub(super) fn get(&self, i: usize) -> u64 {
        match self {
            Data::B1(v) => v.get(i).copied().unwrap_or(0).into(),
            Data::B2(v) => v.get(i).copied().unwrap_or(0).into(),
            Data::B4(v) => v.get(i).copied().unwrap_or(0).into(),
            Data::B8(v) => v.get(i).copied().unwrap_or(0),
        }
    }

    /// The elements at these positions.
    pub(super) fn take(&self, at: &[usize]) -> Data {
        fn pick<T: Copy + Default>(v: &[T], at: &[usize]) -> Vec<T> {
            at.iter().map(|i| v.get(*i).copied().unwrap_or_default()).collect()
        }
        match self {
            Data::B1(v) => Data::B1(pick(v, at)),
            Data::B2(v) => Data::B2(pick(v, at)),
            Data::B4(v) => Data::B4(pick(v, at)),
            Data::B8(v) => Data::B8(pick(v, at)),
        }
    }

    /// All elements' bits.
    pub(super) fn bits(&self) -> Vec<u64> {
        match self {
            Data::B1(v) => v.iter().map(|b| u64::from(*b)).collect(),
            Data::B2(v) => v.iter().map(|b| u64::from(*b)).collect(),
            Data::B4(v) => v.iter().map(|b| u64::from(*b)).collect(),
            Data::B8(v) => v.clone(),
        }
    }
}

/// A scalar (empty shape, one element) or a tile.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tile {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    pub(super) data: Data,
}

/// Elements as numbers that compare as the dtype does.
pub(super) enum Numbers {
    Float(Vec<f64>),
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
}

impl Tile {
    pub(super) fn scalar(l: &Literal) -> Tile {
        Tile::from_bits(l.dtype, Vec::new(), std::iter::once(literal_bits(l)))
    }

    pub(super) fn index(n: i64) -> Tile {
        Tile { dtype: DType::I64, shape: Vec::new(), data: Data::B8(vec![n as u64]) }
    }

    pub(super) fn from_bits(d: DType, shape: Vec<usize>, bits: impl Iterator<Item = u64>) -> Tile {
        Tile { dtype: d, shape, data: Data::from_bits(d, bits) }
    }

    /// The same shape with other elements.
    pub(super) fn with(&self, dtype: DType, data: Data) -> Tile {
        Tile { dtype, shape: self.shape.clone(), data }
    }

    /// The elements at these positions, as a tile of `shape`.
    pub(super) fn take(&self, shape: Vec<usize>, at: &[usize]) -> Tile {
        Tile { dtype: self.dtype, shape, data: self.data.take(at) }
    }

    /// The first element, two's complement in 64 bits.
    pub(super) fn as_index(&self) -> i64 {
        convert::decode_int(self.dtype, self.data.get(0)) as i64
    }

    pub(super) fn as_bool(&self) -> bool {
        self.data.get(0) != 0
    }

    /// Integers and bools, signed ones sign-extended.
    pub(super) fn ints(&self) -> Vec<u64> {
        let d = self.dtype;
        match (&self.data, d) {
            (Data::B8(v), _) => v.clone(),
            (Data::B4(v), DType::I32) => v.iter().map(|b| *b as i32 as u64).collect(),
            (Data::B1(v), DType::I8) => v.iter().map(|b| *b as i8 as u64).collect(),
            (data, _) => data.bits().into_iter().map(|b| convert::decode_int(d, b)).collect(),
        }
    }

    /// Low bits of `values` as elements of an integer type or bool.
    pub(super) fn ints_data(d: DType, values: impl Iterator<Item = u64>) -> Data {
        match d.bits() {
            // Whole words drop the upper bits themselves.
            8 | 16 | 32 | 64 if d != DType::Bool => Data::from_bits(d, values),
            _ => Data::from_bits(d, values.map(|v| convert::encode_int(d, v))),
        }
    }

    /// Floats of at most 32 bits.
    pub(super) fn f32s(&self) -> Vec<f32> {
        match (&self.data, self.dtype) {
            (Data::B4(v), _) => v.iter().map(|b| f32::from_bits(*b)).collect(),
            (Data::B2(v), DType::BF16) => {
                v.iter().map(|b| f32::from_bits(u32::from(*b) << 16)).collect()
            }
            (Data::B1(v), d) => {
                let table: Vec<f32> =
                    (0..256).map(|code| convert::decode(d, code) as f32).collect();
                v.iter().map(|b| table[usize::from(*b)]).collect()
            }
            (data, d) => data.bits().into_iter().map(|b| convert::decode(d, b) as f32).collect(),
        }
    }

    /// f32, f16 or bf16 elements, rounded to nearest even.
    pub(super) fn f32s_data(d: DType, values: impl Iterator<Item = f32>) -> Data {
        match d {
            DType::F32 => Data::B4(values.map(f32::to_bits).collect()),
            _ => Data::from_bits(
                d,
                values.map(|x| convert::encode(d, f64::from(x), Rounding::NearestEven, false)),
            ),
        }
    }

    pub(super) fn f64s(&self) -> Vec<f64> {
        match &self.data {
            Data::B8(v) => v.iter().map(|b| f64::from_bits(*b)).collect(),
            Data::B1(_) | Data::B2(_) | Data::B4(_) => {
                self.f32s().into_iter().map(f64::from).collect()
            }
        }
    }

    pub(super) fn f64s_data(values: impl Iterator<Item = f64>) -> Data {
        Data::B8(values.map(f64::to_bits).collect())
    }

    pub(super) fn numbers(&self) -> Numbers {
        match self.dtype.kind() {
            Kind::Float => Numbers::Float(self.f64s()),
            Kind::Signed => Numbers::Signed(self.ints().into_iter().map(|v| v as i64).collect()),
            Kind::Unsigned | Kind::Bool => Numbers::Unsigned(self.ints()),
        }
    }
}

/// The bits of a literal in its own format.
pub(super) fn literal_bits(l: &Literal) -> u64 {
    match l.dtype.kind() {
        Kind::Float => {
            convert::encode(l.dtype, f64::from_bits(l.bits), Rounding::NearestEven, false)
        }
        Kind::Bool | Kind::Signed | Kind::Unsigned => convert::encode_int(l.dtype, l.bits),
    }
}
