//! Conversions between element types, exact to the last bit.
//!
//! Narrow floats are kept in registers as integers of their width (6- and 4-bit ones in a byte) and
//! are taken apart and put together by integer arithmetic, so every target rounds the same.

use super::elementwise::elem_of;
use crate::lir::{BinOp, Builder, CastOp, CmpOp, Elem, Val};
use tilewright_abi::{DType, Kind};
use tilewright_ir::Rounding;

/// What stands past the largest finite number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Top {
    /// Infinity, then NaNs.
    Ieee,
    /// One NaN, all bits set.
    OneNan,
    /// Nothing; NaN is the pattern of −0.
    Unsigned,
    /// Nothing, no NaN.
    Finite,
}

#[derive(Clone, Copy)]
struct Format {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    top: Top,
}

impl Format {
    const fn new(exponent: u32, mantissa: u32, bias: i32, top: Top) -> Format {
        Format { exponent, mantissa, bias, top }
    }

    fn of(d: DType) -> Option<Format> {
        Some(match d {
            DType::F16 => Format::new(5, 10, 15, Top::Ieee),
            DType::BF16 => Format::new(8, 7, 127, Top::Ieee),
            DType::F8E5M2 => Format::new(5, 2, 15, Top::Ieee),
            DType::F8E4M3 => Format::new(4, 3, 7, Top::OneNan),
            DType::F8E4M3Fnuz => Format::new(4, 3, 8, Top::Unsigned),
            DType::F8E5M2Fnuz => Format::new(5, 2, 16, Top::Unsigned),
            DType::F6E2M3 => Format::new(2, 3, 1, Top::Finite),
            DType::F6E3M2 => Format::new(3, 2, 3, Top::Finite),
            DType::F4E2M1 => Format::new(2, 1, 1, Top::Finite),
            _ => return None,
        })
    }

    fn magnitude_bits(self) -> u32 {
        self.exponent + self.mantissa
    }

    /// Largest finite magnitude.
    fn max(self) -> u64 {
        let all = (1u64 << self.magnitude_bits()) - 1;
        match self.top {
            Top::Ieee => all - (1 << self.mantissa),
            Top::OneNan => all - 1,
            Top::Unsigned | Top::Finite => all,
        }
    }

    /// What a NaN becomes (without sign), and what overflow becomes.
    fn nan_and_overflow(self) -> (u64, u64) {
        let all = (1u64 << self.magnitude_bits()) - 1;
        match self.top {
            Top::Ieee => (self.max() + 1 + (1 << (self.mantissa - 1)), self.max() + 1),
            Top::OneNan => (all, all),
            Top::Unsigned => (1 << self.magnitude_bits(), 1 << self.magnitude_bits()),
            Top::Finite => (all, all),
        }
    }
}

/// 2^e as an f32; subnormal down to 2^-149.
fn pow2(e: i32) -> f64 {
    f64::powi(2.0, e)
}

/// A float of any format as f32, exactly (f64 rounds to nearest).
pub(super) fn to_f32(b: &mut Builder, x: Val, from: DType) -> Val {
    match from {
        DType::F32 | DType::TF32 => x,
        DType::F64 => b.cast(CastOp::FpTrunc, x, Elem::F32),
        DType::F16 => {
            let h = b.bits_as(x, Elem::F16);
            b.cast(CastOp::FpExt, h, Elem::F32)
        }
        DType::BF16 => {
            let w = b.cast(CastOp::ZExt, x, Elem::I32);
            let w = b.bin_imm(BinOp::Shl, w, 16);
            b.bits_as(w, Elem::F32)
        }
        DType::E8M0 => {
            let w = b.cast(CastOp::ZExt, x, Elem::I32);
            let bits = b.bin_imm(BinOp::Shl, w, 23);
            let zero = b.cmp_imm(CmpOp::Eq, w, 0);
            let ty = b.ty(bits);
            let (smallest, nan) = (b.konst(ty, 0x0040_0000), b.konst(ty, 0x7FC0_0000));
            let bits = b.select(zero, smallest, bits);
            let is_nan = b.cmp_imm(CmpOp::Eq, w, 255);
            let bits = b.select(is_nan, nan, bits);
            b.bits_as(bits, Elem::F32)
        }
        _ => match Format::of(from) {
            Some(f) => decode(b, x, f),
            None => x,
        },
    }
}

