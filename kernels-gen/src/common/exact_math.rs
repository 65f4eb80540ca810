//! exp, ln and the Gumbel noise as one fixed sequence of IEEE f32 operations, for the samplers: the
//! same bits from every backend, and from the host functions beside them.
//!
//! Only add, sub, mul, fma, comparisons, round-to-nearest and bit operations are used; all are
//! correctly rounded or exact wherever this runs. Coefficients are least-squares fits at Chebyshev
//! nodes: exp on [−ln2/2, ln2/2] (relative error 8e-9 before rounding), ln on [√½ − 1, √2 − 1] (3e-9).

use tilewright_dsl::prelude::*;

const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 cut to 13 bits, so that its product with an exponent is exact, and the rest.
const LN2_HI: f32 = 0.693_359_4;
const LN2_LO: f32 = -2.121_944_4e-4;
const EXP: [f32; 5] = [0.5, 0.166_665_76, 0.041_666_467, 0.008_363_182, 0.001_393_365_2];
const LN: [f32; 9] = [
    0.333_333_3,
    -0.249_999_9,
    0.200_007_08,
    -0.166_684_8,
    0.142_499_37,
    -0.124_110_505,
    0.116_615_11,
    -0.115_712_01,
    0.071_497_54,
];
/// Below this exp is 0.
const EXP_MIN: f32 = -87.0;
/// Bits of √½.
const ROOT_HALF: i32 = 0x3f35_04f3;

/// 1.5 · 2^18: adding and subtracting it in f64 rounds to a multiple of 2^-34, so that sums of up to
/// 2^18 weights in [0, 1] are exact and do not depend on their order.
pub const MASS_GRID: f64 = 393_216.0;

/// Noise is at most this: −ln(−ln(1 − 2^-24)), rounded up.
pub const MAX_NOISE: f32 = 16.7;

/// e^x for x ≤ 0; 0 below −87 and for −inf.
pub fn exp(x: Tile<F32>) -> Tile<F32> {
    let xc = x.max(EXP_MIN);
    let n = (xc * LOG2_E).round();
    let r = fma(n, -LN2_HI, xc);
    let r = fma(n, -LN2_LO, r);
    let mut q = fma(r, EXP[4], EXP[3]);
    for c in EXP[..3].iter().rev() {
        q = fma(q, r, *c);
    }
    let e = fma(q, r * r, r) + 1.0;
    let scale = ((n.cast::<I32>() + 127) << 23).bitcast::<F32>();
    select(x.ge(EXP_MIN), e * scale, 0.0)
}

/// ln x for positive, normal, finite x.
pub fn ln(x: Tile<F32>) -> Tile<F32> {
    let bits = x.bitcast::<I32>();
    let e = (bits - ROOT_HALF) >> 23;
    let f = (bits - (e << 23)).bitcast::<F32>() - 1.0;
    let e = e.cast::<F32>();
    let mut p = fma(f, LN[8], LN[7]);
    for c in LN[..7].iter().rev() {
        p = fma(p, f, *c);
    }
    let z = f * f;
    let y = fma(p, z * f, e * LN2_LO);
    let y = fma(z, -0.5, y);
    fma(e, LN2_HI, f + y)
}

/// Gumbel noise −ln(−ln u) of the random word `r`, u = (float(r >> 9) + 0.5) · 2^-23.
pub fn gumbel(r: Tile<U32>) -> Tile<F32> {
    -ln(-ln(uniform(r)))
}

/// The number in (0, 1) of a random word.
pub fn uniform(r: Tile<U32>) -> Tile<F32> {
    ((r >> 9).bitcast::<I32>().cast::<F32>() + 0.5) * 1.192_092_9e-7
}

/// `exp(d)` for d ≤ 0 on the mass grid; see [`MASS_GRID`].
pub fn mass(d: Tile<F32>) -> Tile<F64> {
    on_grid(exp(d))
}

/// A weight in [0, 1], rounded to the mass grid.
pub fn on_grid(weight: Tile<F32>) -> Tile<F64> {
    (weight.cast::<F64>() + MASS_GRID) - MASS_GRID
}

/// The order of floats as the order of i32: monotone, −0 (which sorts below 0) aside.
pub fn order_key(x: Tile<F32>) -> Tile<I32> {
    let b = x.bitcast::<I32>();
    b ^ ((b >> 31) & 0x7fff_ffff)
}

