//! Element-wise ops.

use super::convert;
use super::tile::{Data, Numbers, Tile};
use tilewright_abi::{DType, Kind};
use tilewright_ir::{BinaryOp, CompareOp, Rounding, UnaryOp};

pub(super) fn unary(op: UnaryOp, x: &Tile) -> Tile {
    let d = x.dtype;
    let data = match (op, d.kind()) {
        (UnaryOp::Neg | UnaryOp::Abs, Kind::Float) => sign(op, x),
        (_, Kind::Float) if d == DType::F64 => {
            Tile::f64s_data(x.f64s().into_iter().map(f64_unary(op)))
        }
        (_, Kind::Float) => {
            let f = f32_unary(op);
            match (op, d) {
                // The root is rounded to the type before it is divided.
                (UnaryOp::Rsqrt, DType::F16 | DType::BF16) => {
                    let root = unary(UnaryOp::Sqrt, x);
                    return unary(UnaryOp::Recip, &root);
                }
                _ => Tile::f32s_data(d, x.f32s().into_iter().map(f)),
            }
        }
        (UnaryOp::Not, Kind::Bool) => Tile::ints_data(d, x.ints().into_iter().map(|v| v ^ 1)),
        (UnaryOp::Not, _) => Tile::ints_data(d, x.ints().into_iter().map(|v| !v)),
        (UnaryOp::Neg, _) => Tile::ints_data(d, x.ints().into_iter().map(u64::wrapping_neg)),
        (UnaryOp::Abs, Kind::Signed) => {
            Tile::ints_data(d, x.ints().into_iter().map(|v| (v as i64).wrapping_abs() as u64))
        }
        (_, Kind::Bool | Kind::Signed | Kind::Unsigned) => x.data.clone(),
    };
    x.with(d, data)
}

/// Negation and absolute value change the sign bit alone, of NaN too.
fn sign(op: UnaryOp, x: &Tile) -> Data {
    macro_rules! flip {
        ($v:ident, $word:ty) => {{
            let bit: $word = 1 << (<$word>::BITS - 1);
            let negate = op == UnaryOp::Neg;
            $v.iter().map(|b| if negate { *b ^ bit } else { *b & !bit }).collect()
        }};
    }
    match &x.data {
        Data::B1(v) => Data::B1(flip!(v, u8)),
        Data::B2(v) => Data::B2(flip!(v, u16)),
        Data::B4(v) => Data::B4(flip!(v, u32)),
        Data::B8(v) => Data::B8(flip!(v, u64)),
    }
}

fn f32_unary(op: UnaryOp) -> fn(f32) -> f32 {
    // Transcendentals are computed in f64 and rounded once, well within the ulp each op allows.
    match op {
        UnaryOp::Neg => |x| -x,
        UnaryOp::Abs => f32::abs,
        UnaryOp::Not => |x| x,
        UnaryOp::Exp => |x| f64::from(x).exp() as f32,
        UnaryOp::Exp2 => |x| f64::from(x).exp2() as f32,
        UnaryOp::Ln => |x| f64::from(x).ln() as f32,
        UnaryOp::Log2 => |x| f64::from(x).log2() as f32,
        UnaryOp::Sqrt => f32::sqrt,
        UnaryOp::Rsqrt => |x| 1.0 / x.sqrt(),
        UnaryOp::Recip => |x| 1.0 / x,
        UnaryOp::Sin => |x| f64::from(x).sin() as f32,
        UnaryOp::Cos => |x| f64::from(x).cos() as f32,
        UnaryOp::Tanh => |x| f64::from(x).tanh() as f32,
        UnaryOp::Erf => |x| erf(f64::from(x)) as f32,
        UnaryOp::Floor => f32::floor,
        UnaryOp::Ceil => f32::ceil,
        UnaryOp::Round => f32::round_ties_even,
        UnaryOp::Trunc => f32::trunc,
    }
}