/// The magnitude is moved to the place of an f32's exponent and mantissa and scaled by the
/// difference of the biases; the multiplication also makes subnormals right.
fn decode(b: &mut Builder, x: Val, f: Format) -> Val {
    let w = b.cast(CastOp::ZExt, x, Elem::I32);
    let ty = b.ty(w);
    let magnitude = b.bin_imm(BinOp::And, w, (1 << f.magnitude_bits()) - 1);
    let sign = b.bin_imm(BinOp::LShr, w, u64::from(f.magnitude_bits()));
    let sign = b.bin_imm(BinOp::Shl, sign, 31);
    let placed = b.bin_imm(BinOp::Shl, magnitude, u64::from(23 - f.mantissa));
    let placed = b.bits_as(placed, Elem::F32);
    let scale = b.float(ty.with(Elem::F32), pow2(127 - f.bias));
    let value = b.bin(BinOp::FMul, placed, scale);
    let bits = b.bits_as(value, Elem::I32);
    let nan = b.konst(ty, 0x7FC0_0000);
    let bits = match f.top {
        Top::Finite => bits,
        Top::OneNan => {
            let is_nan = b.cmp_imm(CmpOp::Eq, magnitude, f.max() + 1);
            b.select(is_nan, nan, bits)
        }
        Top::Unsigned => {
            let is_nan = b.cmp_imm(CmpOp::Eq, w, 1 << f.magnitude_bits());
            b.select(is_nan, nan, bits)
        }
        Top::Ieee => {
            let inf = b.konst(ty, 0x7F80_0000);
            let is_inf = b.cmp_imm(CmpOp::Eq, magnitude, f.max() + 1);
            let bits = b.select(is_inf, inf, bits);
            let is_nan = b.cmp_imm(CmpOp::Ugt, magnitude, f.max() + 1);
            b.select(is_nan, nan, bits)
        }
    };
    let bits = b.bin(BinOp::Or, bits, sign);
    b.bits_as(bits, Elem::F32)
}

/// f64 to f32 so that a second rounding of the result to fewer bits is right: an inexact result is
/// cut and gets its last bit set.
fn round_to_odd(b: &mut Builder, x: Val) -> Val {
    let y = b.cast(CastOp::FpTrunc, x, Elem::F32);
    let back = b.cast(CastOp::FpExt, y, Elem::F64);
    let bits = b.bits_as(y, Elem::I32);
    let (ax, ay) = (b.intrinsic("fabs", &[x]), b.intrinsic("fabs", &[back]));
    let above = b.cmp(CmpOp::Ogt, ay, ax);
    let below = b.cmp(CmpOp::Olt, ay, ax);
    let less = b.bin_imm(BinOp::Sub, bits, 1);
    let cut = b.select(above, less, bits);
    let inexact = b.bin(BinOp::Or, above, below);
    let odd = b.bin_imm(BinOp::Or, cut, 1);
    let bits = b.select(inexact, odd, cut);
    b.bits_as(bits, Elem::F32)
}

/// An f32 in a narrow format.
pub(super) fn from_f32(
    b: &mut Builder,
    x: Val,
    to: DType,
    rounding: Rounding,
    saturate: bool,
) -> Val {
    let nearest = rounding == Rounding::NearestEven;
    match to {
        DType::F32 if saturate => saturate_float(b, x),
        DType::F32 => x,
        DType::TF32 => tf32(b, x, nearest, saturate),
        DType::F64 => b.cast(CastOp::FpExt, x, Elem::F64),
        DType::BF16 if nearest && !saturate => bf16(b, x),
        DType::F16 if nearest && !saturate => {
            let h = b.cast(CastOp::FpTrunc, x, Elem::F16);
            b.bits_as(h, Elem::I16)
        }
        DType::E8M0 => e8m0(b, x, nearest, saturate),
        _ => match Format::of(to) {
            Some(f) => encode(b, x, f, elem_of(to), nearest, saturate),
            None => x,
        },
    }
}

