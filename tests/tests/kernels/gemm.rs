//! Packers and GEMMs against naive f64: every implementation that fits a case.

use crate::harness::{BACKENDS, Backend, Case, Noise, Tensor, Tensors, assert_close};
use tilewright_abi::DType;
use tilewright_kernels::common::format::{PANEL_N, Packed, Source};
use tilewright_kernels::gemm::reference;
use tilewright_kernels::quant::reference::i8_group;

const FLOATS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// Bytes of a weight `[n, k]` whose scales are moderate.
fn weight_bytes(source: Source, n: i64, k: i64, noise: &mut Noise) -> Vec<u8> {
    let Some(block) = source.block() else {
        let values: Vec<f64> = match source {
            Source::I8 => (0..n * k).map(|_| f64::from(noise.bits() as u8 as i8)).collect(),
            _ => noise.floats(n * k),
        };
        return Tensor::new(source.dtype(), &[n, k], &values).bytes;
    };
    let count = (n * k) as usize / block.len;
    let mut bytes = noise.bytes(count * block.bytes);
    let halves: &[usize] = match source {
        Source::Q4_1 => &[0, 2],
        Source::Q4K => &[0, 2],
        Source::Q6K => &[208],
        _ => &[0],
    };
    for b in bytes.chunks_exact_mut(block.bytes) {
        for &at in halves {
            let scale = Tensor::new(DType::F16, &[1], &[noise.float() / 16.0]).bytes;
            b[at..at + 2].copy_from_slice(&scale);
        }
    }
    bytes
}

fn row_len(source: Source, k: i64) -> i64 {
    source.block().map_or(k, |b| k / b.len as i64 * b.bytes as i64)
}

/// Packed buffers of a weight, poisoned before, and its values.
fn packed(
    backend: Backend,
    source: Source,
    [n, k]: [i64; 2],
    noise: &mut Noise,
) -> (Tensors, Vec<f64>) {
    let bytes = weight_bytes(source, n, k, noise);
    let values = reference::dequantise(source, &bytes, n as usize, k as usize).unwrap();
    let (p, np, width) = (source.packed(), (n + 15) / 16, PANEL_N as i64);
    let row = row_len(source, k);
    let mut t = Tensors::new();
    t.insert("w", Tensor::raw(source.dtype(), &[n, row], bytes));
    let codes = match p.group() {
        None => (k + 7) / 8 * 8 * width,
        Some(_) if p.is_nibbles() => k * width / 2,
        Some(_) => k * width,
    };
    t.insert("codes", Tensor::poison(p.codes(), &[np, codes]));
    if let (Some(d), Some(g)) = (p.scales(), p.group()) {
        t.insert("scales", Tensor::poison(d, &[np, k / g as i64 * width]));
        if let Some(d) = p.mins() {
            t.insert("mins", Tensor::poison(d, &[np, k / g as i64 * width]));
        }
    }
    if p.supers() > 0 {
        t.insert("supers", Tensor::poison(DType::F16, &[np, k / 256 * p.supers() as i64 * width]));
    }
    let op = format!("gemm.pack_{}", source.name());
    let case = Case::new(&op).axis("k", k);
    (case.run(backend, &t), values)
}

/// The weight as the operands of its GEMM.
fn operands(mut t: Tensors) -> Tensors {
    let names = [("codes", "b"), ("scales", "scale_b"), ("mins", "min_b"), ("supers", "super_b")];
    names.iter().filter_map(|&(from, to)| Some((to, t.remove(from)?))).collect()
}

fn bound(c: DType, k: i64) -> f64 {
    match c {
        DType::BF16 => 2f64.powi(-8),
        DType::F16 => 2f64.powi(-10),
        _ => 4e-7 * (k.max(1) as f64).sqrt() + 1e-7,
    }
}

/// Runs every form of the GEMM over a packed weight and compares.
fn check(source: Source, a_dtype: DType, c_dtype: DType, sizes: [i64; 3], tail: [bool; 2]) {
    for backend in BACKENDS {
        check_on(backend, source, a_dtype, c_dtype, sizes, tail);
    }
}

