//! Softmax and log-softmax: A1, S23, lengths around the block.

use super::harness::{Case, Noise, Tensor, Tensors, assert_close, bound};
use tilewright_abi::DType;
use tilewright_kernels::softmax::reference;

const INF: f64 = f64::INFINITY;

#[test]
fn rows_of_every_length() {
    let mut noise = Noise(41);
    for (xd, od) in [
        (DType::F32, DType::F32),
        (DType::BF16, DType::F32),
        (DType::F16, DType::F16),
        (DType::BF16, DType::BF16),
    ] {
        for n in [1i64, 31, 32, 33, 64, 100, 1000] {
            let values: Vec<f64> = (0..3 * n).map(|_| noise.normal() * 3.0).collect();
            let x = Tensor::new(xd, &[3, n], &values);
            let want: Vec<f64> =
                x.values().chunks(n as usize).flat_map(|r| reference::softmax(r).0).collect();
            let out = Tensor::poison(od, &[3, n]);
            let tensors = Tensors::from([("x", x), ("out", out)]);
            Case::new("softmax.softmax").check(&tensors, |b, t| {
                let what = format!("{b:?} {xd} {od} {n}");
                assert_close(&what, &t["out"].values(), &want, bound(od, n as usize));
            });
        }
    }
}

#[test]
fn masked_and_invalid_rows() {
    let n = 40usize;
    let mut rows = vec![-INF; 4 * n];
    rows[n + 39] = -60000.0;
    rows[2 * n] = f64::NAN;
    rows[3 * n..].iter_mut().enumerate().for_each(|(i, v)| *v = i as f64);
    let x = Tensor::new(DType::F32, &[4, n as i64], &rows);
    let out = Tensor::poison(DType::F32, &[4, n as i64]);
    let tensors = Tensors::from([("x", x.clone()), ("out", out.clone())]);
    Case::new("softmax.softmax").check(&tensors, |b, t| {
        let got = t["out"].values();
        assert!(got[..n].iter().all(|&v| v == 0.0), "{b:?}");
        assert_eq!((got[n + 39], got[n]), (1.0, 0.0));
        assert!(got[2 * n..3 * n].iter().all(|v| v.is_nan()));
        assert_close("last", &got[3 * n..], &reference::softmax(&rows[3 * n..]).0, 1e-6);
    });
    let lse = Tensor::poison(DType::F32, &[4]);
    let tensors = Tensors::from([("x", x), ("out", out), ("lse", lse)]);
    Case::new("softmax.log_softmax").check(&tensors, |b, t| {
        let (got, lse) = (t["out"].values(), t["lse"].values());
        assert!(got[..n].iter().all(|&v| v == -INF), "{b:?}");
        assert_eq!((lse[0], lse[1], got[n + 39], got[n]), (-INF, -60000.0, 0.0, -INF));
        assert!(lse[2].is_nan());
        assert_close("last", &got[3 * n..], &reference::log_softmax(&rows[3 * n..]).0, 1e-6);
    });
}

#[test]
fn cross_entropy_of_a_certain_token() {
    let n = 100_000usize;
    let mut row = vec![-INF; n];
    row[50_000] = 10.0;
    let tensors = Tensors::from([
        ("x", Tensor::new(DType::F32, &[1, n as i64], &row)),
        ("out", Tensor::poison(DType::F32, &[1, n as i64])),
        ("lse", Tensor::poison(DType::F32, &[1])),
    ]);
    Case::new("softmax.log_softmax").check(&tensors, |_, t| {
        assert_eq!((t["out"].values()[50_000], t["lse"].values()[0]), (0.0, 10.0));
    });
}