/// To nearest even by adding just under half; a NaN is made quiet instead.
fn bf16(b: &mut Builder, x: Val) -> Val {
    let bits = b.bits_as(x, Elem::I32);
    let high = b.bin_imm(BinOp::LShr, bits, 16);
    let odd = b.bin_imm(BinOp::And, high, 1);
    let sum = b.bin_imm(BinOp::Add, bits, 0x7FFF);
    let sum = b.bin(BinOp::Add, sum, odd);
    let rounded = b.bin_imm(BinOp::LShr, sum, 16);
    let quiet = b.bin_imm(BinOp::Or, high, 0x40);
    let nan = b.cmp(CmpOp::Uno, x, x);
    let y = b.select(nan, quiet, rounded);
    b.cast(CastOp::Trunc, y, Elem::I16)
}

fn tf32(b: &mut Builder, x: Val, nearest: bool, saturate: bool) -> Val {
    let bits = b.bits_as(x, Elem::I32);
    let ty = b.ty(bits);
    let rounded = if nearest {
        let odd = b.bin_imm(BinOp::LShr, bits, 13);
        let odd = b.bin_imm(BinOp::And, odd, 1);
        let sum = b.bin_imm(BinOp::Add, bits, 0xFFF);
        b.bin(BinOp::Add, sum, odd)
    } else {
        bits
    };
    let nan = b.cmp(CmpOp::Uno, x, x);
    let quiet = b.bin_imm(BinOp::Or, bits, 0x40_0000);
    let y = b.bin_imm(BinOp::And, rounded, 0xFFFF_E000);
    let y = if saturate {
        let magnitude = b.bin_imm(BinOp::And, y, 0x7FFF_FFFF);
        let over = b.cmp_imm(CmpOp::Uge, magnitude, 0x7F80_0000);
        let sign = b.bin_imm(BinOp::And, bits, 0x8000_0000);
        let most = b.konst(ty, 0x7F7F_E000);
        let most = b.bin(BinOp::Or, sign, most);
        b.select(over, most, y)
    } else {
        y
    };
    let quiet = b.bin_imm(BinOp::And, quiet, 0xFFFF_E000);
    let y = b.select(nan, quiet, y);
    b.bits_as(y, Elem::F32)
}

/// The exponent alone: the nearest power of two (ties to the even exponent), or the next below.
/// Zero is the smallest; what is too large is NaN unless it saturates; negative or NaN is NaN.
fn e8m0(b: &mut Builder, x: Val, nearest: bool, saturate: bool) -> Val {
    let bits = b.bits_as(x, Elem::I32);
    let ty = b.ty(bits);
    let magnitude = b.bin_imm(BinOp::And, bits, 0x7FFF_FFFF);
    let e = if nearest {
        let odd = b.bin_imm(BinOp::LShr, magnitude, 23);
        let odd = b.bin_imm(BinOp::And, odd, 1);
        let sum = b.bin_imm(BinOp::Add, magnitude, 0x3F_FFFF);
        let sum = b.bin(BinOp::Add, sum, odd);
        let e = b.bin_imm(BinOp::LShr, sum, 23);
        // A subnormal has no hidden bit: it is nearer to 2^-126 from 1.5 · 2^-127 up.
        let (zero, one) = (b.konst(ty, 0), b.konst(ty, 1));
        let up = b.cmp_imm(CmpOp::Ugt, magnitude, 0x60_0000);
        let low = b.select(up, one, zero);
        let subnormal = b.cmp_imm(CmpOp::Ult, magnitude, 0x80_0000);
        b.select(subnormal, low, e)
    } else {
        b.bin_imm(BinOp::LShr, magnitude, 23)
    };
    let top = b.konst(ty, if saturate { 254 } else { 255 });
    let over = b.cmp_imm(CmpOp::Ugt, e, 254);
    let e = b.select(over, top, e);
    let zero = b.float(ty.with(Elem::F32), 0.0);
    let number = b.cmp(CmpOp::Oge, x, zero);
    let nan = b.konst(ty, 255);
    let e = b.select(number, e, nan);
    b.cast(CastOp::Trunc, e, Elem::I8)
}

