//! Mixture-of-experts ops against their references, on the interpreter.

use crate::harness::{BACKENDS, Case, Noise, Tensor, Tensors, assert_close};
use tilewright_abi::DType;
use tilewright_kernels::moe::{reference, spec::BLOCK_M};

fn check_route(logits: &[f64], e: i64, top_k: i64, sigmoid: bool, renormalize: bool, bias: bool) {
    let m = logits.len() as i64 / e;
    let mut t = Tensors::new();
    t.insert("logits", Tensor::new(DType::F32, &[m, e], logits));
    t.insert("topk_weights", Tensor::poison(DType::F32, &[m, top_k]));
    t.insert("topk_ids", Tensor::poison(DType::I32, &[m, top_k]));
    t.insert("status", Tensor::poison(DType::I32, &[m]));
    let b: Vec<f32> = Noise(5).floats(e).iter().map(|&x| x as f32).collect();
    if bias {
        let values: Vec<f64> = b.iter().map(|&x| x.into()).collect();
        t.insert("bias", Tensor::new(DType::F32, &[e], &values));
    }
    let case = Case::new("moe.route")
        .attr("score", if sigmoid { "sigmoid" } else { "softmax" })
        .attr("renormalize", if renormalize { "yes" } else { "no" })
        .scalar("scale", 2.5);
    let runs = BACKENDS.into_iter().flat_map(|backend| case.run_all(backend, &t));
    for (id, out) in runs {
        let (ids, weights) = (out["topk_ids"].values(), out["topk_weights"].values());
        for i in 0..m as usize {
            let row: Vec<f32> =
                logits[i * e as usize..(i + 1) * e as usize].iter().map(|&x| x as f32).collect();
            let bias = bias.then_some(&b[..]);
            let k = top_k as usize;
            let (want, w, valid) = reference::route(&row, bias, k, !sigmoid, renormalize, 2.5);
            let got: Vec<usize> = ids[i * k..(i + 1) * k].iter().map(|&x| x as usize).collect();
            assert_eq!(got, want, "{id} token {i}");
            assert_close(&id, &weights[i * k..(i + 1) * k], &w, 1e-5);
            assert_eq!(out["status"].values()[i] == 0.0, valid, "{id} token {i}");
        }
    }
}

#[test]
fn router() {
    let mut noise = Noise(11);
    for e in [1i64, 3, 8, 40, 160] {
        let logits: Vec<f64> =
            noise.floats(3 * e).iter().map(|x| f64::from((x * 4.0) as f32)).collect();
        for top_k in [1, 8.min(e), e] {
            for (sigmoid, renormalize) in [(false, false), (false, true), (true, true)] {
                check_route(&logits, e, top_k, sigmoid, renormalize, false);
            }
        }
        check_route(&logits, e, 1.max(e / 2), true, false, true);
    }
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    check_route(&[nan, nan, nan, nan, 1.0, nan, 2.0, 2.0], 4, 3, false, true, false);
    check_route(&[-inf, -inf, 0.0, -0.0, 5.0, 5.0, 5.0, 5.0], 4, 2, false, false, false);
}

fn check_align(ids: &[i32], top_k: i64, e: i64, block_m: i64, spare: i64) {
    let m = ids.len() as i64 / top_k;
    let num_blocks = (ids.len() as i64 + e * (block_m - 1) + block_m - 1) / block_m + spare;
    let mut t = Tensors::new();
    let values: Vec<f64> = ids.iter().map(|&x| x.into()).collect();
    t.insert("topk_ids", Tensor::new(DType::I32, &[m, top_k], &values));
    t.insert("slots", Tensor::poison(DType::I32, &[num_blocks * block_m]));
    t.insert("experts", Tensor::poison(DType::I32, &[num_blocks]));
    t.insert("expert_offsets", Tensor::poison(DType::I32, &[e + 1]));
    let (slots, experts, offsets) =
        reference::align(ids, e as usize, block_m as usize, num_blocks as usize);
    let ints = |v: &[i32]| -> Vec<f64> { v.iter().map(|&x| x.into()).collect() };
    let case = Case::new("moe.align").axis("block_m", block_m).axis("num_experts", e);
    for (id, out) in BACKENDS.into_iter().flat_map(|backend| case.run_all(backend, &t)) {
        assert_eq!(out["slots"].values(), ints(&slots), "{id}");
        assert_eq!(out["experts"].values(), ints(&experts), "{id}");
        assert_eq!(out["expert_offsets"].values(), ints(&offsets), "{id}");
    }
}

