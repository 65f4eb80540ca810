//! Functions of f32 without a library: argument reduction, a polynomial, and the special values.
//!
//! The polynomials are minimax fits with the weight that makes the stated error relative (absolute
//! for sine and cosine). Every one is a fixed sequence of IEEE operations, so a result depends on
//! its argument alone: not on the lane, the vector length or the target.

use crate::lir::{BinOp, Builder, CastOp, CmpOp, Elem, Ty, Val};

/// 1.5 · 2^23: adding it rounds a small float to an integer, which then stands in the low bits.
const ROUNDER: f64 = 12582912.0;
const LN2_HI: f64 = 0.693359375;
const LN2_LO: f64 = -0.00021219444005471377;
const LOG2E: f64 = std::f64::consts::LOG2_E;

struct Emit<'a> {
    b: &'a mut Builder,
    ty: Ty,
}

impl Emit<'_> {
    fn c(&mut self, v: f64) -> Val {
        self.b.float(self.ty, v)
    }

    fn bits(&mut self, v: u32) -> Val {
        self.b.konst(self.ty.with(Elem::I32), u64::from(v))
    }

    fn fma(&mut self, a: Val, b: Val, c: Val) -> Val {
        self.b.fma(a, b, c)
    }

    fn fma_c(&mut self, a: Val, b: f64, c: Val) -> Val {
        let b = self.c(b);
        self.b.fma(a, b, c)
    }

    fn add(&mut self, a: Val, b: Val) -> Val {
        self.b.bin(BinOp::FAdd, a, b)
    }

    fn sub(&mut self, a: Val, b: Val) -> Val {
        self.b.bin(BinOp::FSub, a, b)
    }

    fn mul(&mut self, a: Val, b: Val) -> Val {
        self.b.bin(BinOp::FMul, a, b)
    }

    fn mul_c(&mut self, a: Val, b: f64) -> Val {
        let b = self.c(b);
        self.b.bin(BinOp::FMul, a, b)
    }

    fn cmp_c(&mut self, op: CmpOp, a: Val, c: f64) -> Val {
        let c = self.c(c);
        self.b.cmp(op, a, c)
    }

    /// Horner's scheme, coefficients from the constant up.
    fn poly(&mut self, x: Val, coefficients: &[f64]) -> Val {
        let mut it = coefficients.iter().rev();
        let first = it.next().copied().unwrap_or(0.0);
        let mut acc = self.c(first);
        for &k in it {
            let k = self.c(k);
            acc = self.fma(acc, x, k);
        }
        acc
    }

    /// (`x` rounded to an integer, the same as i32). NaN stays NaN; |x| below 2^22.
    fn round(&mut self, x: Val) -> (Val, Val) {
        let magic = self.c(ROUNDER);
        let t = self.add(x, magic);
        let float = self.sub(t, magic);
        let ti = self.b.bits_as(t, Elem::I32);
        let mi = self.b.bits_as(magic, Elem::I32);
        (float, self.b.bin(BinOp::Sub, ti, mi))
    }

    /// 2^n for an i32 in the range of exponents of normal numbers.
    fn pow2(&mut self, n: Val) -> Val {
        let bias = self.bits(127);
        let n = self.b.bin(BinOp::Add, n, bias);
        let n = self.b.bin_imm(BinOp::Shl, n, 23);
        self.b.bits_as(n, Elem::F32)
    }

    /// `x · 2^n` for |n| up to 250, rounding once.
    fn scale(&mut self, x: Val, n: Val) -> Val {
        let half = self.b.bin_imm(BinOp::AShr, n, 1);
        let rest = self.b.bin(BinOp::Sub, n, half);
        let (p, q) = (self.pow2(half), self.pow2(rest));
        let x = self.mul(x, p);
        self.mul(x, q)
    }

    /// `x` limited to `lo ..= hi`; NaN passes.
    fn clamp(&mut self, x: Val, lo: f64, hi: f64) -> Val {
        let (lo_v, hi_v) = (self.c(lo), self.c(hi));
        let above = self.b.cmp(CmpOp::Ogt, x, hi_v);
        let x = self.b.select(above, hi_v, x);
        let below = self.b.cmp(CmpOp::Olt, x, lo_v);
        self.b.select(below, lo_v, x)
    }

    fn abs(&mut self, x: Val) -> Val {
        self.b.intrinsic("fabs", &[x])
    }

    /// `magnitude` with the sign of `sign`.
    fn copysign(&mut self, magnitude: Val, sign: Val) -> Val {
        self.b.intrinsic("copysign", &[magnitude, sign])
    }

    /// (exponent as a float, mantissa − 1) with the mantissa in [√½, √2); `x` positive and finite.
    fn split(&mut self, x: Val) -> (Val, Val) {
        let tiny = self.cmp_c(CmpOp::Olt, x, f64::from(f32::MIN_POSITIVE));
        let scaled = self.mul_c(x, 8388608.0);
        let x = self.b.select(tiny, scaled, x);
        let (minus, zero) = (self.c(-23.0), self.c(0.0));
        let extra = self.b.select(tiny, minus, zero);
        let bits = self.b.bits_as(x, Elem::I32);
        let offset = self.bits(std::f32::consts::FRAC_1_SQRT_2.to_bits());
        let e = self.b.bin(BinOp::Sub, bits, offset);
        let e = self.b.bin_imm(BinOp::AShr, e, 23);
        let shifted = self.b.bin_imm(BinOp::Shl, e, 23);
        let m = self.b.bin(BinOp::Sub, bits, shifted);
        let m = self.b.bits_as(m, Elem::F32);
        let one = self.c(1.0);
        let f = self.sub(m, one);
        let e = self.b.cast(CastOp::SiToFp, e, Elem::F32);
        (self.add(e, extra), f)
    }

    /// `ln(1 + f) − f` for `f` in [√½ − 1, √2 − 1].
    fn ln_tail(&mut self, f: Val) -> Val {
        let p = self.poly(
            f,
            &[
                0.3333331254103141,
                -0.2500000951288977,
                0.20002123461708154,
                -0.16668005175014786,
                0.1421945299379246,
                -0.12405340225733792,
                0.11888697411297786,
                -0.11677515234206665,
                0.0674772875949846,
            ],
        );
        let f2 = self.mul(f, f);
        let half = self.c(-0.5);
        let q = self.fma(p, f, half);
        self.mul(f2, q)
    }

    /// Puts the logarithm's values at 0, below 0, at infinity and NaN over `y`.
    fn ln_special(&mut self, x: Val, y: Val) -> Val {
        let (inf, ninf, nan) = (self.c(f64::INFINITY), self.c(f64::NEG_INFINITY), self.c(f64::NAN));
        let zero = self.c(0.0);
        let regular = self.b.cmp(CmpOp::Ogt, x, zero);
        let is_zero = self.b.cmp(CmpOp::Oeq, x, zero);
        let other = self.b.select(is_zero, ninf, nan);
        let y = self.b.select(regular, y, other);
        let is_inf = self.b.cmp(CmpOp::Oeq, x, inf);
        self.b.select(is_inf, inf, y)
    }

    /// Reduced argument and quadrant: `x = n·π/2 + r`.
    fn quadrant(&mut self, x: Val) -> (Val, Val) {
        let scaled = self.mul_c(x, std::f64::consts::FRAC_2_PI);
        let (n, ni) = self.round(scaled);
        let r = self.fma_c(n, -1.5707963705062866, x);
        let r = self.fma_c(n, 4.371139006309477e-8, r);
        (r, ni)
    }

    fn sine_of_reduced(&mut self, r: Val) -> Val {
        let z = self.mul(r, r);
        let s = self.poly(
            z,
            &[
                -0.16666666662075483,
                0.008333331225797883,
                -0.00019839757877208986,
                2.7209886117192823e-06,
            ],
        );
        let rz = self.mul(r, z);
        self.fma(rz, s, r)
    }

    fn cosine_of_reduced(&mut self, r: Val) -> Val {
        let z = self.mul(r, r);
        let c = self.poly(
            z,
            &[
                0.04166666666283431,
                -0.0013888887130145446,
                2.4800325788837883e-05,
                -2.7267528598840293e-07,
            ],
        );
        let half = self.c(-0.5);
        let t = self.fma(z, c, half);
        let one = self.c(1.0);
        self.fma(z, t, one)
    }
}