/// The magnitude is rounded as an integer on the format's own grid: normal numbers by an addition
/// below the kept bits, subnormal ones by an addition of a float whose last place is the format's.
fn encode(b: &mut Builder, x: Val, f: Format, elem: Elem, nearest: bool, saturate: bool) -> Val {
    let bits = b.bits_as(x, Elem::I32);
    let ty = b.ty(bits);
    let fty = ty.with(Elem::F32);
    let magnitude = b.bin_imm(BinOp::And, bits, 0x7FFF_FFFF);
    let absolute = b.bits_as(magnitude, Elem::F32);
    let shift = 23 - f.mantissa;
    let rounded = if nearest {
        let odd = b.bin_imm(BinOp::LShr, magnitude, u64::from(shift));
        let odd = b.bin_imm(BinOp::And, odd, 1);
        let sum = b.bin_imm(BinOp::Add, magnitude, (1 << (shift - 1)) - 1);
        b.bin(BinOp::Add, sum, odd)
    } else {
        magnitude
    };
    let kept = b.bin_imm(BinOp::LShr, rounded, u64::from(shift));
    let rebias = ((127 - f.bias) as i64) << f.mantissa;
    let normal = b.bin_imm(BinOp::Sub, kept, rebias as u64);
    // The last place of the format's subnormal numbers is 2^(1 - bias - mantissa).
    let last = 1 - f.bias - f.mantissa as i32;
    let code = if f.bias == 127 {
        normal
    } else {
        let subnormal = if nearest {
            let magic = b.float(fty, pow2(23 + last));
            let sum = b.bin(BinOp::FAdd, absolute, magic);
            let (sum, magic) = (b.bits_as(sum, Elem::I32), b.bits_as(magic, Elem::I32));
            b.bin(BinOp::Sub, sum, magic)
        } else {
            let scale = b.float(fty, pow2(-last));
            let limit = b.float(fty, pow2(1 - f.bias));
            let below = b.cmp(CmpOp::Olt, absolute, limit);
            let zero = b.float(fty, 0.0);
            let safe = b.select(below, absolute, zero);
            let scaled = b.bin(BinOp::FMul, safe, scale);
            b.cast(CastOp::FpToSi, scaled, Elem::I32)
        };
        let smallest_normal = b.float(fty, pow2(1 - f.bias));
        let is_subnormal = b.cmp(CmpOp::Olt, absolute, smallest_normal);
        b.select(is_subnormal, subnormal, normal)
    };
    let (nan, overflow) = f.nan_and_overflow();
    let max = b.konst(ty, f.max());
    let too_large = b.cmp(CmpOp::Ugt, code, max);
    // Rounding towards zero never passes the largest finite number, but infinity stays infinite.
    let top = match (saturate || f.top == Top::Finite, nearest) {
        (true, _) => max,
        (false, true) => b.konst(ty, overflow),
        (false, false) => {
            let infinite = b.cmp_imm(CmpOp::Eq, magnitude, 0x7F80_0000);
            let over = b.konst(ty, overflow);
            b.select(infinite, over, max)
        }
    };
    let code = b.select(too_large, top, code);
    let is_nan = b.cmp(CmpOp::Uno, x, x);
    let nan = b.konst(ty, nan);
    let code = b.select(is_nan, nan, code);
    let sign = b.bin_imm(BinOp::LShr, bits, 31);
    let sign = b.bin_imm(BinOp::Shl, sign, u64::from(f.magnitude_bits()));
    // A format without NaN takes its largest number for one, whatever the NaN's sign.
    let sign = if f.top == Top::Finite {
        let positive = b.konst(ty, 0);
        b.select(is_nan, positive, sign)
    } else {
        sign
    };
    let signed = b.bin(BinOp::Or, code, sign);
    let code = if f.top == Top::Unsigned {
        let zero = b.cmp_imm(CmpOp::Eq, code, 0);
        let special = b.cmp_imm(CmpOp::Ugt, code, f.max());
        let plain = b.bin(BinOp::Or, zero, special);
        b.select(plain, code, signed)
    } else {
        signed
    };
    b.cast(CastOp::Trunc, code, elem)
}

