//! Element conversions, exact to the last bit: what `cast` means for every pair of types.
//!
//! A float is decoded to `f64`, which holds every value of every format here, and rounded once when
//! it is encoded. Integers go to a float from all of their 64 bits.

use tilewright_abi::{DType, Kind};
use tilewright_ir::Rounding;

/// What the codes of a format at its upper end mean.
#[derive(Clone, Copy, PartialEq)]
enum Top {
    /// Infinity and NaNs, as in IEEE 754.
    Ieee,
    /// No infinity; all ones is NaN.
    NanOnly,
    /// No infinity, no negative zero, whose code is the only NaN.
    Fnuz,
    /// Numbers only.
    Finite,
}

/// A sign bit, an exponent and a mantissa. E8M0, which has only an exponent, is apart.
struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    top: Top,
    /// How far the code is shifted up in its element: tf32 stands in the upper bits of an f32.
    shift: u32,
}

impl Format {
    fn sign(&self) -> u64 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// The code of the largest finite number.
    fn largest(&self) -> u64 {
        match self.top {
            Top::Ieee => self.infinity() - 1,
            Top::NanOnly => self.sign() - 2,
            Top::Fnuz | Top::Finite => self.sign() - 1,
        }
    }

    fn infinity(&self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    fn nan(&self) -> u64 {
        match self.top {
            Top::Ieee => self.infinity() | 1 << (self.mantissa_bits - 1),
            Top::NanOnly => self.sign() - 1,
            Top::Fnuz => self.sign(),
            Top::Finite => self.largest(),
        }
    }
}

fn format(d: DType) -> Option<Format> {
    let (exponent_bits, mantissa_bits, bias, top) = match d {
        DType::F64 => (11, 52, 1023, Top::Ieee),
        DType::F32 => (8, 23, 127, Top::Ieee),
        DType::TF32 => (8, 10, 127, Top::Ieee),
        DType::F16 => (5, 10, 15, Top::Ieee),
        DType::BF16 => (8, 7, 127, Top::Ieee),
        DType::F8E4M3 => (4, 3, 7, Top::NanOnly),
        DType::F8E5M2 => (5, 2, 15, Top::Ieee),
        DType::F8E4M3Fnuz => (4, 3, 8, Top::Fnuz),
        DType::F8E5M2Fnuz => (5, 2, 16, Top::Fnuz),
        DType::F6E2M3 => (2, 3, 1, Top::Finite),
        DType::F6E3M2 => (3, 2, 3, Top::Finite),
        DType::F4E2M1 => (2, 1, 1, Top::Finite),
        DType::E8M0
        | DType::Bool
        | DType::I4
        | DType::U4
        | DType::I8
        | DType::U8
        | DType::I16
        | DType::U16
        | DType::I32
        | DType::U32
        | DType::I64
        | DType::U64 => return None,
    };
    let shift = if d == DType::TF32 { 13 } else { 0 };
    Some(Format { exponent_bits, mantissa_bits, bias, top, shift })
}

/// 2^n for any n, 0 or infinity beyond the range.
fn exp2(n: i32) -> f64 {
    match n {
        -1022..=1023 => f64::from_bits(((n + 1023) as u64) << 52),
        -1074..=-1023 => f64::from_bits(1 << (n + 1074)),
        i32::MIN..=-1075 => 0.0,
        1024..=i32::MAX => f64::INFINITY,
    }
}

/// The value of a float's bits.
pub fn decode(d: DType, bits: u64) -> f64 {
    match d {
        DType::F64 => return f64::from_bits(bits),
        DType::F32 => return f64::from(f32::from_bits(bits as u32)),
        DType::E8M0 => {
            return if bits & 0xff == 0xff { f64::NAN } else { exp2((bits & 0xff) as i32 - 127) };
        }
        _ => {}
    }
    let Some(f) = format(d) else { return 0.0 };
    let code = bits >> f.shift & (f.sign() * 2 - 1);
    let magnitude = code & (f.sign() - 1);
    let negative = code != magnitude;
    let is_nan = match f.top {
        Top::Ieee => magnitude > f.infinity(),
        Top::NanOnly => magnitude == f.nan(),
        Top::Fnuz => code == f.sign(),
        Top::Finite => false,
    };
    let value = if is_nan {
        f64::NAN
    } else if f.top == Top::Ieee && magnitude == f.infinity() {
        f64::INFINITY
    } else {
        let exponent = (magnitude >> f.mantissa_bits) as i32;
        let mantissa = magnitude & ((1 << f.mantissa_bits) - 1);
        let hidden = if exponent == 0 { 0 } else { 1 << f.mantissa_bits };
        (mantissa + hidden) as f64 * exp2(exponent.max(1) - f.bias - f.mantissa_bits as i32)
    };
    if negative { -value } else { value }
}

/// The bits of `x` in the format of `d`, rounded once.
pub fn encode(d: DType, x: f64, rounding: Rounding, saturate: bool) -> u64 {
    match (d, rounding, saturate) {
        (DType::F64, _, false) => return x.to_bits(),
        (DType::F32, Rounding::NearestEven, false) if !x.is_nan() => {
            return u64::from((x as f32).to_bits());
        }
        _ => {}
    }
    let negative = x.is_sign_negative();
    if d == DType::E8M0 {
        return encode_scale(x, rounding, saturate);
    }
    let Some(f) = format(d) else { return 0 };
    let sign = if negative { f.sign() } else { 0 };
    let code = if x.is_nan() {
        f.nan()
    } else if x.is_infinite() {
        match f.top {
            Top::Ieee if !saturate => sign | f.infinity(),
            Top::NanOnly | Top::Fnuz if !saturate => f.nan(),
            _ => sign | f.largest(),
        }
    } else {
        let (significand, exponent) = parts(x);
        encode_parts(&f, negative, significand, exponent, rounding, saturate)
    };
    code << f.shift
}

/// `|x|` as an integer times a power of two.
fn parts(x: f64) -> (u64, i32) {
    let bits = x.abs().to_bits();
    let (exponent, mantissa) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    match exponent {
        0 => (mantissa, -1074),
        _ => (mantissa | 1 << 52, exponent - 1075),
    }
}

/// The code of ±`significand`·2^`exponent`.
fn encode_parts(
    f: &Format,
    negative: bool,
    significand: u64,
    exponent: i32,
    rounding: Rounding,
    saturate: bool,
) -> u64 {
    let sign = if negative { f.sign() } else { 0 };
    let mut magnitude = 0;
    if significand != 0 {
        let leading = 63 - significand.leading_zeros() as i32 + exponent;
        let scale = leading.max(1 - f.bias);
        // The last place of the result is worth 2^(exponent + drop) of the significand.
        let drop = scale - f.mantissa_bits as i32 - exponent;
        let wide = u128::from(significand);
        let rounded = if drop <= 0 {
            wide << -drop
        } else {
            let drop = drop.min(100);
            let (kept, rest) = (wide >> drop, wide & ((1 << drop) - 1));
            let half = 1u128 << (drop - 1);
            let up =
                rounding == Rounding::NearestEven && (rest > half || rest == half && kept & 1 == 1);
            kept + u128::from(up)
        };
        // A hidden bit, and a carry out of the mantissa, add themselves to the exponent field.
        magnitude = (((scale + f.bias - 1) as u64) << f.mantissa_bits) + rounded as u64;
    }
    if magnitude > f.largest() {
        let clamp = saturate || f.top == Top::Finite || rounding == Rounding::TowardZero;
        magnitude = match f.top {
            _ if clamp => f.largest(),
            Top::Ieee => f.infinity(),
            Top::NanOnly | Top::Fnuz | Top::Finite => return f.nan(),
        };
    }
    if f.top == Top::Fnuz && magnitude == 0 { 0 } else { sign | magnitude }
}

fn encode_scale(x: f64, rounding: Rounding, saturate: bool) -> u64 {
    if x.is_nan() || x < 0.0 || x.is_infinite() && !saturate {
        return 255;
    }
    if x.is_infinite() {
        return 254;
    }
    let (significand, exponent) = parts(x);
    encode_power(significand, exponent, rounding, saturate)
}

/// The e8m0 code of `significand`·2^`exponent`.
fn encode_power(significand: u64, exponent: i32, rounding: Rounding, saturate: bool) -> u64 {
    if significand == 0 {
        return 0;
    }
    let top = 63 - significand.leading_zeros() as i32;
    let mut code = top + exponent + 127;
    let rest = significand ^ 1 << top;
    let half = if top > 0 { 1 << (top - 1) } else { 1 };
    if rounding == Rounding::NearestEven && (rest > half || rest == half && code & 1 == 1) {
        code += 1;
    }
    match code {
        ..=0 => 0,
        1..=254 => code as u64,
        255.. if saturate || rounding == Rounding::TowardZero => 254,
        255.. => 255,
    }
}

/// An integer's or bool's value from its bits: two's complement in 64 bits for a signed type.
pub fn decode_int(d: DType, bits: u64) -> u64 {
    let unused = 64 - d.bits();
    match d.kind() {
        Kind::Bool => u64::from(bits & 0xff != 0),
        Kind::Signed => ((bits << unused) as i64 >> unused) as u64,
        Kind::Unsigned | Kind::Float => bits << unused >> unused,
    }
}

/// The bits of an element that hold an integer's low bits.
pub fn encode_int(d: DType, value: u64) -> u64 {
    match d.kind() {
        Kind::Bool => value & 1,
        Kind::Signed | Kind::Unsigned | Kind::Float => {
            let unused = 64 - d.bits();
            value << unused >> unused
        }
    }
}

/// Least and greatest value.
fn int_range(d: DType) -> (i128, i128) {
    let bits = d.bits();
    match d.kind() {
        Kind::Bool => (0, 1),
        Kind::Signed => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        Kind::Unsigned | Kind::Float => (0, (1 << bits) - 1),
    }
}

/// `cast`, on the bits of one element.
pub fn cast(from: DType, to: DType, bits: u64, rounding: Rounding, saturate: bool) -> u64 {
    if from == to && !saturate {
        return bits;
    }
    match (from.is_float(), to.is_float()) {
        (true, true) => encode(to, decode(from, bits), rounding, saturate),
        (true, false) => {
            let x = decode(from, bits);
            if to == DType::Bool {
                return u64::from(x != 0.0);
            }
            let x = match rounding {
                Rounding::NearestEven => x.round_ties_even(),
                Rounding::TowardZero => x.trunc(),
            };
            let (least, greatest) = int_range(to);
            // `as` takes NaN to 0 and clamps to i128, which holds every range.
            encode_int(to, (x as i128).clamp(least, greatest) as u64)
        }
        (false, true) => {
            let value = decode_int(from, bits);
            let negative = from.kind() == Kind::Signed && (value as i64) < 0;
            let magnitude = if negative { value.wrapping_neg() } else { value };
            match format(to) {
                Some(f) => encode_parts(&f, negative, magnitude, 0, rounding, saturate) << f.shift,
                None if negative => 255,
                None => encode_power(magnitude, 0, rounding, saturate),
            }
        }
        (false, false) => {
            let value = decode_int(from, bits);
            if to == DType::Bool {
                return u64::from(value != 0);
            }
            let wide = if from.kind() == Kind::Signed {
                i128::from(value as i64)
            } else {
                i128::from(value)
            };
            let (least, greatest) = int_range(to);
            let value = if saturate { wide.clamp(least, greatest) as u64 } else { value };
            encode_int(to, value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Rounding::{NearestEven, TowardZero};

    fn sat(d: DType, x: f64) -> u64 {
        encode(d, x, NearestEven, true)
    }

    fn open(d: DType, x: f64) -> u64 {
        encode(d, x, NearestEven, false)
    }

    const SHORT: [DType; 10] = [
        DType::F16,
        DType::BF16,
        DType::F8E4M3,
        DType::F8E5M2,
        DType::F8E4M3Fnuz,
        DType::F8E5M2Fnuz,
        DType::F6E2M3,
        DType::F6E3M2,
        DType::F4E2M1,
        DType::E8M0,
    ];

    #[test]
    fn saturating_e4m3() {
        let inputs = [448.0, 449.0, 464.0, 465.0, 1000.0, -1000.0, f64::INFINITY, f64::NAN];
        let codes = inputs.map(|x| sat(DType::F8E4M3, x));
        assert_eq!(codes, [0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0xfe, 0x7e, 0x7f]);
    }

    #[test]
    fn open_ended_e4m3_and_e5m2() {
        let value = |x| decode(DType::F8E4M3, open(DType::F8E4M3, x));
        assert_eq!(value(464.0), 448.0);
        assert!(value(464.001).is_nan() && value(480.0).is_nan() && value(f64::INFINITY).is_nan());
        assert_eq!([17.0, 18.0, 19.0, 300.0].map(value), [16.0, 18.0, 20.0, 288.0]);
        assert_eq!(decode(DType::F8E5M2, open(DType::F8E5M2, 61440.0)), f64::INFINITY);
        assert_eq!(decode(DType::F8E5M2, open(DType::F8E5M2, 61439.9)), 57344.0);
        assert_eq!(decode(DType::F8E5M2, sat(DType::F8E5M2, -1e9)), -57344.0);
        let down = |d, x| decode(d, encode(d, x, TowardZero, false));
        assert_eq!(down(DType::F8E4M3, 1e9), 448.0);
        assert_eq!(down(DType::F16, -1e9), -65504.0);
        assert_eq!(down(DType::F16, f64::NEG_INFINITY), f64::NEG_INFINITY);
    }

    #[test]
    fn fnuz() {
        assert_eq!(decode(DType::F8E4M3Fnuz, 0x7f), 240.0);
        assert!(decode(DType::F8E4M3Fnuz, 0x80).is_nan());
        assert_eq!(open(DType::F8E4M3Fnuz, -1e-9), 0);
        assert_eq!(open(DType::F8E4M3Fnuz, 1e9), 0x80);
        assert_eq!(sat(DType::F8E4M3Fnuz, f64::NEG_INFINITY), 0xff);
        assert_eq!(decode(DType::F8E5M2Fnuz, 0x7f), 57344.0);
    }

    #[test]
    fn bf16_rounds_to_even_and_keeps_nan() {
        let inputs = [1.0 + 2f64.powi(-8), 1.0 + 3.0 * 2f64.powi(-8), -(1.0 + 3.0 * 2f64.powi(-8))];
        let values = inputs.map(|x| decode(DType::BF16, open(DType::BF16, x)));
        assert_eq!(values, [1.0, 1.015625, -1.015625]);
        for bits in [0x7fff_ffffu64, 0x7f80_0001] {
            let bf16 = cast(DType::F32, DType::BF16, bits, NearestEven, false);
            assert!(decode(DType::BF16, bf16).is_nan());
        }
    }

    #[test]
    fn small_floats_saturate_always() {
        assert_eq!(decode(DType::F4E2M1, open(DType::F4E2M1, 7.0)), 6.0);
        assert_eq!(decode(DType::F4E2M1, open(DType::F4E2M1, f64::NEG_INFINITY)), -6.0);
        assert_eq!(open(DType::F4E2M1, f64::NAN), 7);
        assert_eq!(open(DType::F6E2M3, f64::NAN), 31);
        let halves = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0];
        let values = halves.map(|x| decode(DType::F4E2M1, open(DType::F4E2M1, x)));
        assert_eq!(values, [0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0]);
    }

    #[test]
    fn scales_are_powers_of_two() {
        let code = |x| open(DType::E8M0, x);
        assert_eq!([1.0, 1.5, 1.51, 3.0, 0.0, 1e-60].map(code), [127, 128, 128, 128, 0, 0]);
        assert_eq!([-1.0, f64::NAN, f64::INFINITY, 1e300].map(code), [255; 4]);
        assert_eq!([f64::INFINITY, 1e300].map(|x| sat(DType::E8M0, x)), [254; 2]);
        assert_eq!(encode(DType::E8M0, 1.99, TowardZero, false), 127);
    }

    #[test]
    fn every_code_decodes_and_encodes_to_itself() {
        for d in SHORT {
            for bits in 0..1u64 << d.bits() {
                let x = decode(d, bits);
                for saturate in [false, true] {
                    for rounding in [NearestEven, TowardZero] {
                        let back = encode(d, x, rounding, saturate);
                        let lost = x.is_nan() || saturate && x.is_infinite();
                        assert!(lost || back == bits, "{d} {bits:#x} {x} {back:#x}");
                        assert!(!x.is_nan() || decode(d, back).is_nan(), "{d} {bits:#x}");
                    }
                }
            }
        }
    }

    #[test]
    fn rounding_takes_the_nearest_code() {
        // Between each two neighbours: below, at and above the middle.
        for d in SHORT.into_iter().filter(|d| *d != DType::E8M0) {
            let largest = format(d).map_or(0, |f| f.largest());
            for low in 0..largest {
                let (a, b) = (decode(d, low), decode(d, low + 1));
                let middle = (a + b) / 2.0;
                let even = if low % 2 == 0 { low } else { low + 1 };
                let step = (b - a) / 64.0;
                for s in [1.0, -1.0] {
                    let sign = if s < 0.0 { 1u64 << (d.bits() - 1) } else { 0 };
                    let expect = |code: u64| {
                        let fnuz = matches!(d, DType::F8E4M3Fnuz | DType::F8E5M2Fnuz);
                        if fnuz && code == 0 { 0 } else { sign | code }
                    };
                    assert_eq!(open(d, s * middle), expect(even), "{d} {middle}");
                    assert_eq!(open(d, s * (middle - step)), expect(low), "{d} {middle}");
                    assert_eq!(open(d, s * (middle + step)), expect(low + 1), "{d} {middle}");
                    assert_eq!(encode(d, s * (b - step), TowardZero, false), expect(low), "{d}");
                }
            }
        }
    }

    #[test]
    fn f32_agrees_with_the_machine() {
        let mut x = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..100_000 {
            x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            // Exponents round the range of f32, its subnormal numbers included.
            let value = f64::from_bits(x >> 12 | (1023 - 160 + (x >> 3) % 300) << 52);
            let f =
                Format { exponent_bits: 8, mantissa_bits: 23, bias: 127, top: Top::Ieee, shift: 0 };
            let (significand, exponent) = parts(value);
            let ours = encode_parts(&f, false, significand, exponent, NearestEven, false);
            assert_eq!(ours, u64::from((value as f32).to_bits()), "{value:e}");
            assert_eq!(
                cast(DType::U64, DType::F32, x, NearestEven, false),
                u64::from((x as f32).to_bits())
            );
            assert_eq!(
                cast(DType::I64, DType::F64, x, NearestEven, false),
                (x as i64 as f64).to_bits()
            );
        }
    }

    #[test]
    fn integers() {
        let to = |d, x: f64| cast(DType::F64, d, x.to_bits(), TowardZero, false);
        assert_eq!([300.0, -7.9, f64::NAN].map(|x| to(DType::I8, x)), [127, 0xf9, 0]);
        assert_eq!([300.0, -7.9, f64::NAN].map(|x| to(DType::U8, x)), [255, 0, 0]);
        assert_eq!([1e30, -1e30].map(|x| to(DType::U64, x)), [u64::MAX, 0]);
        assert_eq!([1e30, -1e30].map(|x| to(DType::I64, x)), [i64::MAX as u64, i64::MIN as u64]);
        assert_eq!(cast(DType::F64, DType::I32, 2.5f64.to_bits(), NearestEven, false), 2);
        assert_eq!([9.0, -9.0].map(|x| to(DType::I4, x)), [7, 8]);
        assert_eq!(cast(DType::I32, DType::U8, (-1i64) as u64, NearestEven, false), 255);
        assert_eq!(cast(DType::I32, DType::U8, 0xffff_ffff, NearestEven, true), 0);
        assert_eq!(cast(DType::U8, DType::U4, 0x37, NearestEven, false), 7);
        assert_eq!(cast(DType::U8, DType::I4, 200, NearestEven, true), 7);
        assert_eq!(decode_int(DType::I4, 0xf), u64::MAX);
        assert_eq!(cast(DType::I4, DType::I32, 0xf, NearestEven, false), 0xffff_ffff);
        assert_eq!(cast(DType::I32, DType::F16, 100_000, NearestEven, false), 0x7c00);
        assert_eq!(cast(DType::I32, DType::F16, 100_000, NearestEven, true), 0x7bff);
        assert_eq!(cast(DType::Bool, DType::F32, 1, NearestEven, false), u64::from(1f32.to_bits()));
        assert_eq!(cast(DType::F64, DType::Bool, f64::NAN.to_bits(), NearestEven, false), 1);
        assert_eq!(cast(DType::F32, DType::TF32, 0x3f80_1fff, NearestEven, false), 0x3f80_2000);
        assert_eq!(cast(DType::F32, DType::TF32, 0x3f80_1fff, TowardZero, false), 0x3f80_0000);
    }

    #[test]
    fn rounding_has_no_bias() {
        for d in [DType::BF16, DType::F16, DType::F8E4M3, DType::F4E2M1] {
            let (mut x, n) = (1u64, 100_000);
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                let value = (x >> 11) as f64 / (1u64 << 53) as f64 * 3.0 + 1.0;
                let error = decode(d, open(d, value)) - value;
                (sum, squares) = (sum + error, squares + error * error);
            }
            let sigma = (squares / f64::from(n)).sqrt() / f64::from(n).sqrt();
            assert!((sum / f64::from(n)).abs() < 3.0 * sigma, "{d}: {sum} {sigma}");
        }
    }
}
