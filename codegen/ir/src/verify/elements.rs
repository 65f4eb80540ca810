//! Rules 10 to 14 and 16: which element types each op has.

use super::{Rule, Verifier};
use crate::codes;
use crate::diag::Diagnostic;
use crate::func::Value;
use crate::op::*;
use tilewright_abi::{DType, Kind};

/// f64, f32, f16, bf16.
fn float_arithmetic(d: DType) -> bool {
    matches!(d, DType::F64 | DType::F32 | DType::F16 | DType::BF16)
}

/// Integers of 8 to 64 bits.
fn integer(d: DType) -> bool {
    d.is_int() && d.bits() >= 8
}

/// What is computed with, as opposed to stored.
pub(super) fn arithmetic(d: DType) -> bool {
    float_arithmetic(d) || integer(d)
}

fn logical(d: DType) -> bool {
    integer(d) || d == DType::Bool
}

fn unary(op: UnaryOp, d: DType) -> bool {
    match op {
        UnaryOp::Neg | UnaryOp::Abs => arithmetic(d),
        UnaryOp::Not => logical(d),
        UnaryOp::Sqrt
        | UnaryOp::Rsqrt
        | UnaryOp::Recip
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Round
        | UnaryOp::Trunc => float_arithmetic(d),
        UnaryOp::Exp
        | UnaryOp::Exp2
        | UnaryOp::Ln
        | UnaryOp::Log2
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Tanh
        | UnaryOp::Erf => d == DType::F32,
    }
}

fn binary(op: BinaryOp, d: DType) -> bool {
    match op {
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Max
        | BinaryOp::Min => arithmetic(d),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => logical(d),
        BinaryOp::Shl | BinaryOp::Shr => integer(d),
    }
}

/// Rule 15, for `reduce` and `scan`.
pub(super) fn reduction(op: ReduceOp, d: DType) -> bool {
    match op {
        ReduceOp::Sum | ReduceOp::Prod => integer(d) || matches!(d, DType::F32 | DType::F64),
        ReduceOp::Max | ReduceOp::Min => arithmetic(d),
        ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => logical(d),
    }
}

/// Rule 10: whether the bits are what [`Literal`] says for the type.
fn is_value(l: &Literal) -> bool {
    let bits = l.dtype.bits();
    match l.dtype.kind() {
        Kind::Bool => l.bits <= 1,
        Kind::Unsigned => bits == 64 || l.bits >> bits == 0,
        Kind::Signed => {
            let unused = 64 - bits;
            ((l.bits << unused) as i64 >> unused) as u64 == l.bits
        }
        Kind::Float => float_is_exact(l),
    }
}

fn float_is_exact(l: &Literal) -> bool {
    let x = f64::from_bits(l.bits);
    // Mantissa bits with the hidden one, the exponent of the largest and the smallest normal number.
    let (precision, max_exp, min_exp, max) = match l.dtype {
        DType::F32 => (24, 127, -126, f64::from(f32::MAX)),
        DType::TF32 => (11, 127, -126, f64::MAX),
        DType::F16 => (11, 15, -14, f64::MAX),
        DType::BF16 => (8, 127, -126, f64::MAX),
        DType::F8E4M3 => (4, 8, -6, 448.0),
        DType::F8E5M2 => (3, 15, -14, f64::MAX),
        DType::F8E4M3Fnuz => (4, 7, -7, 240.0),
        DType::F8E5M2Fnuz => (3, 15, -15, f64::MAX),
        DType::F6E2M3 => (4, 2, 0, f64::MAX),
        DType::F6E3M2 => (3, 4, -2, f64::MAX),
        DType::F4E2M1 => (2, 2, 0, f64::MAX),
        DType::E8M0 => (1, 127, -127, f64::MAX),
        _ => return true,
    };
    let small = matches!(l.dtype, DType::F6E2M3 | DType::F6E3M2 | DType::F4E2M1);
    let no_infinity =
        matches!(l.dtype, DType::F8E4M3 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz | DType::E8M0);
    if x.is_nan() {
        return !small;
    }
    if x.is_infinite() {
        return !(small || no_infinity);
    }
    if x == 0.0 {
        let no_minus = matches!(l.dtype, DType::F8E4M3Fnuz | DType::F8E5M2Fnuz);
        return l.dtype != DType::E8M0 && !(no_minus && x.is_sign_negative());
    }
    if l.dtype == DType::E8M0 && x < 0.0 {
        return false;
    }
    let biased = (l.bits >> 52 & 0x7ff) as i32;
    if biased == 0 {
        return false; // below every narrower format's smallest value
    }
    let exp = biased - 1023;
    // E8M0 has no subnormal numbers, so its least exponent is a border too.
    let lost = if l.dtype == DType::E8M0 && exp < min_exp { 60 } else { (min_exp - exp).max(0) };
    let kept = precision - 1 - lost;
    let mantissa = l.bits & ((1 << 52) - 1);
    kept >= 0
        && exp <= max_exp
        && mantissa.trailing_zeros().min(52) as i32 >= 52 - kept
        && x.abs() <= max
}

