
use super::harness::*;
use tilewright_abi::DType;
fn on() { PERF.store(true, std::sync::atomic::Ordering::Relaxed); }
fn decode(layout: &str, q: DType, kv: DType, hq: i64, hk: i64, d: i64, len: i64) {
    on();
    let mut noise = Noise(1);
    let page = 64i64;
    let pages = (len + page - 1) / page;
    let mut t = Tensors::new();
    t.insert("q", noise.tensor(q, &[1, hq, d]));
    if layout == "t" { t.insert("kt_cache", noise.tensor(kv, &[pages, hk, d, page])); }
    else { t.insert("k_cache", noise.tensor(kv, &[pages, page, hk, d])); }
    t.insert("v_cache", noise.tensor(kv, &[pages, page, hk, d]));
    t.insert("kv_indptr", Tensor::i32(&[0, pages as i32]));
    t.insert("kv_indices", Tensor::i32(&(0..pages as i32).collect::<Vec<_>>()));
    t.insert("kv_last_page_len", Tensor::i32(&[(len - (pages - 1) * page) as i32]));
    t.insert("out", Tensor::poison(q, &[1, hq, d]));
    t.insert("lse", Tensor::poison(DType::F32, &[1, hq]));
    let fl = 4.0 * (hq * d * len) as f64;
    let by = (2 * hk * d * len) as f64 * kv.bytes_for(1) as f64;
    println!("decode {layout} {q} {kv} {hq}/{hk} d{d} len {len}: {fl} flop {by} bytes");
    Case::new("attention.decode").axis("max_kv_len", len).scalar("sm_scale", 0.125).run(Backend::Compiled, &t);
}
fn prefill(layout: &str, q: DType, kv: DType, hq: i64, hk: i64, d: i64, len: i64) {
    on();
    let mut noise = Noise(1);
    let page = 64i64;
    let pages = (len + page - 1) / page;
    let mut t = Tensors::new();
    t.insert("q", noise.tensor(q, &[len, hq, d]));
    if layout == "t" { t.insert("kt_cache", noise.tensor(kv, &[pages, hk, d, page])); }
    else { t.insert("k_cache", noise.tensor(kv, &[pages, page, hk, d])); }
    t.insert("v_cache", noise.tensor(kv, &[pages, page, hk, d]));
    t.insert("qo_indptr", Tensor::i32(&[0, len as i32]));
    t.insert("kv_indptr", Tensor::i32(&[0, pages as i32]));
    t.insert("kv_indices", Tensor::i32(&(0..pages as i32).collect::<Vec<_>>()));
    t.insert("kv_last_page_len", Tensor::i32(&[(len - (pages - 1) * page) as i32]));
    t.insert("out", Tensor::poison(q, &[len, hq, d]));
    t.insert("lse", Tensor::poison(DType::F32, &[len, hq]));
    let fl = 2.0 * (hq * d * len * len) as f64;
    println!("prefill {layout} {q} {kv} {hq}/{hk} d{d} len {len}: {fl} flop");
    Case::new("attention.prefill").axis("max_q_len", len).scalar("sm_scale", 0.125).run(Backend::Compiled, &t);
}
#[test]
fn perf_attention() {
    for l in ["t", "n"] {
        decode(l, DType::F32, DType::F32, 9, 3, 64, 256);
        decode(l, DType::F32, DType::F16, 9, 3, 64, 1024);
        decode(l, DType::BF16, DType::BF16, 32, 8, 128, 1024);
        prefill(l, DType::F32, DType::F32, 9, 3, 64, 512);
        prefill(l, DType::BF16, DType::BF16, 32, 8, 128, 256);
    }
}
#[test]
fn perf_rows() {
    on();
    let mut noise = Noise(1);
    for n in [576i64, 4096] {
        let t = Tensors::from([("x", noise.tensor(DType::F32, &[16, n])), ("weight", noise.tensor(DType::F32, &[n])), ("out", Tensor::poison(DType::F32, &[16, n])), ("residual", noise.tensor(DType::F32, &[16, n]))]);
        Case::new("norm.add_rmsnorm").scalar("eps", 1e-5).run(Backend::Compiled, &t);
    }
    let t = Tensors::from([("x", noise.tensor(DType::F32, &[16, 3072])), ("out", Tensor::poison(DType::F32, &[16, 1536]))]);
    Case::new("activation.silu_and_mul").run(Backend::Compiled, &t);
    let t = Tensors::from([("x", noise.tensor(DType::F32, &[1, 49152])), ("out", Tensor::poison(DType::F32, &[1, 49152]))]);
    Case::new("softmax.softmax").run(Backend::Compiled, &t);
    let q = noise.tensor(DType::F32, &[16, 9, 64]);
    let k = noise.tensor(DType::F32, &[16, 3, 64]);
    let t = Tensors::from([("positions", Tensor::i32(&[1; 16])), ("cos_sin", noise.tensor(DType::F32, &[10, 64])), ("q", q.clone()), ("k", k.clone()), ("q_out", q), ("k_out", k)]);
    Case::new("rope.apply").attr("style", "interleaved").run(Backend::Compiled, &t);
    Case::new("rope.apply").attr("style", "half").run(Backend::Compiled, &t);
}
#[test]
fn perf_sampler() {
    on();
    let mut noise = Noise(1);
    for v in [49152i64, 262144] {
        let x: Vec<f64> = (0..v).map(|_| noise.normal() * 3.0).collect();
        for (k, p, m) in [(0, 1.0, 0.0), (50, 0.9, 0.0), (0, 0.95, 0.0), (5000, 1.0, 0.0), (0, 1.0, 0.05)] {
            println!("V {v} k {k} p {p} m {m}");
            let t = Tensors::from([("logits", Tensor::new(DType::F32, &[1, v], &x)), ("temperature", Tensor::f32(&[1], &[0.8])), ("top_k", Tensor::i32(&[k])), ("top_p", Tensor::f32(&[1], &[p])), ("min_p", Tensor::f32(&[1], &[m])), ("seed", Tensor::u64(&[1])), ("offset", Tensor::u64(&[1])), ("ids", Tensor::poison(DType::I32, &[1])), ("status", Tensor::poison(DType::I32, &[1]))]);
            Case::new("sampler.sample").run(Backend::Compiled, &t);
        }
    }
}
