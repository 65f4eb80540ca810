//! Quantisers and mixture-of-experts ops against their references, on the interpreter.

use crate::harness::{BACKENDS, Case, Noise, Tensor, Tensors, assert_close};
use tilewright_abi::DType;
use tilewright_kernels::gemm::reference::f8e4m3;
use tilewright_kernels::quant::reference::{f8_group, i8_group};

const FLOATS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// Rows with the values that quantisers have rules for.
fn rows(m: i64, k: i64) -> Vec<f64> {
    let mut x = Noise(m as u64 * 7 + k as u64).floats(m * k);
    let special = [f64::NAN, f64::INFINITY, 0.0, -0.0, 1e-45, f64::NEG_INFINITY, 6e4];
    for (i, v) in special.iter().enumerate() {
        let at = i * 37 + 3;
        if at < x.len() {
            x[at] = *v;
        }
    }
    if m > 2 {
        x[(2 * k) as usize..(3 * k) as usize].fill(0.0);
    }
    x
}

#[test]
fn quantisers() {
    for (op, group) in [("i8_group", 32), ("i8_token", 0), ("f8_group", 128), ("f8_token", 0)] {
        for x_dtype in FLOATS {
            for (m, k) in [(1, 32), (4, 130), (3, 7), (2, 257), (0, 5), (2, 0)] {
                check_quantiser(op, group, x_dtype, m, k);
            }
        }
    }
}

fn check_quantiser(suffix: &str, group: i64, x_dtype: DType, m: i64, k: i64) {
    let is_i8 = suffix.starts_with("i8");
    let q_dtype = if is_i8 { DType::I8 } else { DType::F8E4M3 };
    let x = Tensor::new(x_dtype, &[m, k], &rows(m, k));
    let groups = if group == 0 { 1 } else { (k + group - 1) / group };
    let scale_dims = if group == 0 { vec![m] } else { vec![m, groups] };
    let mut t = Tensors::new();
    t.insert("x", x.spread(&[k + 3, 1], 0));
    t.insert("q", Tensor::poison(q_dtype, &[m, k]));
    t.insert("scale", Tensor::poison(DType::F32, &scale_dims));
    if is_i8 {
        t.insert("sum", Tensor::poison(DType::F32, &scale_dims));
        t.insert("status", Tensor::poison(DType::I32, &[m]));
    }
    let case = Case::new(&format!("quant.{suffix}"));
    let values: Vec<f32> = x.values().iter().map(|&v| v as f32).collect();
    let (mut codes, mut scales, mut sums, mut status) = (vec![], vec![], vec![], vec![]);
    for i in 0..m as usize {
        let row = &values[i * k as usize..(i + 1) * k as usize];
        let len = if group == 0 { row.len().max(1) } else { group as usize };
        let mut bad = false;
        let parts: Vec<&[f32]> =
            if row.is_empty() && group == 0 { vec![row] } else { row.chunks(len).collect() };
        for part in parts {
            if is_i8 {
                let (q, scale, valid) = i8_group(part);
                let sum: i32 = q.iter().map(|&q| i32::from(q)).sum();
                sums.push(f64::from(scale * sum as f32));
                codes.extend(q.iter().map(|&q| f64::from(q)));
                scales.push(f64::from(scale));
                bad |= !valid;
            } else {
                let (q, scale) = f8_group(part);
                codes.extend(q.iter().map(|&q| f8e4m3(q)));
                scales.push(f64::from(scale));
            }
        }
        status.push(f64::from(u8::from(bad)));
    }
    for backend in BACKENDS {
        let out = case.run(backend, &t);
        let what = format!("{suffix} {backend:?} {x_dtype} m={m} k={k}");
        assert_close(&what, &out["q"].values(), &codes, 0.0);
        assert_close(&what, &out["scale"].values(), &scales, 0.0);
        if is_i8 {
            assert_close(&what, &out["sum"].values(), &sums, 1e-6);
            assert_eq!(out["status"].values(), status, "{what}");
        }
        check_dequantiser(suffix, &out, m, k, &scales);
    }
}

fn check_dequantiser(suffix: &str, quantised: &Tensors, m: i64, k: i64, scales: &[f64]) {
    let mut t = Tensors::new();
    t.insert("q", quantised["q"].clone());
    t.insert("scale", quantised["scale"].clone());
    t.insert("x", Tensor::poison(DType::F32, &[m, k]));
    let codes = quantised["q"].values();
    let per_row = if m == 0 { 1 } else { scales.len() / m as usize };
    let len = match suffix {
        "i8_group" => 32,
        "f8_group" => 128,
        _ => k as usize,
    };
    let value = |(at, q): (usize, &f64)| {
        let (i, j) = (at / k as usize, at % k as usize);
        f64::from((q * scales[i * per_row + j / len]) as f32)
    };
    let want: Vec<f64> = codes.iter().enumerate().map(value).collect();
    for backend in BACKENDS {
        let out = Case::new(&format!("quant.dequant_{suffix}")).run(backend, &t);
        assert_close(
            &format!("quant.dequant_{suffix} {backend:?}"),
            &out["x"].values(),
            &want,
            0.0,
        );
    }
}
