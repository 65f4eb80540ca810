//! Norms: G15, G16, G17, G9, D1, D3 and lengths around the block.

use super::harness::{BACKENDS, Backend, Case, Noise, Tensor, Tensors, assert_close, bound, round};
use tilewright_abi::DType;
use tilewright_kernels::norm::reference;

const EPS: f32 = 1e-5;

fn rms_case() -> Case {
    Case::new("norm.rmsnorm").scalar("eps", f64::from(EPS))
}

fn want_rms(x: &Tensor, w: &Tensor) -> Vec<f64> {
    let n = *x.dims.last().unwrap() as usize;
    let w = w.floats();
    x.floats().chunks(n).flat_map(|row| reference::rmsnorm(row, &w, EPS)).collect()
}

#[test]
fn rmsnorm_of_every_dtype_and_length() {
    let mut noise = Noise(1);
    for (xd, wd) in tilewright_kernels::norm::space::DTYPES {
        for n in [1, 2, 31, 63, 64, 65, 127, 128, 129, 576, 1000] {
            let x = noise.tensor(xd, &[3, n]);
            let w = noise.tensor(wd, &[n]);
            let want = want_rms(&x, &w);
            let out = Tensor::poison(xd, &[3, n]);
            let tensors = Tensors::from([("x", x), ("weight", w), ("out", out)]);
            rms_case().check(&tensors, |backend, t| {
                let what = format!("{backend:?} {xd} {wd} {n}");
                assert_close(&what, &t["out"].values(), &want, bound(xd, n as usize));
            });
        }
    }
}

#[test]
fn weight_offset_is_added() {
    let mut noise = Noise(2);
    let (x, w) = (noise.tensor(DType::F32, &[2, 70]), noise.tensor(DType::F32, &[70]));
    let plus: Vec<f32> = w.floats().iter().map(|v| v + 1.0).collect();
    let want = want_rms(&x, &Tensor::f32(&[70], &plus));
    let out = Tensor::poison(DType::F32, &[2, 70]);
    let tensors = Tensors::from([("x", x), ("weight", w), ("out", out)]);
    rms_case().scalar("weight_offset", 1.0).check(&tensors, |_, t| {
        assert_close("offset", &t["out"].values(), &want, 1e-6);
    });
}

#[test]
fn extreme_rows_stay_to_themselves() {
    let n = 100usize;
    let mut rows = vec![0.5f32; 5 * n];
    rows[..n].fill(0.0);
    rows[n..2 * n].fill(1e-30);
    rows[2 * n..3 * n].fill(3e38);
    rows[2 * n + 7] = -3e38;
    rows[3 * n + 40] = f32::NAN;
    let x = Tensor::f32(&[5, n as i64], &rows);
    let w = Tensor::f32(&[n as i64], &vec![2.0; n]);
    let want = want_rms(&x, &w);
    let out = Tensor::poison(DType::F32, &[5, n as i64]);
    let tensors = Tensors::from([("x", x), ("weight", w), ("out", out)]);
    rms_case().check(&tensors, |backend, t| {
        let got = t["out"].values();
        assert!(got[..n].iter().all(|&v| v == 0.0), "{backend:?}");
        assert!(got[n..3 * n].iter().all(|v| v.is_finite()));
        assert_close("tiny", &got[n..2 * n], &want[n..2 * n], 1e-6);
        assert_close("huge", &got[2 * n..3 * n], &want[2 * n..3 * n], 1e-6);
        assert!(got[3 * n..4 * n].iter().all(|v| v.is_nan()));
        assert_close("last", &got[4 * n..], &want[4 * n..], 1e-6);
    });
}

#[test]
fn strided_rows_equal_contiguous_ones() {
    let mut noise = Noise(3);
    for dtype in [DType::F32, DType::BF16] {
        let (x, w) = (noise.tensor(dtype, &[4, 65]), noise.tensor(dtype, &[65]));
        let out = Tensor::poison(dtype, &[4, 65]);
        let plain = Tensors::from([("x", x.clone()), ("weight", w), ("out", out.clone())]);
        let mut wide = plain.clone();
        wide.insert("x", x.spread(&[131, 1], 3));
        wide.insert("out", out.spread(&[77, 1], 1));
        for backend in BACKENDS {
            let (a, b) = (rms_case().run(backend, &plain), rms_case().run(backend, &wide));
            assert_eq!(a["out"].values(), b["out"].values());
            let poison = b["out"].bytes.iter().filter(|&&v| v == 0xff).count();
            assert!(poison >= (3 * 12 + 1) * dtype.bytes_for(1), "gaps are written");
        }
    }
}

