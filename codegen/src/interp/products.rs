//! Matrix products, summed in k order.

use super::tile::{Data, Tile};
use tilewright_abi::DType;

/// `acc[m][n]` combined with `a[m][k]`, `b[k][n]` for each k in order.
fn product<T: Copy>(a: &[T], b: &[T], acc: &mut [T], n: usize, step: impl Fn(T, T, T) -> T) {
    let k = b.len() / n;
    for (a_row, acc_row) in a.chunks(k).zip(acc.chunks_mut(n)) {
        for (x, b_row) in a_row.iter().zip(b.chunks(n)) {
            for (c, y) in acc_row.iter_mut().zip(b_row) {
                *c = step(*x, *y, *c);
            }
        }
    }
}

pub(super) fn mma(a: &Tile, b: &Tile, acc: &Tile) -> Tile {
    let n = acc.shape.last().copied().unwrap_or(1).max(1);
    let data = match acc.dtype {
        DType::F64 => {
            let mut out = acc.f64s();
            product(&a.f64s(), &b.f64s(), &mut out, n, |x, y, c| x.mul_add(y, c));
            Tile::f64s_data(out.into_iter())
        }
        DType::I32 => {
            let mut out = acc.ints();
            product(&a.ints(), &b.ints(), &mut out, n, |x, y, c| x.wrapping_mul(y).wrapping_add(c));
            Tile::ints_data(DType::I32, out.into_iter())
        }
        _ => return float_product(a.dtype, b.dtype, &a.f32s(), &b.f32s(), acc, n),
    };
    acc.with(acc.dtype, data)
}

fn float_product(ta: DType, tb: DType, a: &[f32], b: &[f32], acc: &Tile, n: usize) -> Tile {
    let mut out = acc.f32s();
    if ta.bits() < 32 && tb.bits() < 32 && ta != DType::BF16 && tb != DType::BF16 {
        // Products of short floats are exact in f32, so that one addition rounds as an fma would.
        // (Those of bf16 may leave the range of f32.)
        product(a, b, &mut out, n, |x, y, c| x * y + c);
    } else {
        product(a, b, &mut out, n, |x, y, c| x.mul_add(y, c));
    }
    acc.with(acc.dtype, Tile::f32s_data(DType::F32, out.into_iter()))
}

pub(super) fn mma_scaled([a, scale_a, b, scale_b, acc]: [&Tile; 5], group: usize) -> Tile {
    let n = acc.shape.last().copied().unwrap_or(1).max(1);
    let k = a.shape.last().copied().unwrap_or(1).max(1);
    let groups = k / group.max(1);
    let (mut a_values, mut b_values) = (a.f32s(), b.f32s());
    let (sa, sb) = (scale_a.f32s(), scale_b.f32s());
    for (i, x) in a_values.iter_mut().enumerate() {
        *x *= sa[i / k * groups + i % k / group];
    }
    for (i, x) in b_values.iter_mut().enumerate() {
        *x *= sb[i / n / group * n + i % n];
    }
    float_product(DType::F32, DType::F32, &a_values, &b_values, acc, n)
}

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"): the first word.
pub(super) fn philox(key: u64, mut c: [u32; 4]) -> u32 {
    let mut k = [key as u32, (key >> 32) as u32];
    for _ in 0..10 {
        let (x, y) = (u64::from(c[0]) * 0xd251_1f53, u64::from(c[2]) * 0xcd9e_8d57);
        c = [(y >> 32) as u32 ^ c[1] ^ k[0], y as u32, (x >> 32) as u32 ^ c[3] ^ k[1], x as u32];
        k = [k[0].wrapping_add(0x9e37_79b9), k[1].wrapping_add(0xbb67_ae85)];
    }
    c[0]
}

pub(super) fn philox_tile(key: &Tile, counter: [&Tile; 4]) -> Tile {
    let key = key.data.get(0);
    let words =
        (0..counter[0].data.len()).map(|i| philox(key, counter.map(|c| c.data.get(i) as u32)));
    counter[0].with(DType::U32, Data::B4(words.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_known_answers() {
        // From the reference implementation's known-answer file (kat_vectors, philox4x32 10).
        assert_eq!(philox(0, [0; 4]), 0x6627_e8d5);
        assert_eq!(philox(u64::MAX, [u32::MAX; 4]), 0x408f_276d);
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(philox(0x299f_31d0_a409_3822, pi), 0xd16c_fe09);
    }
}