fn check_on(
    backend: Backend,
    source: Source,
    a_dtype: DType,
    c_dtype: DType,
    [m, n, k]: [i64; 3],
    tail: [bool; 2],
) {
    let mut noise = Noise(7 + m as u64 * 31 + n as u64 * 17 + k as u64);
    let (weight, mut w) = packed(backend, source, [n, k], &mut noise);
    let mut t = operands(weight);
    let mut a = Tensor::new(a_dtype, &[m, k], &noise.floats(m * k));
    let mut av = a.values();
    if a_dtype == DType::I8 && source == Source::I8 {
        let codes: Vec<f64> = (0..m * k).map(|_| f64::from(noise.bits() as u8 as i8)).collect();
        a = Tensor::new(DType::I8, &[m, k], &codes);
        let (sa, sb) = (noise.floats(m), noise.floats(n));
        t.insert("scale_a", Tensor::new(DType::F32, &[m], &sa));
        t.insert("scale_b", Tensor::new(DType::F32, &[n], &sb));
        let (sa, sb) = (t["scale_a"].values(), t["scale_b"].values());
        av = codes.iter().enumerate().map(|(i, c)| c * sa[i / k as usize]).collect();
        w = w.iter().enumerate().map(|(i, c)| c * sb[i / k as usize]).collect();
    } else if a_dtype == DType::I8 {
        let x: Vec<f32> = noise.floats(m * k).iter().map(|&x| x as f32).collect();
        let (mut codes, mut scales, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        for group in x.chunks(32) {
            let (q, scale, _) = i8_group(group);
            sums.push(f64::from(scale * q.iter().map(|&q| i32::from(q)).sum::<i32>() as f32));
            scales.push(f64::from(scale));
            codes.extend(q.iter().map(|&q| f64::from(q)));
        }
        av = codes.iter().enumerate().map(|(i, c)| c * scales[i / 32]).collect();
        a = Tensor::new(DType::I8, &[m, k], &codes);
        t.insert("scale_a", Tensor::new(DType::F32, &[m, k / 32], &scales));
        t.insert("sum_a", Tensor::new(DType::F32, &[m, k / 32], &sums));
    }
    t.insert("a", a.spread(&[k + 5, 1], 0));
    let (mut bias, mut residual) = (Vec::new(), Vec::new());
    if tail[0] {
        t.insert("bias", Tensor::new(DType::F32, &[n], &noise.floats(n)));
        bias = t["bias"].values();
    }
    if tail[1] {
        t.insert(
            "residual",
            Tensor::new(c_dtype, &[m, n], &noise.floats(m * n)).spread(&[n + 3, 1], 0),
        );
        residual = t["residual"].values();
    }
    t.insert("c", Tensor::poison(c_dtype, &[m, n]).spread(&[n + 1, 1], 0));
    let op = format!("gemm.{}", source.packed().name());
    let want = reference::gemm([m, n, k].map(|x| x as usize), &av, &w, &bias, &residual);
    let mut first: Option<Vec<u8>> = None;
    for (id, out) in Case::new(&op).axis("n", n).run_all(backend, &t) {
        let what = format!("{id} {a_dtype} {c_dtype} m={m} n={n} k={k}");
        assert_close(&what, &out["c"].values(), &want, bound(c_dtype, k));
        // Sums run in the same order in each variant: rows do not depend on the others.
        let bytes = first.get_or_insert_with(|| out["c"].bytes.clone());
        assert!(*bytes == out["c"].bytes, "{what}: differs from the first variant");
    }
}

#[test]
fn packers_keep_every_value() {
    let mut noise = Noise(1);
    for source in Source::ALL {
        for n in [1, 16, 35] {
            let k = if source.block().is_none() { 13 } else { 512 };
            for backend in BACKENDS {
                let (t, values) = packed(backend, source, [n, k], &mut noise);
                let got = unpack(source.packed(), &t, n as usize, k as usize);
                let exact = if source == Source::Q4K { 1e-9 } else { 0.0 };
                assert_close(&format!("{} {backend:?}", source.name()), &got, &values, exact);
            }
        }
    }
}

/// Values of packed buffers by the table of the format module.
fn unpack(p: Packed, t: &Tensors, n: usize, k: usize) -> Vec<f64> {
    let codes = t["codes"].values();
    let width = codes.len() / t["codes"].dims[0] as usize;
    let factors = ["scales", "mins", "supers"].map(|name| t.get(name).map(Tensor::values));
    let get = |name: &str, panel: usize, row: usize, j: usize| {
        let v = match name {
            "scales" => &factors[0],
            "mins" => &factors[1],
            _ => &factors[2],
        };
        let v = v.as_ref().unwrap();
        v[panel * (v.len() / t[name].dims[0] as usize) + row * 16 + j]
    };
    let mut out = Vec::new();
    for col in 0..n {
        let (panel, j) = (col / 16, col % 16);
        for i in 0..k {
            let code = match p {
                Packed::F32 | Packed::F16 | Packed::F8E4M3 => codes[panel * width + i * 16 + j],
                Packed::BF16 => codes[panel * width + i / 2 * 32 + j * 2 + i % 2],
                Packed::I8 | Packed::Q8_0 | Packed::Q6K => {
                    codes[panel * width + i / 4 * 64 + j * 4 + i % 4]
                }
                Packed::Q4_0 | Packed::Q4_1 | Packed::Q4K => {
                    let byte = codes[panel * width + i / 8 * 64 + j * 4 + i % 4] as i64 as u8;
                    f64::from(if i % 8 < 4 { byte & 15 } else { byte >> 4 })
                }
            };
            out.push(match p {
                Packed::F32 | Packed::F16 | Packed::BF16 | Packed::F8E4M3 | Packed::I8 => code,
                Packed::Q8_0 => code * get("scales", panel, i / 32, j),
                Packed::Q4_0 => (code - 8.0) * get("scales", panel, i / 32, j),
                Packed::Q4_1 => {
                    code * get("scales", panel, i / 32, j) + get("mins", panel, i / 32, j)
                }
                Packed::Q4K => {
                    get("supers", panel, i / 256 * 2, j) * get("scales", panel, i / 32, j) * code
                        - get("supers", panel, i / 256 * 2 + 1, j) * get("mins", panel, i / 32, j)
                }
                Packed::Q6K => {
                    code * get("scales", panel, i / 16, j) * get("supers", panel, i / 256, j)
                }
            });
        }
    }
    out
}

#[test]
fn float_weights() {
    for (source, d) in
        [(Source::F32, DType::F32), (Source::F16, DType::F16), (Source::BF16, DType::BF16)]
    {
        for [m, n, k] in [[1, 17, 33], [4, 16, 8], [5, 33, 7], [7, 1, 1], [13, 48, 100]] {
            check(source, d, d, [m, n, k], [false, false]);
        }
        check(source, DType::F32, DType::F32, [3, 20, 19], [true, true]);
    }
    check(Source::F8E4M3, DType::BF16, DType::BF16, [6, 18, 40], [false, true]);
    check(Source::BF16, DType::BF16, DType::F32, [6, 18, 40], [true, false]);
}

#[test]
fn empty_and_long_calls() {
    for [m, n, k] in [[0, 16, 8], [3, 0, 8], [3, 17, 0], [97, 16, 9], [96, 1, 9]] {
        check(Source::F32, DType::F32, DType::F32, [m, n, k], [false, true]);
    }
}

#[test]
fn quantised_weights() {
    for source in [Source::Q4_0, Source::Q4_1, Source::Q5_0, Source::Q8_0] {
        for [m, n, k] in [[1, 17, 32], [2, 16, 96], [3, 33, 64], [7, 5, 32]] {
            check(source, DType::I8, DType::F32, [m, n, k], [false, false]);
            check(source, DType::F32, DType::F32, [m, n, k], [false, true]);
        }
    }
    for source in [Source::Q4K, Source::Q6K] {
        for [m, n, k] in [[1, 17, 256], [4, 20, 512]] {
            check(source, DType::I8, DType::F32, [m, n, k], [true, false]);
            check(source, DType::F32, DType::F32, [m, n, k], [false, false]);
        }
    }
    for d in FLOATS {
        check(Source::Q4_1, DType::I8, d, [3, 18, 64], [true, true]);
        check(Source::Q8_0, d, d, [3, 18, 64], [false, false]);
    }
}

#[test]
fn int8_by_token_and_channel() {
    for [m, n, k] in [[1, 17, 33], [5, 16, 64], [7, 40, 7], [2, 3, 131]] {
        check(Source::I8, DType::I8, DType::F32, [m, n, k], [true, false]);
    }
}

#[test]
fn plain_operands() {
    for d in FLOATS {
        for [m, n, k] in [[1, 7, 5], [9, 18, 20], [2, 16, 0]] {
            let mut noise = Noise(3);
            let mut t = Tensors::new();
            t.insert("a", Tensor::new(d, &[m, k], &noise.floats(m * k)).spread(&[k + 2, 1], 0));
            t.insert("b", Tensor::new(d, &[n, k], &noise.floats(n * k)).spread(&[k + 7, 1], 0));
            t.insert("c", Tensor::poison(d, &[m, n]));
            let dims = [m, n, k].map(|x| x as usize);
            let want = reference::gemm(dims, &t["a"].values(), &t["b"].values(), &[], &[]);
            for backend in BACKENDS {
                for (id, out) in Case::new("gemm.plain").run_all(backend, &t) {
                    assert_close(&id, &out["c"].values(), &want, bound(d, k));
                }
            }
        }
    }
}