impl Verifier<'_> {
    pub(super) fn element(&self, op: &TileOp, v: Value, legal: bool) -> Rule {
        if legal {
            return Ok(());
        }
        let d = self.ty(v).elem();
        let diag =
            Diagnostic::new(codes::ELEMENT, format!("`{}` is not defined on `{d}`", op.name()));
        let diag = diag.label(format!("this is `{}`", self.ty(v)));
        Err(match d.kind() {
            Kind::Float if d != DType::F32 => diag.help("cast to `f32` first"),
            Kind::Signed | Kind::Unsigned if d.bits() < 8 => {
                diag.help("cast to `i8` or `u8` first")
            }
            _ => diag,
        })
    }

    pub(super) fn elements(&self, op: &TileOp) -> Rule {
        let elem = |v: &Value| self.ty(*v).elem();
        for v in op.operands() {
            self.data(op, v)?;
        }
        match op {
            TileOp::Const(l) if !is_value(l) => {
                let message = format!("`{l}` is not a value of `{}`", l.dtype);
                Err(Diagnostic::new(codes::LITERAL, message))
            }
            TileOp::Iota { dtype, .. } if !integer(*dtype) => {
                let message = format!("`iota` is not defined on `{dtype}`");
                Err(Diagnostic::new(codes::ELEMENT, message).help("cast from `i32`"))
            }
            TileOp::Unary { op: unary_op, x } => self.element(op, *x, unary(*unary_op, elem(x))),
            TileOp::Binary { op: binary_op, lhs, rhs } => {
                self.same(op, *lhs, *rhs)?;
                self.element(op, *lhs, binary(*binary_op, elem(lhs)))
            }
            TileOp::Compare { op: compare_op, lhs, rhs } => {
                self.same(op, *lhs, *rhs)?;
                let equality = matches!(compare_op, CompareOp::Eq | CompareOp::Ne);
                let d = elem(lhs);
                self.element(op, *lhs, arithmetic(d) || equality && d == DType::Bool)
            }
            TileOp::Fma { a, b, c } => {
                self.same(op, *a, *b)?;
                self.same(op, *a, *c)?;
                self.element(op, *a, matches!(elem(a), DType::F32 | DType::F64))
            }
            TileOp::Select { cond, on_true, on_false } => {
                self.same(op, *on_true, *on_false)?;
                let want = self.ty(*on_true).with_elem(DType::Bool);
                if *self.ty(*cond) == want {
                    return Ok(());
                }
                let message = "the condition of `select` has another type";
                let label = format!("this is `{}`, not `{want}`", self.ty(*cond));
                Err(Diagnostic::new(codes::OPERANDS, message).label(label))
            }
            TileOp::Bitcast { x, to } => {
                let from = elem(x);
                let legal = from.bits() == to.bits()
                    && from != DType::Bool
                    && !matches!(to, DType::Bool | DType::TF32);
                if legal {
                    return Ok(());
                }
                let message = format!("the bits of `{from}` are not those of a `{to}`");
                Err(Diagnostic::new(codes::BITCAST, message)
                    .help("use a cast to convert the value"))
            }
            TileOp::Histogram { x, .. } => {
                let shape = self.tile(op, *x)?;
                if shape.len() != 1 {
                    let message = "`histogram` takes a tile of one axis";
                    let label = format!("this is `{}`", self.ty(*x));
                    return Err(Diagnostic::new(codes::SHAPE, message).label(label));
                }
                self.element(op, *x, elem(x) == DType::I32)
            }
            TileOp::Philox { key, counter } => {
                self.scalar(op, *key)?;
                self.element(op, *key, elem(key) == DType::U64)?;
                for c in counter {
                    self.same(op, counter[0], *c)?;
                }
                self.element(op, counter[0], elem(&counter[0]) == DType::U32)
            }
            _ => Ok(()),
        }
    }
}
