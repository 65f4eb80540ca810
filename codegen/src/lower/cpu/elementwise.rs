//! Element-wise operations on one register: a scalar or a vector of any length.
//!
//! f16 and bf16 are computed in f32 and rounded once: sums, products, quotients and roots of them
//! are then correctly rounded.

use super::{cast, math};
use crate::lir::{BinOp, Builder, CastOp, CmpOp, Elem, Ty, Val};
use tilewright_abi::{DType, Kind};
use tilewright_ir::{BinaryOp, CompareOp, Literal, ReduceOp, Rounding, UnaryOp};

/// How an element is kept in registers: narrow floats as integers of their width.
pub(super) fn elem_of(d: DType) -> Elem {
    match d {
        DType::Bool => Elem::I1,
        DType::F64 => Elem::F64,
        DType::F32 | DType::TF32 => Elem::F32,
        DType::I64 | DType::U64 => Elem::I64,
        DType::I32 | DType::U32 => Elem::I32,
        DType::I16 | DType::U16 | DType::F16 | DType::BF16 => Elem::I16,
        DType::I8
        | DType::U8
        | DType::I4
        | DType::U4
        | DType::F8E4M3
        | DType::F8E5M2
        | DType::F8E4M3Fnuz
        | DType::F8E5M2Fnuz
        | DType::F6E2M3
        | DType::F6E3M2
        | DType::F4E2M1
        | DType::E8M0 => Elem::I8,
    }
}

/// How an element is kept in memory: as in a register, but a bool takes a byte.
pub(super) fn memory_elem(d: DType) -> Elem {
    if d == DType::Bool { Elem::I8 } else { elem_of(d) }
}

/// The raw bits of a literal in its register form.
pub(super) fn literal_bits(l: Literal) -> u64 {
    let value = f64::from_bits(l.bits);
    match l.dtype {
        DType::F64 => l.bits,
        DType::F32 | DType::TF32 => u64::from(narrow_f32(value).to_bits()),
        d if d.is_float() => fold_narrow(value, d),
        _ => l.bits,
    }
}

/// f64 to f32 keeping a NaN's sign.
fn narrow_f32(v: f64) -> f32 {
    v as f32
}

/// The code of a float constant in a narrow format: the one whose decoded value is nearest; the
/// verifier has made sure that one is exact.
fn fold_narrow(value: f64, d: DType) -> u64 {
    let codes = 1u64 << d.bits();
    let matches = |code: u64| {
        let v = decode_narrow(code, d);
        (v.is_nan() && value.is_nan())
            || (v == value && v.is_sign_negative() == value.is_sign_negative())
    };
    (0..codes).find(|&c| matches(c)).unwrap_or(0)
}

fn decode_narrow(code: u64, d: DType) -> f64 {
    let (e, m, bias) = match d {
        DType::F16 => (5u32, 10u32, 15i32),
        DType::BF16 => (8, 7, 127),
        DType::F8E5M2 => (5, 2, 15),
        DType::F8E4M3 => (4, 3, 7),
        DType::F8E4M3Fnuz => (4, 3, 8),
        DType::F8E5M2Fnuz => (5, 2, 16),
        DType::F6E2M3 => (2, 3, 1),
        DType::F6E3M2 => (3, 2, 3),
        DType::F4E2M1 => (2, 1, 1),
        _ => {
            return if code == 255 { f64::NAN } else { f64::powi(2.0, code as i32 - 127) };
        }
    };
    let magnitude = code & ((1 << (e + m)) - 1);
    let sign = if code >> (e + m) == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (magnitude >> m, magnitude & ((1 << m) - 1));
    let all = (1 << e) - 1;
    match d {
        DType::F16 | DType::BF16 | DType::F8E5M2 if exponent == all => {
            return if fraction == 0 { sign * f64::INFINITY } else { f64::NAN };
        }
        DType::F8E4M3 if magnitude == 0x7F => return f64::NAN,
        DType::F8E4M3Fnuz | DType::F8E5M2Fnuz if code == 0x80 => return f64::NAN,
        _ => {}
    }
    let fraction = fraction as f64 / f64::from(1u32 << m);
    let value = if exponent == 0 {
        fraction * f64::powi(2.0, 1 - bias)
    } else {
        (1.0 + fraction) * f64::powi(2.0, exponent as i32 - bias)
    };
    sign * value
}

/// Whether arithmetic on this type is done in f32.
fn is_promoted(d: DType) -> bool {
    d.is_float() && !matches!(d, DType::F64 | DType::F32)
}