#[test]
fn a_row_does_not_depend_on_its_batch() {
    let mut noise = Noise(4);
    let (x, w) = (noise.tensor(DType::F32, &[257, 96]), noise.tensor(DType::F32, &[96]));
    let run = |rows: i64| {
        let x = Tensor { dims: vec![rows, 96], ..x.clone() };
        let x = Tensor::new(DType::F32, &[rows, 96], &x.values());
        let out = Tensor::poison(DType::F32, &[rows, 96]);
        let tensors = Tensors::from([("x", x), ("weight", w.clone()), ("out", out)]);
        rms_case().run(Backend::Compiled, &tensors)["out"].bytes.clone()
    };
    let all = run(257);
    for rows in [1, 2, 7, 8, 44, 45, 64, 255, 256] {
        assert_eq!(run(rows), all[..rows as usize * 96 * 4], "{rows} rows");
    }
    assert!(run(0).is_empty());
}

#[test]
fn fused_addition_rounds_first() {
    let mut noise = Noise(5);
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        for n in [64, 200] {
            let ones = Tensor::new(dtype, &[1, n], &vec![1.0; n as usize]);
            let small = Tensor::new(dtype, &[1, n], &vec![2f64.powi(-9); n as usize]);
            let random = (noise.tensor(dtype, &[1, n]), noise.tensor(dtype, &[1, n]));
            let w = noise.tensor(dtype, &[n]);
            for (x, r) in [(ones, small), random] {
                let (a, b) = (x.values(), r.values());
                let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| round(dtype, a + b)).collect();
                let sum = Tensor::new(dtype, &[1, n], &sum);
                let out = Tensor::poison(dtype, &[1, n]);
                let fused = Tensors::from([
                    ("x", x),
                    ("residual", r),
                    ("weight", w.clone()),
                    ("out", out.clone()),
                ]);
                let parts =
                    Tensors::from([("x", sum.clone()), ("weight", w.clone()), ("out", out)]);
                let case = Case::new("norm.add_rmsnorm").scalar("eps", f64::from(EPS));
                for backend in BACKENDS {
                    let a = case.run(backend, &fused);
                    let b = rms_case().run(backend, &parts);
                    assert_eq!(a["residual"].bytes, sum.bytes, "{backend:?} {dtype}");
                    assert_eq!(a["out"].bytes, b["out"].bytes, "{backend:?} {dtype}");
                }
            }
        }
    }
}

#[test]
fn layernorm_is_about_the_mean() {
    let mut noise = Noise(6);
    for dtype in [DType::F32, DType::BF16] {
        for n in [1, 5, 64, 65, 300] {
            let mut x = noise.tensor(dtype, &[2, n]);
            let shifted: Vec<f64> = x.values().iter().map(|v| v + 100.0).collect();
            x = Tensor::new(dtype, &[2, n], &shifted);
            let (w, b) = (noise.tensor(dtype, &[n]), noise.tensor(dtype, &[n]));
            let (wf, bf) = (w.floats(), b.floats());
            let rows = x.floats();
            let rows = rows.chunks(n as usize);
            let want: Vec<f64> =
                rows.flat_map(|r| reference::layernorm(r, &wf, &bf, EPS)).collect();
            let out = Tensor::poison(dtype, &[2, n]);
            let tensors = Tensors::from([("x", x), ("weight", w), ("bias", b), ("out", out)]);
            let case = Case::new("norm.layernorm").scalar("eps", f64::from(EPS));
            case.check(&tensors, |backend, t| {
                let what = format!("{backend:?} {dtype} {n}");
                // The mean of values near 100 keeps 2^-17 of them.
                let bound = bound(dtype, n as usize).max(1e-4);
                assert_close(&what, &t["out"].values(), &want, bound);
            });
        }
    }
}

#[test]
fn heads_of_a_fused_projection() {
    let mut noise = Noise(7);
    let (tokens, heads, dim) = (3i64, 5i64, 80i64);
    for dtype in [DType::F32, DType::BF16] {
        let x = noise.tensor(dtype, &[tokens, heads, dim]);
        let w = noise.tensor(dtype, &[dim]);
        let want = want_rms(&x, &w);
        let qkv = x.spread(&[heads * dim + 100, dim, 1], 0);
        let out = Tensor::poison(dtype, &[tokens, heads, dim]);
        let tensors = Tensors::from([("x", qkv), ("weight", w), ("out", out)]);
        Case::new("norm.qk_norm").scalar("eps", f64::from(EPS)).check(&tensors, |_, t| {
            assert_close("heads", &t["out"].values(), &want, bound(dtype, 80));
        });
    }
}
