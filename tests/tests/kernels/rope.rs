//! Rotary embedding: tables of every scaling rule, both styles, strided heads, in place.

use super::harness::{BACKENDS, Case, Noise, Tensor, Tensors, assert_close, bound};
use tilewright_abi::DType;
use tilewright_kernels::rope::reference::{Scaling, frequency, rotate};

fn table(case: &Case, positions: i64, dim: i64, factors: Option<&Tensor>) -> Vec<Tensor> {
    let mut tensors = Tensors::from([("cos_sin", Tensor::poison(DType::F32, &[positions, dim]))]);
    if let Some(f) = factors {
        tensors.insert("freq_factors", f.clone());
    }
    BACKENDS.map(|b| case.run(b, &tensors)["cos_sin"].clone()).to_vec()
}

fn check(case: Case, theta: f64, dim: usize, scaling: Scaling<'_>, factors: Option<&Tensor>) {
    let positions = 40i64;
    let case = case.scalar("theta", theta);
    for got in table(&case, positions, dim as i64, factors) {
        let mut want = Vec::new();
        for p in 0..positions {
            let angle = |i: usize| p as f64 * frequency(theta, dim, i, scaling);
            want.extend((0..dim / 2).map(|i| angle(i).cos()));
            want.extend((0..dim / 2).map(|i| angle(i).sin()));
        }
        for (i, (g, w)) in got.values().iter().zip(&want).enumerate() {
            assert!((g - w).abs() < 1e-6, "{scaling:?}: {i}: {g} for {w}");
        }
    }
}

#[test]
fn tables_of_every_rule() {
    let case = || Case::new("rope.table");
    for dim in [2, 16, 64, 66, 128] {
        check(case(), 10000.0, dim, Scaling::None, None);
        check(case(), 100_000.0, dim, Scaling::None, None);
    }
    let linear = case().attr("scaling", "linear").scalar("factor", 4.0);
    check(linear, 10000.0, 64, Scaling::Linear { factor: 4.0 }, None);
    let llama3 = case()
        .attr("scaling", "llama3")
        .scalar("factor", 8.0)
        .scalar("low_freq_factor", 1.0)
        .scalar("high_freq_factor", 4.0)
        .scalar("original_max_position", 8192.0);
    let rule = Scaling::Llama3 {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original: 8192.0,
    };
    check(llama3, 500_000.0, 128, rule, None);
    let yarn = case()
        .attr("scaling", "yarn")
        .scalar("factor", 16.0)
        .scalar("original_max_position", 4096.0);
    let rule = Scaling::Yarn { factor: 16.0, beta_fast: 32.0, beta_slow: 1.0, original: 4096.0 };
    check(yarn, 10000.0, 128, rule, None);
    let f: Vec<f32> = (0..32).map(|i| 1.0 + i as f32 * 0.25).collect();
    let factors = Tensor::f32(&[32], &f);
    let divisors = case().attr("scaling", "divisors");
    check(divisors, 10000.0, 64, Scaling::Divisors(&f), Some(&factors));
}

#[test]
fn far_positions_are_as_exact_as_near_ones() {
    // Only the last rows are compared; the angle reaches 1e5 radians.
    let case = Case::new("rope.table").scalar("theta", 10000.0);
    let out = Tensor::poison(DType::F32, &[100_001, 4]);
    let got = case.run(BACKENDS[1], &Tensors::from([("cos_sin", out)]))["cos_sin"].values();
    for p in [99_999usize, 100_000] {
        let f = [1.0, 0.01];
        for i in 0..2 {
            let angle = p as f64 * f[i];
            assert!((got[p * 4 + i] - angle.cos()).abs() < 1e-6, "{p} {i}");
            assert!((got[p * 4 + 2 + i] - angle.sin()).abs() < 1e-6, "{p} {i}");
        }
    }
}

#[test]
fn both_styles_in_and_out_of_place() {
    let mut noise = Noise(11);
    let (tokens, hq, hk) = (4i64, 3i64, 1i64);
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        for (dim, rot) in [(64, 64), (80, 80), (64, 32), (24, 10)] {
            let table = noise.tensor(DType::F32, &[50, rot]);
            let q = noise.tensor(dtype, &[tokens, hq, dim]);
            let k = noise.tensor(dtype, &[tokens, hk, dim]);
            let positions = [0, 49, 7, 7];
            for style in ["half", "interleaved"] {
                let turned = |x: &Tensor, heads: i64| {
                    let (mut x, cs) = (x.values(), table.values());
                    let n = (rot / 2) as usize;
                    for (i, head) in x.chunks_mut(dim as usize).enumerate() {
                        let p = positions[i / heads as usize] as usize * rot as usize;
                        let (cos, sin) = (&cs[p..p + n], &cs[p + n..p + 2 * n]);
                        rotate(&mut head[..rot as usize], cos, sin, style == "half");
                    }
                    x
                };
                let (want_q, want_k) = (turned(&q, hq), turned(&k, hk));
                // q and k are parts of one fused projection.
                let stride = (hq + 2 * hk) * dim;
                let tensors = Tensors::from([
                    ("positions", Tensor::i32(&positions)),
                    ("cos_sin", table.clone()),
                    ("q", q.spread(&[stride, dim, 1], 0)),
                    ("k", k.spread(&[stride, dim, 1], 5)),
                    ("q_out", Tensor::poison(dtype, &[tokens, hq, dim])),
                    ("k_out", Tensor::poison(dtype, &[tokens, hk, dim])),
                ]);
                Case::new("rope.apply").attr("style", style).check(&tensors, |b, t| {
                    let what = format!("{b:?} {dtype} {dim} {rot} {style}");
                    assert_close(&what, &t["q_out"].values(), &want_q, bound(dtype, 2));
                    assert_close(&what, &t["k_out"].values(), &want_k, bound(dtype, 2));
                });
            }
        }
    }
}