fn promoted(b: &mut Builder, d: DType, xs: &[Val], f: impl Fn(&mut Builder, &[Val]) -> Val) -> Val {
    let wide: Vec<Val> = xs.iter().map(|&x| cast::to_f32(b, x, d)).collect();
    let y = f(b, &wide);
    cast::from_f32(b, y, d, Rounding::NearestEven, false)
}

/// `Unary`.
pub(super) fn unary(b: &mut Builder, op: UnaryOp, d: DType, x: Val) -> Val {
    let ty = b.ty(x);
    match op {
        UnaryOp::Not => return b.not(x),
        UnaryOp::Neg if d.is_float() => {
            let elem = elem_of(d).int();
            let bits = b.bits_as(x, elem);
            let top = b.konst(ty.with(elem), 1 << (d.bits().max(4) - 1));
            let y = b.bin(BinOp::Xor, bits, top);
            return b.bits_as(y, ty.elem);
        }
        UnaryOp::Abs if d.is_float() => {
            let elem = elem_of(d).int();
            let bits = b.bits_as(x, elem);
            let y = b.bin_imm(BinOp::And, bits, (1u64 << (d.bits() - 1)) - 1);
            return b.bits_as(y, ty.elem);
        }
        UnaryOp::Neg => {
            let zero = b.konst(ty, 0);
            return b.bin(BinOp::Sub, zero, x);
        }
        UnaryOp::Abs => {
            if d.kind() != Kind::Signed {
                return x;
            }
            let zero = b.konst(ty, 0);
            let n = b.bin(BinOp::Sub, zero, x);
            let negative = b.cmp(CmpOp::Slt, x, zero);
            return b.select(negative, n, x);
        }
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc if !d.is_float() => {
            return x;
        }
        _ => {}
    }
    if is_promoted(d) {
        // The root is rounded to the type before it is divided.
        if op == UnaryOp::Rsqrt {
            let root = unary(b, UnaryOp::Sqrt, d, x);
            return unary(b, UnaryOp::Recip, d, root);
        }
        return promoted(b, d, &[x], |b, v| unary(b, op, DType::F32, v[0]));
    }
    match op {
        UnaryOp::Sqrt => b.intrinsic("sqrt", &[x]),
        UnaryOp::Rsqrt => {
            let root = b.intrinsic("sqrt", &[x]);
            let one = b.float(ty, 1.0);
            b.bin(BinOp::FDiv, one, root)
        }
        UnaryOp::Recip => {
            let one = b.float(ty, 1.0);
            b.bin(BinOp::FDiv, one, x)
        }
        UnaryOp::Floor => b.intrinsic("floor", &[x]),
        UnaryOp::Ceil => b.intrinsic("ceil", &[x]),
        UnaryOp::Round => b.intrinsic("roundeven", &[x]),
        UnaryOp::Trunc => b.intrinsic("trunc", &[x]),
        UnaryOp::Exp => math::exp(b, x),
        UnaryOp::Exp2 => math::exp2(b, x),
        UnaryOp::Ln => math::ln(b, x),
        UnaryOp::Log2 => math::log2(b, x),
        UnaryOp::Sin => math::sin(b, x),
        UnaryOp::Cos => math::cos(b, x),
        UnaryOp::Tanh => math::tanh(b, x),
        UnaryOp::Erf => math::erf(b, x),
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not => x,
    }
}

