//! Host numbers as constants of an element type.

use crate::elem::{Bool, Elem, Float, Int};
use tilewright_abi::{DType, Kind};
use tilewright_ir::Literal;

/// A host number before its element type is known.
#[derive(Clone, Copy, Debug)]
pub enum HostNumber {
    /// A Rust float.
    Float(f64),
    /// A Rust integer.
    Int(i128),
    /// A Rust bool.
    Bool(bool),
}

/// A host value that can stand for a constant of element type `E`: floats for [`Float`] types,
/// integers for [`Int`] types, `bool` for [`Bool`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a constant of type `{E}`",
    label = "not a constant of that type",
    note = "constants of float types are written `2.0`, of integer types `2`"
)]
pub trait IntoConst<E: Elem>: Copy {
    /// The number.
    fn number(self) -> HostNumber;
}

macro_rules! host_numbers {
    ($($host:ty => $bound:ident, $variant:ident($wide:ty);)*) => { $(
        impl<E: $bound> IntoConst<E> for $host {
            fn number(self) -> HostNumber {
                HostNumber::$variant(self as $wide)
            }
        }
    )* };
}
host_numbers! {
    f64 => Float, Float(f64);
    f32 => Float, Float(f64);
    i32 => Int, Int(i128);
    i64 => Int, Int(i128);
    u8 => Int, Int(i128);
    u32 => Int, Int(i128);
    u64 => Int, Int(i128);
    usize => Int, Int(i128);
}
impl IntoConst<Bool> for bool {
    fn number(self) -> HostNumber {
        HostNumber::Bool(self)
    }
}

/// The literal of `dtype` nearest to `number`, or what is wrong with it.
pub(crate) fn literal(dtype: DType, number: HostNumber) -> Result<Literal, String> {
    let bits = match number {
        HostNumber::Bool(b) => b.into(),
        HostNumber::Float(x) => round_float(dtype, x).to_bits(),
        HostNumber::Int(x) => {
            let bits = dtype.bits();
            let signed = dtype.kind() == Kind::Signed;
            let (lo, hi) = if signed {
                (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
            } else {
                (0, (1i128 << bits) - 1)
            };
            if x < lo || x > hi {
                return Err(format!("`{x}` does not fit into `{dtype}`, which holds {lo} to {hi}"));
            }
            x as u64
        }
    };
    Ok(Literal { dtype, bits })
}

/// `x` rounded to nearest even in the format of `dtype`; formats without a row are left alone.
fn round_float(dtype: DType, x: f64) -> f64 {
    // (significand bits including the hidden one, least exponent of a normal, largest finite value,
    // what overflow becomes)
    let (precision, min_exp, max, over) = match dtype {
        DType::F32 => return f64::from(x as f32),
        DType::F16 => (11, -14, 65504.0, f64::INFINITY),
        DType::BF16 => (8, -126, f64::from(f32::from_bits(0x7f7f_0000)), f64::INFINITY),
        DType::F8E4M3 => (4, -6, 448.0, f64::NAN),
        DType::F8E5M2 => (3, -14, 57344.0, f64::INFINITY),
        _ => return x,
    };
    if x == 0.0 || !x.is_finite() {
        return if x.is_infinite() { over.copysign(x) } else { x };
    }
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let ulp = 2f64.powi(exponent.max(min_exp) - (precision - 1));
    let rounded = (x / ulp).round_ties_even() * ulp;
    if rounded.abs() > max { over.copysign(x) } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_round_to_their_format() {
        assert_eq!(round_float(DType::BF16, 1.0 + 1.0 / 256.0), 1.0);
        assert_eq!(round_float(DType::BF16, 1.0 + 3.0 / 256.0), 1.0 + 4.0 / 256.0);
        assert_eq!(round_float(DType::F16, 65520.0), f64::INFINITY);
        assert_eq!(round_float(DType::F16, 65519.0), 65504.0);
        assert_eq!(round_float(DType::F16, 2f64.powi(-25)), 0.0);
        assert_eq!(round_float(DType::F16, 3.0 * 2f64.powi(-25)), 2f64.powi(-23));
        assert!(round_float(DType::F8E4M3, 1e9).is_nan());
        assert_eq!(round_float(DType::F8E4M3, -449.0), -448.0);
        assert_eq!(round_float(DType::F8E5M2, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert_eq!(round_float(DType::F32, 0.1), f64::from(0.1f32));
    }

    #[test]
    fn integers_must_fit() {
        assert_eq!(literal(DType::I8, HostNumber::Int(-128)).map(|l| l.bits), Ok(-128i64 as u64));
        assert!(literal(DType::I8, HostNumber::Int(128)).is_err());
        assert!(literal(DType::U4, HostNumber::Int(16)).is_err());
        assert!(literal(DType::U64, HostNumber::Int(u64::MAX.into())).is_ok());
    }
}
