//! What the GEMMs and the packers mean: naive f64 over plain slices.

use crate::common::format::{Block, Source};
use half::{bf16, f16};

/// The values of a weight `[n, k]` in the file's bytes, exactly; `None` when the length does not
/// fit. An int8 weight gives its codes; the caller applies the channel scales.
pub fn dequantise(source: Source, bytes: &[u8], n: usize, k: usize) -> Option<Vec<f64>> {
    let mut out = Vec::with_capacity(n * k);
    match source.block() {
        None => {
            let size = source.dtype().bytes_for(1);
            if bytes.len() != n * k * size {
                return None;
            }
            out.extend(bytes.chunks_exact(size).map(|e| float(source, e)));
        }
        Some(Block { len, bytes: size }) => {
            if !k.is_multiple_of(len) || bytes.len() != n * k / len * size {
                return None;
            }
            bytes.chunks_exact(size).for_each(|b| block(source, b, &mut out));
        }
    }
    Some(out)
}

fn float(source: Source, e: &[u8]) -> f64 {
    match (source, e) {
        (Source::F32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
        (Source::F16, &[a, b]) => f16::from_le_bytes([a, b]).to_f64(),
        (Source::BF16, &[a, b]) => bf16::from_le_bytes([a, b]).to_f64(),
        (Source::I8, &[a]) => f64::from(a as i8),
        (_, &[a, ..]) => f8e4m3(a),
        (_, &[]) => 0.0,
    }
}

/// The value of an OCP e4m3 code.
pub fn f8e4m3(code: u8) -> f64 {
    let sign = if code & 0x80 != 0 { -1.0 } else { 1.0 };
    let (exponent, mantissa) = (i32::from(code >> 3 & 15), f64::from(code & 7));
    match (exponent, code & 7) {
        (15, 7) => f64::NAN,
        (0, _) => sign * mantissa / 8.0 * 2f64.powi(-6),
        _ => sign * (1.0 + mantissa / 8.0) * 2f64.powi(exponent - 7),
    }
}

/// One GGUF block: scales first, then codes in the orders that ggml defines.
fn block(source: Source, b: &[u8], out: &mut Vec<f64>) {
    let half_at = |i: usize| f16::from_le_bytes([b[i], b[i + 1]]).to_f64();
    let nibble = |q: &[u8], j: usize| f64::from(if j < 16 { q[j] & 15 } else { q[j - 16] >> 4 });
    match source {
        Source::Q4_0 => out.extend((0..32).map(|j| half_at(0) * (nibble(&b[2..], j) - 8.0))),
        Source::Q4_1 => out.extend((0..32).map(|j| half_at(0) * nibble(&b[4..], j) + half_at(2))),
        Source::Q5_0 => {
            let high = u32::from_le_bytes([b[2], b[3], b[4], b[5]]);
            let code = |j: usize| nibble(&b[6..], j) + f64::from(high >> j & 1) * 16.0;
            out.extend((0..32).map(|j| half_at(0) * (code(j) - 16.0)));
        }
        Source::Q8_0 => out.extend((0..32).map(|j| half_at(0) * f64::from(b[2 + j] as i8))),
        Source::Q4K => {
            for j in 0..256 {
                let (group, q) = (j / 32, b[16 + j / 64 * 32 + j % 32]);
                let code = if group % 2 == 0 { q & 15 } else { q >> 4 };
                let (scale, min) = q4_k_scale(&b[4..16], group);
                out.push(half_at(0) * scale * f64::from(code) - half_at(2) * min);
            }
        }
        Source::Q6K => {
            for j in 0..256 {
                let (half, quarter, l) = (j / 128, j / 32 % 4, j % 32);
                let low = b[half * 64 + quarter % 2 * 32 + l] >> (quarter / 2 * 4) & 15;
                let high = b[128 + half * 32 + l] >> (quarter * 2) & 3;
                let code = f64::from(low | high << 4) - 32.0;
                out.push(half_at(208) * f64::from(b[192 + j / 16] as i8) * code);
            }
        }
        Source::F32 | Source::F16 | Source::BF16 | Source::F8E4M3 | Source::I8 => {}
    }
}

/// Six-bit scale and minimum of a group: the first four in the low bits of bytes 0..4 and 4..8, the
/// others split over bytes 8..12 and the high bits of those.
fn q4_k_scale(s: &[u8], group: usize) -> (f64, f64) {
    let (scale, min) = if group < 4 {
        (s[group] & 63, s[group + 4] & 63)
    } else {
        (s[group + 4] & 15 | s[group - 4] >> 6 << 4, s[group + 4] >> 4 | s[group] >> 6 << 4)
    };
    (f64::from(scale), f64::from(min))
}

/// `a[m, k] · w[n, k]ᵀ + bias[n] + residual[m, n]`; the last two may be empty.
pub fn gemm(
    [m, n, k]: [usize; 3],
    a: &[f64],
    w: &[f64],
    bias: &[f64],
    residual: &[f64],
) -> Vec<f64> {
    let mut c = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            let dot: f64 = (0..k).map(|l| a[i * k + l] * w[j * k + l]).sum();
            let bias = bias.get(j).copied().unwrap_or(0.0);
            c.push(dot + bias + residual.get(i * n + j).copied().unwrap_or(0.0));
        }
    }
    c
}
