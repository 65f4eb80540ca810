//! What the bytes of each tensor type mean, in f64: written from the format's description, apart from
//! the kernels' own references, so that the two check each other.

use half::{bf16, f16};

/// All elements of a tensor of type `ty`.
pub(crate) fn dequantise(ty: &str, bytes: &[u8]) -> Vec<f64> {
    match ty {
        "F32" => bytes
            .chunks_exact(4)
            .map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])))
            .collect(),
        "F16" => bytes.chunks_exact(2).map(half).collect(),
        "BF16" => {
            bytes.chunks_exact(2).map(|b| bf16::from_le_bytes([b[0], b[1]]).to_f64()).collect()
        }
        "Q4_0" => blocks(bytes, 18, q4_0),
        "Q4_1" => blocks(bytes, 20, q4_1),
        "Q5_0" => blocks(bytes, 22, q5_0),
        "Q8_0" => blocks(bytes, 34, q8_0),
        "Q4_K" => blocks(bytes, 144, q4_k),
        "Q6_K" => blocks(bytes, 210, q6_k),
        other => panic!("no reference for {other}"),
    }
}

fn half(b: &[u8]) -> f64 {
    f16::from_le_bytes([b[0], b[1]]).to_f64()
}

fn blocks(bytes: &[u8], size: usize, block: fn(&[u8], &mut Vec<f64>)) -> Vec<f64> {
    assert_eq!(bytes.len() % size, 0, "whole blocks");
    let mut out = Vec::with_capacity(bytes.len() / size * 32);
    for b in bytes.chunks_exact(size) {
        block(b, &mut out);
    }
    out
}

fn q4_0(b: &[u8], out: &mut Vec<f64>) {
    let d = half(b);
    out.extend(b[2..].iter().map(|q| d * (f64::from(q & 15) - 8.0)));
    out.extend(b[2..].iter().map(|q| d * (f64::from(q >> 4) - 8.0)));
}

fn q4_1(b: &[u8], out: &mut Vec<f64>) {
    let (d, m) = (half(b), half(&b[2..]));
    out.extend(b[4..].iter().map(|q| d * f64::from(q & 15) + m));
    out.extend(b[4..].iter().map(|q| d * f64::from(q >> 4) + m));
}

fn q5_0(b: &[u8], out: &mut Vec<f64>) {
    let d = half(b);
    let high = u32::from_le_bytes([b[2], b[3], b[4], b[5]]);
    for j in 0..32 {
        let low = if j < 16 { b[6 + j] & 15 } else { b[6 + j - 16] >> 4 };
        let code = u32::from(low) + 16 * (high >> j & 1);
        out.push(d * (f64::from(code) - 16.0));
    }
}

fn q8_0(b: &[u8], out: &mut Vec<f64>) {
    let d = half(b);
    out.extend(b[2..].iter().map(|q| d * f64::from(*q as i8)));
}

fn q4_k(b: &[u8], out: &mut Vec<f64>) {
    let (d, dmin) = (half(b), half(&b[2..]));
    let (packed, codes) = (&b[4..16], &b[16..]);
    for group in 0..8 {
        let (scale, min) = if group < 4 {
            (packed[group] & 63, packed[group + 4] & 63)
        } else {
            (
                (packed[group + 4] & 15) | ((packed[group - 4] >> 6) << 4),
                (packed[group + 4] >> 4) | ((packed[group] >> 6) << 4),
            )
        };
        let bytes = &codes[group / 2 * 32..][..32];
        let shift = group % 2 * 4;
        let (scale, min) = (d * f64::from(scale), dmin * f64::from(min));
        out.extend(bytes.iter().map(|q| scale * f64::from(q >> shift & 15) - min));
    }
}

fn q6_k(b: &[u8], out: &mut Vec<f64>) {
    let (low, high, scales, d) = (&b[..128], &b[128..192], &b[192..208], half(&b[208..]));
    for j in 0..256 {
        // Each half of the block keeps its 128 codes as two rows of 64 nibbles and one of 32 bit pairs.
        let (part, i) = (j / 128, j % 128);
        let nibble = low[part * 64 + i % 64] >> (i / 64 * 4) & 15;
        let pair = high[part * 32 + i % 32] >> (i / 32 * 2) & 3;
        let code = f64::from(nibble | pair << 4) - 32.0;
        out.push(d * f64::from(scales[j / 16] as i8) * code);
    }
}