fn f64_unary(op: UnaryOp) -> fn(f64) -> f64 {
    match op {
        UnaryOp::Neg => |x| -x,
        UnaryOp::Abs => f64::abs,
        UnaryOp::Not => |x| x,
        UnaryOp::Exp => f64::exp,
        UnaryOp::Exp2 => f64::exp2,
        UnaryOp::Ln => f64::ln,
        UnaryOp::Log2 => f64::log2,
        UnaryOp::Sqrt => f64::sqrt,
        UnaryOp::Rsqrt => |x| 1.0 / x.sqrt(),
        UnaryOp::Recip => |x| 1.0 / x,
        UnaryOp::Sin => f64::sin,
        UnaryOp::Cos => f64::cos,
        UnaryOp::Tanh => f64::tanh,
        UnaryOp::Erf => erf,
        UnaryOp::Floor => f64::floor,
        UnaryOp::Ceil => f64::ceil,
        UnaryOp::Round => f64::round_ties_even,
        UnaryOp::Trunc => f64::trunc,
    }
}

/// The error function by its series 2/√π·e^(−x²)·Σ 2ⁿ·x^(2n+1)/(2n+1)!!, whose terms have one sign.
fn erf(x: f64) -> f64 {
    if x.is_nan() || x == 0.0 {
        return x;
    }
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while f64::abs(term) > 1e-18 * f64::abs(sum) {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

macro_rules! float_binary {
    ($name:ident, $float:ty) => {
        /// The op on two numbers; bitwise ops are not on floats.
        pub(super) fn $name(op: BinaryOp) -> fn($float, $float) -> $float {
            match op {
                BinaryOp::Add => |a, b| a + b,
                BinaryOp::Sub => |a, b| a - b,
                BinaryOp::Mul => |a, b| a * b,
                BinaryOp::Div => |a, b| a / b,
                BinaryOp::Rem => |a, b| a % b,
                BinaryOp::Max => |a, b| {
                    if a.is_nan() || b.is_nan() {
                        <$float>::NAN
                    } else if a == b {
                        if a.is_sign_negative() { b } else { a }
                    } else if a > b {
                        a
                    } else {
                        b
                    }
                },
                BinaryOp::Min => |a, b| {
                    if a.is_nan() || b.is_nan() {
                        <$float>::NAN
                    } else if a == b {
                        if a.is_sign_negative() { a } else { b }
                    } else if a < b {
                        a
                    } else {
                        b
                    }
                },
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => {
                    |a, _| a
                }
            }
        }
    };
}
float_binary!(f32_binary, f32);
float_binary!(f64_binary, f64);

/// The op on two integers as [`Tile::ints`] gives them; the caller drops the upper bits.
pub(super) fn int_binary(op: BinaryOp, d: DType) -> impl Fn(u64, u64) -> u64 {
    let signed = d.kind() == Kind::Signed;
    let width = d.bits();
    let mask = u64::MAX >> (64 - width);
    move |a, b| {
        let (sa, sb) = (a as i64, b as i64);
        match op {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            BinaryOp::Div | BinaryOp::Rem if b == 0 => 0,
            BinaryOp::Div if signed => sa.wrapping_div(sb) as u64,
            BinaryOp::Div => a / b,
            BinaryOp::Rem if signed => sa.wrapping_rem(sb) as u64,
            BinaryOp::Rem => a % b,
            BinaryOp::Max if signed => sa.max(sb) as u64,
            BinaryOp::Max => a.max(b),
            BinaryOp::Min if signed => sa.min(sb) as u64,
            BinaryOp::Min => a.min(b),
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            // The count is read as unsigned, in the type's width.
            BinaryOp::Shl if b & mask >= u64::from(width) => 0,
            BinaryOp::Shl => a << (b & mask),
            BinaryOp::Shr if signed => (sa >> (b & mask).min(63)) as u64,
            BinaryOp::Shr if b & mask >= u64::from(width) => 0,
            BinaryOp::Shr => a >> (b & mask),
        }
    }
}

pub(super) fn binary(op: BinaryOp, a: &Tile, b: &Tile) -> Tile {
    let d = a.dtype;
    let data = match (d, d.kind()) {
        (DType::F64, _) => {
            let f = f64_binary(op);
            Tile::f64s_data(a.f64s().into_iter().zip(b.f64s()).map(|(a, b)| f(a, b)))
        }
        (_, Kind::Float) => {
            let f = f32_binary(op);
            Tile::f32s_data(d, a.f32s().into_iter().zip(b.f32s()).map(|(a, b)| f(a, b)))
        }
        (_, Kind::Bool | Kind::Signed | Kind::Unsigned) => {
            let f = int_binary(op, d);
            Tile::ints_data(d, a.ints().into_iter().zip(b.ints()).map(|(a, b)| f(a, b)))
        }
    };
    a.with(d, data)
}

pub(super) fn compare(op: CompareOp, a: &Tile, b: &Tile) -> Tile {
    fn bits<T: PartialOrd>(op: CompareOp, a: Vec<T>, b: Vec<T>) -> Data {
        let pairs = a.into_iter().zip(b);
        Data::B1(match op {
            CompareOp::Eq => pairs.map(|(a, b)| u8::from(a == b)).collect(),
            CompareOp::Ne => pairs.map(|(a, b)| u8::from(a != b)).collect(),
            CompareOp::Lt => pairs.map(|(a, b)| u8::from(a < b)).collect(),
            CompareOp::Le => pairs.map(|(a, b)| u8::from(a <= b)).collect(),
            CompareOp::Gt => pairs.map(|(a, b)| u8::from(a > b)).collect(),
            CompareOp::Ge => pairs.map(|(a, b)| u8::from(a >= b)).collect(),
        })
    }
    let data = match (a.numbers(), b.numbers()) {
        (Numbers::Float(a), Numbers::Float(b)) => bits(op, a, b),
        (Numbers::Signed(a), Numbers::Signed(b)) => bits(op, a, b),
        (Numbers::Unsigned(a), Numbers::Unsigned(b)) => bits(op, a, b),
        // Both have one dtype, so one form.
        (Numbers::Float(_) | Numbers::Signed(_) | Numbers::Unsigned(_), _) => {
            Data::B1(vec![0; a.data.len()])
        }
    };
    a.with(DType::Bool, data)
}

pub(super) fn fma(a: &Tile, b: &Tile, c: &Tile) -> Tile {
    let data = match a.dtype {
        DType::F64 => {
            let factors = a.f64s().into_iter().zip(b.f64s());
            Tile::f64s_data(factors.zip(c.f64s()).map(|((a, b), c)| a.mul_add(b, c)))
        }
        _ => {
            let factors = a.f32s().into_iter().zip(b.f32s());
            let sums = factors.zip(c.f32s()).map(|((a, b), c)| a.mul_add(b, c));
            Tile::f32s_data(a.dtype, sums)
        }
    };
    a.with(a.dtype, data)
}

pub(super) fn select(cond: &Tile, on_true: &Tile, on_false: &Tile) -> Tile {
    let chosen = (0..on_true.data.len()).map(|i| {
        let from = if cond.data.get(i) != 0 { on_true } else { on_false };
        from.data.get(i)
    });
    let data = Data::from_bits(on_true.dtype, chosen);
    on_true.with(on_true.dtype, data)
}

pub(super) fn cast(x: &Tile, to: DType, rounding: Rounding, saturate: bool) -> Tile {
    let from = x.dtype;
    let one = |bits: u64| convert::cast(from, to, bits, rounding, saturate);
    let data = match (&x.data, to) {
        (_, DType::F32) if from.is_float() && from.bits() <= 16 && !saturate => {
            Tile::f32s_data(to, x.f32s().into_iter())
        }
        (Data::B1(v), _) if v.len() > 256 => {
            let table: Vec<u64> = (0..256).map(one).collect();
            Data::from_bits(to, v.iter().map(|b| table[usize::from(*b)]))
        }
        (data, _) => Data::from_bits(to, data.bits().into_iter().map(one)),
    };
    x.with(to, data)
}