/// `Cast`.
pub(super) fn cast(
    b: &mut Builder,
    x: Val,
    from: DType,
    to: DType,
    rounding: Rounding,
    saturate: bool,
) -> Val {
    if from == to && !(saturate && from.is_float()) {
        return x;
    }
    match (from.kind(), to.kind()) {
        (_, Kind::Bool) => to_bool(b, x, from),
        (Kind::Float, Kind::Float) if to == DType::F64 => {
            let y = if from == DType::F64 { x } else { to_f32(b, x, from) };
            let y = b.cast(CastOp::FpExt, y, Elem::F64);
            if saturate { saturate_float(b, y) } else { y }
        }
        (Kind::Float, Kind::Float) if from == DType::F64 => {
            if to == DType::F32 && rounding == Rounding::NearestEven {
                let y = b.cast(CastOp::FpTrunc, x, Elem::F32);
                return if saturate { saturate_float(b, y) } else { y };
            }
            let y = if to == DType::F32 { cut_f64(b, x) } else { round_to_odd(b, x) };
            let y = if saturate && to == DType::F32 { saturate_float(b, y) } else { y };
            from_f32(b, y, to, rounding, saturate)
        }
        (Kind::Float, Kind::Float) => {
            let y = to_f32(b, x, from);
            from_f32(b, y, to, rounding, saturate)
        }
        (Kind::Float, _) => {
            let y = if from == DType::F64 { x } else { to_f32(b, x, from) };
            float_to_int(b, y, to, rounding)
        }
        (_, Kind::Float) => int_to_float(b, x, from, to, rounding, saturate),
        _ => int_to_int(b, x, from, to, saturate),
    }
}

fn saturate_float(b: &mut Builder, x: Val) -> Val {
    let ty = b.ty(x);
    let max = b.float(ty, if ty.elem == Elem::F64 { f64::MAX } else { f64::from(f32::MAX) });
    let absolute = b.intrinsic("fabs", &[x]);
    let over = b.cmp(CmpOp::Ogt, absolute, max);
    let limited = b.intrinsic("copysign", &[max, x]);
    b.select(over, limited, x)
}

/// f64 to f32 towards zero.
fn cut_f64(b: &mut Builder, x: Val) -> Val {
    let y = b.cast(CastOp::FpTrunc, x, Elem::F32);
    let back = b.cast(CastOp::FpExt, y, Elem::F64);
    let (ax, ay) = (b.intrinsic("fabs", &[x]), b.intrinsic("fabs", &[back]));
    let above = b.cmp(CmpOp::Ogt, ay, ax);
    let bits = b.bits_as(y, Elem::I32);
    let less = b.bin_imm(BinOp::Sub, bits, 1);
    let bits = b.select(above, less, bits);
    b.bits_as(bits, Elem::F32)
}

fn to_bool(b: &mut Builder, x: Val, from: DType) -> Val {
    if from.is_float() {
        let y = if from == DType::F64 { x } else { to_f32(b, x, from) };
        let ty = b.ty(y);
        let zero = b.float(ty, 0.0);
        b.cmp(CmpOp::Une, y, zero)
    } else {
        b.cmp_imm(CmpOp::Ne, x, 0)
    }
}

fn float_to_int(b: &mut Builder, x: Val, to: DType, rounding: Rounding) -> Val {
    let name = if rounding == Rounding::NearestEven { "roundeven" } else { "trunc" };
    let x = b.intrinsic(name, &[x]);
    let (source, elem) = (b.ty(x), elem_of(to));
    let target = source.with(elem);
    let name = if to.kind() == Kind::Signed { "fptosi.sat" } else { "fptoui.sat" };
    let y = b.call(format!("llvm.{name}.{}.{}", target.suffix(), source.suffix()), &[x], target);
    if to.bits() < 8 { clamp(b, y, to.kind() == Kind::Signed, to) } else { y }
}

/// Smallest and largest value of an integer type, as 128-bit numbers.
fn range(d: DType) -> (i128, i128) {
    let n = d.bits();
    match d.kind() {
        Kind::Signed => (-(1i128 << (n - 1)), (1i128 << (n - 1)) - 1),
        Kind::Bool => (0, 1),
        Kind::Unsigned | Kind::Float => (0, (1i128 << n) - 1),
    }
}