#[test]
fn alignment() {
    check_align(&[1, 3, 3, 1, 3, 1, 3, 0], 2, 4, 4, 0);
    check_align(&[2, 2, 2, 2, 2], 1, 3, 2, 3);
    check_align(&[], 2, 3, 4, 0);
    check_align(&[0, -1, 7, 1], 1, 2, 1, 0);
    let mut noise = Noise(2);
    let ids: Vec<i32> = (0..60).map(|_| (noise.bits() % 384) as i32).collect();
    check_align(&ids, 6, 384, 4, 0);
}

#[test]
fn routed_products() {
    let mut noise = Noise(9);
    // Four experts, the second without tokens, of 20 x 24 weights; a slot list with padding.
    let (m, top_k, e, n, k) = (5i64, 2i64, 4i64, 20i64, 24i64);
    let ids: Vec<i32> = (0..m * top_k).map(|i| [0, 2, 3, 2, 0, 3][i as usize % 6]).collect();
    let num_blocks = 8;
    let (slots, experts, _) = reference::align(&ids, e as usize, BLOCK_M, num_blocks);
    let ints = |v: &[i32]| -> Vec<f64> { v.iter().map(|&x| x.into()).collect() };
    let w = Tensor::new(DType::F32, &[e, n, k], &noise.floats(e * n * k)).values();
    let np = 2i64;
    let mut codes = vec![0.0; (e * np * k * 16) as usize];
    for x in 0..e as usize {
        for col in 0..n as usize {
            for i in 0..k as usize {
                let panel = x * np as usize + col / 16;
                codes[(panel * k as usize + i) * 16 + col % 16] =
                    w[(x * n as usize + col) * k as usize + i];
            }
        }
    }
    let mut t = Tensors::new();
    t.insert("a", Tensor::new(DType::F32, &[m, k], &noise.floats(m * k)));
    t.insert("b", Tensor::new(DType::F32, &[e * np, k * 16], &codes));
    t.insert(
        "slots",
        Tensor::new(DType::I32, &[num_blocks as i64 * BLOCK_M as i64], &ints(&slots)),
    );
    t.insert("experts", Tensor::new(DType::I32, &[num_blocks as i64], &ints(&experts)));
    t.insert("c", Tensor::poison(DType::F32, &[m * top_k, n]));
    let a = t["a"].values();
    let mut want = Vec::new();
    for (slot, &id) in ids.iter().enumerate() {
        for col in 0..n as usize {
            let dot = (0..k as usize).map(|i| {
                a[slot / top_k as usize * k as usize + i]
                    * w[(id as usize * n as usize + col) * k as usize + i]
            });
            want.push(dot.sum());
        }
    }
    let case = Case::new("moe.gemm_f32").axis("num_experts", e).axis("slots_per_row", top_k);
    for (id, out) in BACKENDS.into_iter().flat_map(|backend| case.run_all(backend, &t)) {
        assert_close(&id, &out["c"].values(), &want, 1e-6);
        check_combine(&out["c"], m, n, top_k);
    }
}

fn check_combine(c: &Tensor, m: i64, n: i64, top_k: i64) {
    let mut t = Tensors::new();
    t.insert("c", c.clone());
    t.insert("topk_weights", Tensor::new(DType::F32, &[m, top_k], &Noise(4).floats(m * top_k)));
    t.insert("out", Tensor::poison(DType::F32, &[m, n]));
    let weights = t["topk_weights"].values();
    let want = reference::combine(&c.values(), &weights, n as usize, top_k as usize);
    for backend in BACKENDS {
        let (id, out) = Case::new("moe.combine").run_all(backend, &t).remove(0);
        assert_close(&id, &out["out"].values(), &want, 1e-6);
    }
}
