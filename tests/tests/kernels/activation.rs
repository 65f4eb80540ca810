//! Gated activations: G14 and lengths around the block and the span.

use super::harness::{Case, Noise, Tensor, Tensors, assert_close, bound};
use tilewright_abi::DType;
use tilewright_kernels::activation::reference as want;

type Gate = dyn Fn(f64, f64) -> f64;

fn check(case: &Case, dtype: DType, inter: i64, interleaved: bool, gate: &Gate) {
    let mut noise = Noise(21 + inter as u64);
    for tokens in [0, 1, 3] {
        let values: Vec<f64> = (0..tokens * 2 * inter).map(|_| noise.normal() * 4.0).collect();
        let x = Tensor::new(dtype, &[tokens, 2 * inter], &values);
        let n = inter as usize;
        let expected: Vec<f64> = x
            .values()
            .chunks(2 * n)
            .flat_map(|row| {
                let pick = |i: usize| match interleaved {
                    true => (row[2 * i], row[2 * i + 1]),
                    false => (row[i], row[n + i]),
                };
                (0..n).map(|i| gate(pick(i).0, pick(i).1)).collect::<Vec<f64>>()
            })
            .collect();
        let out = Tensor::poison(dtype, &[tokens, inter]);
        let tensors = Tensors::from([("x", x), ("out", out)]);
        case.check(&tensors, |b, t| {
            let what = format!("{case:?} {b:?} {dtype} {tokens} {inter}");
            assert_close(&what, &t["out"].values(), &expected, bound(dtype, 9));
        });
    }
}

#[test]
fn silu_of_every_length() {
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        for inter in [1, 8, 15, 16, 17, 511, 512, 513, 1536] {
            check(&Case::new("activation.silu_and_mul"), dtype, inter, false, &want::silu_and_mul);
        }
    }
    let silu = Case::new("activation.silu_and_mul");
    for inter in [8200, 16384] {
        check(&silu, DType::BF16, inter, false, &want::silu_and_mul);
    }
}

#[test]
fn other_gates() {
    let dtype = DType::F32;
    let gelu = Case::new("activation.gelu_and_mul");
    check(&gelu, dtype, 100, false, &want::gelu_and_mul);
    check(&gelu.attr("approximate", "tanh"), dtype, 100, false, &want::gelu_tanh_and_mul);
    let swiglu = Case::new("activation.swiglu");
    let oai = |g: f64, u: f64| want::swiglu(g, u, 1.702f32.into(), 1.0, 7.0);
    check(&swiglu, dtype, 100, false, &oai);
    check(&swiglu.attr("layout", "interleaved"), dtype, 100, true, &oai);
    let situ = Case::new("activation.situ_and_mul");
    check(&situ, dtype, 100, false, &|g, u| want::situ_and_mul(g, u, 4.0, 25.0));
    let unset = situ.scalar("linear_beta", 0.0);
    check(&unset, dtype, 100, false, &|g, u| want::situ_and_mul(g, u, 4.0, 0.0));
}