fn with<R>(b: &mut Builder, x: Val, f: impl FnOnce(&mut Emit<'_>) -> R) -> R {
    let ty = b.ty(x);
    f(&mut Emit { b, ty })
}

/// e^x; within 1 ulp, 2 where the result is subnormal.
pub(super) fn exp(b: &mut Builder, x: Val) -> Val {
    with(b, x, |m| {
        let x = m.clamp(x, -104.5, 89.5);
        let scaled = m.mul_c(x, LOG2E);
        let (n, ni) = m.round(scaled);
        let r = m.fma_c(n, -LN2_HI, x);
        let r = m.fma_c(n, -LN2_LO, r);
        let p = m.poly(
            r,
            &[
                0.5000000068785952,
                0.16666665855436208,
                0.04166629087476945,
                0.008333498933921324,
                0.0013944966051632629,
                0.00019790039190785828,
            ],
        );
        let r2 = m.mul(r, r);
        let t = m.fma(p, r2, r);
        let one = m.c(1.0);
        let y = m.add(t, one);
        m.scale(y, ni)
    })
}

/// 2^x; within 1 ulp, 2 where the result is subnormal.
pub(super) fn exp2(b: &mut Builder, x: Val) -> Val {
    with(b, x, |m| {
        let x = m.clamp(x, -151.0, 129.0);
        let (n, ni) = m.round(x);
        let f = m.sub(x, n);
        let q = m.poly(
            f,
            &[
                0.6931471805413568,
                0.2402265108043373,
                0.05550410963742409,
                0.00961803617084902,
                0.001333342975415322,
                0.00015467365197563383,
                1.5315198776340557e-05,
            ],
        );
        let one = m.c(1.0);
        let y = m.fma(q, f, one);
        m.scale(y, ni)
    })
}

/// ln x; within 2 ulp.
pub(super) fn ln(b: &mut Builder, x: Val) -> Val {
    with(b, x, |m| {
        let (e, f) = m.split(x);
        let tail = m.ln_tail(f);
        let low = m.fma_c(e, LN2_LO, tail);
        let sum = m.add(f, low);
        let y = m.fma_c(e, LN2_HI, sum);
        m.ln_special(x, y)
    })
}

/// log2 x; within 2 ulp.
pub(super) fn log2(b: &mut Builder, x: Val) -> Val {
    with(b, x, |m| {
        let (e, f) = m.split(x);
        let tail = m.ln_tail(f);
        // log2(e) in two parts: the first has few enough bits that its product with `f` loses little.
        let low = m.mul_c(f, 1.92596298909109e-08);
        let low = m.fma_c(tail, LOG2E, low);
        let y = m.fma_c(f, 1.4426950216293335, low);
        let y = m.add(y, e);
        m.ln_special(x, y)
    })
}

/// sin x; absolute error within 2^-22 for |x| up to 2^20.
pub(super) fn sin(b: &mut Builder, x: Val) -> Val {
    with(b, x, |m| {
        let (r, n) = m.quadrant(x);
        let y = sine_or_cosine(m, r, n);
        // The sign of a zero result is that of the argument.
        let is_zero = m.cmp_c(CmpOp::Oeq, x, 0.0);
        m.b.select(is_zero, x, y)
    })
}

/// cos x; absolute error within 2^-22 for |x| up to 2^20.
pub(super) fn cos(b: &mut Builder, x: Val) -> Val {
    with(b, x, |m| {
        let (r, n) = m.quadrant(x);
        let one = m.bits(1);
        let n = m.b.bin(BinOp::Add, n, one);
        sine_or_cosine(m, r, n)
    })
}

/// Sine of `r + n·π/2`.
fn sine_or_cosine(m: &mut Emit<'_>, r: Val, n: Val) -> Val {
    let (s, c) = (m.sine_of_reduced(r), m.cosine_of_reduced(r));
    let odd = m.b.bin_imm(BinOp::And, n, 1);
    let odd = m.b.cmp_imm(CmpOp::Ne, odd, 0);
    let y = m.b.select(odd, c, s);
    let sign = m.b.bin_imm(BinOp::And, n, 2);
    let sign = m.b.bin_imm(BinOp::Shl, sign, 30);
    let bits = m.b.bits_as(y, Elem::I32);
    let bits = m.b.bin(BinOp::Xor, bits, sign);
    m.b.bits_as(bits, Elem::F32)
}

/// tanh x; within 2 ulp.
pub(super) fn tanh(b: &mut Builder, x: Val) -> Val {
    let doubled = with(b, x, |m| {
        let a = m.abs(x);
        m.add(a, a)
    });
    let e = exp(b, doubled);
    with(b, x, |m| {
        let z = m.mul(x, x);
        let t = m.poly(
            z,
            &[
                -0.3333333019045781,
                0.13333180542483056,
                -0.05394339989264872,
                0.021681642991917285,
                -0.008129000772488034,
                0.00209772123731842,
            ],
        );
        let xz = m.mul(x, z);
        let small = m.fma(xz, t, x);
        let one = m.c(1.0);
        let e = m.add(e, one);
        let two = m.c(2.0);
        let q = m.b.bin(BinOp::FDiv, two, e);
        let large = m.sub(one, q);
        let a = m.abs(x);
        let is_small = m.cmp_c(CmpOp::Olt, a, 0.625);
        let y = m.b.select(is_small, small, large);
        m.copysign(y, x)
    })
}

/// erf x; within 3 ulp.
pub(super) fn erf(b: &mut Builder, x: Val) -> Val {
    let (magnitude, negated) = with(b, x, |m| {
        let a = m.abs(x);
        let t = m.clamp(a, 0.98, 4.0);
        let g = m.poly(
            t,
            &[
                -0.00018803665075777833,
                1.129578408527061,
                0.6332199222446331,
                0.10841854785735601,
                -0.02520823918739635,
                0.004204555722640416,
                -0.0004413352025093341,
                2.168675572378884e-05,
            ],
        );
        (a, m.mul_c(g, -1.0))
    });
    let e = exp(b, negated);
    with(b, x, |m| {
        let one = m.c(1.0);
        let large = m.sub(one, e);
        let large = m.copysign(large, x);
        let z = m.mul(x, x);
        let q = m.poly(
            z,
            &[
                1.1283791670631582,
                -0.3761263848381148,
                0.1128378274723983,
                -0.02686544582373753,
                0.005221074884751023,
                -0.0008484711546737088,
                0.00011270545201102523,
                -9.680138431458762e-06,
            ],
        );
        let small = m.mul(x, q);
        let is_large = m.cmp_c(CmpOp::Oge, magnitude, 1.0);
        m.b.select(is_large, large, small)
    })
}