/// The [`order_key`] of one float.
pub fn order_key_one(x: Scalar<F32>) -> Scalar<I32> {
    let b = x.bitcast::<I32>();
    b ^ ((b >> 31) & 0x7fff_ffff)
}

/// The float of an [`order_key`].
pub fn from_order_key(k: Scalar<I32>) -> Scalar<F32> {
    (k ^ ((k >> 31) & 0x7fff_ffff)).bitcast::<F32>()
}

/// The same functions on the host.
pub mod host {
    use super::{EXP, EXP_MIN, LN, LN2_HI, LN2_LO, LOG2_E, MASS_GRID, ROOT_HALF};

    /// See [`super::exp`].
    pub fn exp(x: f32) -> f32 {
        if x.is_nan() || x < EXP_MIN {
            return 0.0;
        }
        let n = (x * LOG2_E).round_ties_even();
        let r = n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, x));
        let q = EXP[..4].iter().rev().fold(EXP[4], |q, c| q.mul_add(r, *c));
        let e = q.mul_add(r * r, r) + 1.0;
        e * f32::from_bits(((n as i32 + 127) << 23) as u32)
    }

    /// See [`super::ln`].
    pub fn ln(x: f32) -> f32 {
        let bits = x.to_bits() as i32;
        let e = (bits.wrapping_sub(ROOT_HALF)) >> 23;
        let f = f32::from_bits(bits.wrapping_sub(e << 23) as u32) - 1.0;
        let e = e as f32;
        let p = LN[..8].iter().rev().fold(LN[8], |p, c| p.mul_add(f, *c));
        let z = f * f;
        let y = p.mul_add(z * f, e * LN2_LO);
        let y = z.mul_add(-0.5, y);
        e.mul_add(LN2_HI, f + y)
    }

    /// See [`super::uniform`].
    pub fn uniform(r: u32) -> f32 {
        ((r >> 9) as f32 + 0.5) * 1.192_092_9e-7
    }

    /// See [`super::gumbel`].
    pub fn gumbel(r: u32) -> f32 {
        -ln(-ln(uniform(r)))
    }

    /// See [`super::mass`].
    pub fn mass(d: f32) -> f64 {
        (f64::from(exp(d)) + MASS_GRID) - MASS_GRID
    }

    /// First word of Philox4x32-10.
    pub fn philox(key: u64, counter: [u32; 4]) -> u32 {
        let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
        let mut c = counter;
        for _ in 0..10 {
            let p0 = u64::from(c[0]) * 0xD251_1F53;
            let p1 = u64::from(c[2]) * 0xCD9E_8D57;
            c = [
                (p1 >> 32) as u32 ^ c[1] ^ k0,
                p1 as u32,
                (p0 >> 32) as u32 ^ c[3] ^ k1,
                p0 as u32,
            ];
            k0 = k0.wrapping_add(0x9E37_79B9);
            k1 = k1.wrapping_add(0xBB67_AE85);
        }
        c[0]
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn close_to_the_real_functions() {
            for i in 0..200_000 {
                let x = -87.0 * (i as f32 / 200_000.0);
                let (got, want) = (f64::from(exp(x)), f64::from(x).exp());
                assert!((got - want).abs() <= want * 1.3e-7, "exp {x}: {got} {want}");
                let x = f32::from_bits(0x3300_0000 + i * 4000);
                let (got, want) = (f64::from(ln(x)), f64::from(x).ln());
                assert!((got - want).abs() <= want.abs() * 2e-7 + 1e-9, "ln {x}: {got} {want}");
            }
            assert_eq!((exp(0.0), exp(f32::NEG_INFINITY), ln(1.0)), (1.0, 0.0, 0.0));
            assert!(gumbel(u32::MAX) <= super::super::MAX_NOISE);
            assert!(gumbel(u32::MAX) > 16.6 && gumbel(0) < -2.8 && gumbel(0).is_finite());
        }

        #[test]
        fn philox_known_answers() {
            assert_eq!(philox(0, [0; 4]), 0x6627_e8d5);
            assert_eq!(philox(u64::MAX, [u32::MAX; 4]), 0x408f_276d);
        }
    }
}