/// `Binary`.
pub(super) fn binary(b: &mut Builder, op: BinaryOp, d: DType, x: Val, y: Val) -> Val {
    if is_promoted(d) {
        return promoted(b, d, &[x, y], |b, v| binary(b, op, DType::F32, v[0], v[1]));
    }
    let signed = d.kind() == Kind::Signed;
    if d.is_float() {
        return match op {
            BinaryOp::Add => b.bin(BinOp::FAdd, x, y),
            BinaryOp::Sub => b.bin(BinOp::FSub, x, y),
            BinaryOp::Mul => b.bin(BinOp::FMul, x, y),
            BinaryOp::Div => b.bin(BinOp::FDiv, x, y),
            BinaryOp::Rem => remainder(b, x, y),
            BinaryOp::Max => maximum(b, x, y),
            BinaryOp::Min => b.intrinsic("minimum", &[x, y]),
            BinaryOp::And => b.bin(BinOp::And, x, y),
            BinaryOp::Or => b.bin(BinOp::Or, x, y),
            BinaryOp::Xor => b.bin(BinOp::Xor, x, y),
            BinaryOp::Shl => b.bin(BinOp::Shl, x, y),
            BinaryOp::Shr => b.bin(BinOp::LShr, x, y),
        };
    }
    match op {
        BinaryOp::Add => b.bin(BinOp::Add, x, y),
        BinaryOp::Sub => b.bin(BinOp::Sub, x, y),
        BinaryOp::Mul => b.bin(BinOp::Mul, x, y),
        BinaryOp::Div => divide(b, x, y, signed, false),
        BinaryOp::Rem => divide(b, x, y, signed, true),
        BinaryOp::Max if d == DType::Bool => b.bin(BinOp::Or, x, y),
        BinaryOp::Min if d == DType::Bool => b.bin(BinOp::And, x, y),
        BinaryOp::Max => b.intrinsic(if signed { "smax" } else { "umax" }, &[x, y]),
        BinaryOp::Min => b.intrinsic(if signed { "smin" } else { "umin" }, &[x, y]),
        BinaryOp::And => b.bin(BinOp::And, x, y),
        BinaryOp::Or => b.bin(BinOp::Or, x, y),
        BinaryOp::Xor => b.bin(BinOp::Xor, x, y),
        BinaryOp::Shl => shift(b, x, y, BinOp::Shl),
        BinaryOp::Shr => shift(b, x, y, if signed { BinOp::AShr } else { BinOp::LShr }),
    }
}

/// IEEE maximum.
fn maximum(b: &mut Builder, x: Val, y: Val) -> Val {
    b.intrinsic("maximum", &[x, y])
}

/// A shift whose over-wide counts (negative ones too) give the fill.
fn shift(b: &mut Builder, x: Val, y: Val, op: BinOp) -> Val {
    let ty = b.ty(x);
    let width = u64::from(ty.elem.bits());
    if let Some(count) = b.as_const(y) {
        return match (count < width, op) {
            (true, _) => b.bin(op, x, y),
            (false, BinOp::AShr) => b.bin_imm(op, x, width - 1),
            (false, _) => b.konst(ty, 0),
        };
    }
    let top = b.konst(ty, width - 1);
    let count = b.intrinsic("umin", &[y, top]);
    let shifted = b.bin(op, x, count);
    if op == BinOp::AShr {
        return shifted;
    }
    let over = b.cmp(CmpOp::Ugt, y, top);
    let zero = b.konst(ty, 0);
    b.select(over, zero, shifted)
}

/// Truncated division or remainder: by zero gives 0, the smallest by −1 wraps.
fn divide(b: &mut Builder, x: Val, y: Val, signed: bool, remainder: bool) -> Val {
    let ty = b.ty(x);
    let (zero, one, ones) = (b.konst(ty, 0), b.konst(ty, 1), b.konst(ty, u64::MAX));
    let op = match (signed, remainder) {
        (true, false) => BinOp::SDiv,
        (true, true) => BinOp::SRem,
        (false, false) => BinOp::UDiv,
        (false, true) => BinOp::URem,
    };
    if let Some(c) = b.as_const(y) {
        let minus = b.as_const(ones) == Some(c) && signed;
        if c != 0 && !minus {
            return b.bin(op, x, y);
        }
    }
    let by_zero = b.cmp(CmpOp::Eq, y, zero);
    let (special, by_minus) = if signed {
        let m = b.cmp(CmpOp::Eq, y, ones);
        (b.bin(BinOp::Or, by_zero, m), Some(m))
    } else {
        (by_zero, None)
    };
    let divisor = b.select(special, one, y);
    let q = b.bin(op, x, divisor);
    let q = match by_minus {
        Some(m) if !remainder => {
            let negated = b.bin(BinOp::Sub, zero, x);
            b.select(m, negated, q)
        }
        _ => q,
    };
    b.select(by_zero, zero, q)
}

/// C's `fmod`, lane by lane, by a helper on f64 that is exact.
fn remainder(b: &mut Builder, x: Val, y: Val) -> Val {
    let ty = b.ty(x);
    let f64t = Ty::scalar(Elem::F64);
    let one = |b: &mut Builder, p: Val, q: Val| {
        let (p, q) = (b.cast(CastOp::FpExt, p, Elem::F64), b.cast(CastOp::FpExt, q, Elem::F64));
        let r = b.call(super::helpers::FMOD, &[p, q], f64t);
        if ty.elem == Elem::F64 { r } else { b.cast(CastOp::FpTrunc, r, ty.elem) }
    };
    if ty.lanes == 0 {
        return one(b, x, y);
    }
    let mut out = b.konst(ty, 0);
    for lane in 0..ty.lanes {
        let (p, q) = (b.extract(x, lane), b.extract(y, lane));
        let r = one(b, p, q);
        out = b.insert(out, r, lane);
    }
    out
}