/// Limits an integer, held in its own type of the given signedness, to the range of `to`.
fn clamp(b: &mut Builder, x: Val, signed: bool, to: DType) -> Val {
    let bits = b.ty(x).elem.bits();
    let (lo, hi) = range(to);
    let (own_lo, own_hi) = if signed {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    let (min, max) = if signed { ("smin", "smax") } else { ("umin", "umax") };
    let ty = b.ty(x);
    let mut y = x;
    if hi < own_hi {
        let c = b.konst(ty, hi as u64);
        y = b.intrinsic(min, &[y, c]);
    }
    if lo > own_lo {
        let c = b.konst(ty, lo as u64);
        y = b.intrinsic(max, &[y, c]);
    }
    y
}

fn int_to_int(b: &mut Builder, x: Val, from: DType, to: DType, saturate: bool) -> Val {
    let signed = from.kind() == Kind::Signed;
    let x = if saturate && from.kind() != Kind::Bool { clamp(b, x, signed, to) } else { x };
    resize(b, x, signed, to)
}

/// Truncates or extends to the register type of `to`, wrapped to its bits.
fn resize(b: &mut Builder, x: Val, signed: bool, to: DType) -> Val {
    let (have, want) = (b.ty(x).elem, elem_of(to));
    let y = if have.bits() > want.bits() {
        b.cast(CastOp::Trunc, x, want)
    } else if have.bits() < want.bits() {
        b.cast(if signed { CastOp::SExt } else { CastOp::ZExt }, x, want)
    } else {
        x
    };
    extend_nibble(b, y, to)
}

/// The byte that holds a 4-bit element: its low half, extended as the type is read.
pub(super) fn extend_nibble(b: &mut Builder, y: Val, to: DType) -> Val {
    match to {
        DType::U4 | DType::F4E2M1 => b.bin_imm(BinOp::And, y, 15),
        DType::I4 => {
            let y = b.bin_imm(BinOp::Shl, y, 4);
            b.bin_imm(BinOp::AShr, y, 4)
        }
        _ => y,
    }
}

fn int_to_float(
    b: &mut Builder,
    x: Val,
    from: DType,
    to: DType,
    rounding: Rounding,
    saturate: bool,
) -> Val {
    let signed = from.kind() == Kind::Signed;
    let op = if signed { CastOp::SiToFp } else { CastOp::UiToFp };
    let bits = b.ty(x).elem.bits();
    let nearest = rounding == Rounding::NearestEven;
    if to == DType::F64 && (nearest || bits < 64) {
        return b.cast(op, x, Elem::F64);
    }
    if bits <= 16 {
        // Exact in f32. Bytes are widened first: that is one instruction.
        let w = b.cast(if signed { CastOp::SExt } else { CastOp::ZExt }, x, Elem::I32);
        let y = b.cast(CastOp::SiToFp, w, Elem::F32);
        return from_f32(b, y, to, rounding, saturate);
    }
    if to == DType::F32 && nearest {
        return b.cast(op, x, Elem::F32);
    }
    // 64-bit numbers lose their low bits, of which one stays set if any was: exact in f64.
    let exact = if bits == 64 {
        let low = b.bin_imm(BinOp::And, x, 0x7FF);
        let ty = b.ty(x);
        let any = b.cmp_imm(CmpOp::Ne, low, 0);
        let any = b.cast(CastOp::ZExt, any, Elem::I64);
        let sticky = b.bin_imm(BinOp::Shl, any, 11);
        let high = b.bin_imm(BinOp::And, x, !0x7FFu64);
        let cut = b.bin(BinOp::Or, high, sticky);
        let small = {
            let shifted = b.bin_imm(BinOp::Add, x, if signed { 1 << 52 } else { 0 });
            let limit = b.konst(ty, 1 << 53);
            b.cmp(CmpOp::Ult, shifted, limit)
        };
        b.select(small, x, cut)
    } else {
        x
    };
    let y = b.cast(op, exact, Elem::F64);
    cast(b, y, DType::F64, to, rounding, saturate)
}