/// `Compare`.
pub(super) fn compare(b: &mut Builder, op: CompareOp, d: DType, x: Val, y: Val) -> Val {
    if is_promoted(d) {
        let (x, y) = (cast::to_f32(b, x, d), cast::to_f32(b, y, d));
        return compare(b, op, DType::F32, x, y);
    }
    let op = match (op, d.kind()) {
        (CompareOp::Eq, Kind::Float) => CmpOp::Oeq,
        (CompareOp::Ne, Kind::Float) => CmpOp::Une,
        (CompareOp::Lt, Kind::Float) => CmpOp::Olt,
        (CompareOp::Le, Kind::Float) => CmpOp::Ole,
        (CompareOp::Gt, Kind::Float) => CmpOp::Ogt,
        (CompareOp::Ge, Kind::Float) => CmpOp::Oge,
        (CompareOp::Eq, _) => CmpOp::Eq,
        (CompareOp::Ne, _) => CmpOp::Ne,
        (CompareOp::Lt, Kind::Signed) => CmpOp::Slt,
        (CompareOp::Le, Kind::Signed) => CmpOp::Sle,
        (CompareOp::Gt, Kind::Signed) => CmpOp::Sgt,
        (CompareOp::Ge, Kind::Signed) => CmpOp::Sge,
        (CompareOp::Lt, _) => CmpOp::Ult,
        (CompareOp::Le, _) => CmpOp::Ule,
        (CompareOp::Gt, _) => CmpOp::Ugt,
        (CompareOp::Ge, _) => CmpOp::Uge,
    };
    b.cmp(op, x, y)
}

/// `Fma`. Narrow floats go through f64, where their product is exact.
pub(super) fn fma(b: &mut Builder, d: DType, x: Val, y: Val, z: Val) -> Val {
    if !d.is_float() {
        let p = b.bin(BinOp::Mul, x, y);
        return b.bin(BinOp::Add, p, z);
    }
    if is_promoted(d) {
        let wide: Vec<Val> = [x, y, z]
            .iter()
            .map(|&v| {
                let v = cast::to_f32(b, v, d);
                b.cast(CastOp::FpExt, v, Elem::F64)
            })
            .collect();
        let r = b.fma(wide[0], wide[1], wide[2]);
        return cast::cast(b, r, DType::F64, d, Rounding::NearestEven, false);
    }
    b.fma(x, y, z)
}

/// The fold of a reduction on two registers.
pub(super) fn fold(b: &mut Builder, op: ReduceOp, d: DType, x: Val, y: Val) -> Val {
    let op = match op {
        ReduceOp::Sum => BinaryOp::Add,
        ReduceOp::Prod => BinaryOp::Mul,
        ReduceOp::Max => BinaryOp::Max,
        ReduceOp::Min => BinaryOp::Min,
        ReduceOp::And => BinaryOp::And,
        ReduceOp::Or => BinaryOp::Or,
        ReduceOp::Xor => BinaryOp::Xor,
    };
    binary(b, op, d, x, y)
}

/// The value that leaves the other operand of a fold unchanged, as raw bits of the register form.
pub(super) fn identity(op: ReduceOp, d: DType) -> u64 {
    let n = d.bits();
    let ones = if n >= 64 { u64::MAX } else { (1 << n) - 1 };
    let float = |v: f64| literal_bits(Literal { dtype: d, bits: v.to_bits() });
    match (op, d.kind()) {
        // −0 keeps the sign of a zero that is added to it.
        (ReduceOp::Sum, Kind::Float) => float(-0.0),
        (ReduceOp::Prod, Kind::Float) => float(1.0),
        (ReduceOp::Max, Kind::Float) => float(f64::NEG_INFINITY),
        (ReduceOp::Min, Kind::Float) => float(f64::INFINITY),
        (ReduceOp::Prod, _) => 1,
        (ReduceOp::Sum | ReduceOp::Or | ReduceOp::Xor, _) => 0,
        (ReduceOp::And, Kind::Bool) => 1,
        (ReduceOp::And, _) => ones,
        (ReduceOp::Max, Kind::Signed) => 1 << (n - 1),
        (ReduceOp::Min, Kind::Signed) => ones >> 1,
        (ReduceOp::Max, _) => 0,
        (ReduceOp::Min, Kind::Bool) => 1,
        (ReduceOp::Min, _) => ones,
    }
}
