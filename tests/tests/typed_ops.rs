//! The typed ops name what the kernels' specs name: each is planned and bound on the null device, over
//! a manifest of all kernels, staged but not compiled.

#[path = "../../runtime/tests/common/mod.rs"]
mod common;

use std::sync::{Arc, OnceLock};
use tilewright::abi::{
    ArtifactKind, KernelDesc, LaunchDesc, Manifest, ParamDesc, ParamKind, sha256_hex,
};
use tilewright::device::null::NullDevice;
use tilewright::device::{Device, DeviceInfo, cpu::CpuDevice};
use tilewright::ops::{Op, activation, attention, gemm, moe, norm, sampler};
use tilewright::{DType, Runtime, Tensor};
use tilewright_codegen::target;
use tilewright_ir as ir;

const BLOB: &[u8] = b"no code";

fn manifest() -> Manifest {
    let row = target::find("cpu/x86-64-v3").unwrap();
    let caps = row.caps();
    let mut m = Manifest::new(caps.id.clone(), "none");
    for entry in tilewright_kernels::registry() {
        for def in (entry.impls)(&caps) {
            m.impls.push(def.to_impl(&entry.spec.name));
            for l in &def.launches {
                if m.kernel(&l.kernel).is_some() {
                    continue;
                }
                let func = (l.stage)().unwrap();
                let params = func.params.iter().map(|p| ParamDesc {
                    name: p.name.clone(),
                    kind: match func.ty(p.value) {
                        ir::Type::View(v) => {
                            let (dtype, rank, mutable) = (v.elem, v.rank, v.mutable);
                            ParamKind::View { dtype, rank, mutable }
                        }
                        other => ParamKind::Scalar(other.elem()),
                    },
                });
                m.kernels.push(KernelDesc {
                    name: l.kernel.clone(),
                    symbol: func.name.clone(),
                    artifact: sha256_hex(BLOB),
                    kind: ArtifactKind::SharedObject,
                    params: params.collect(),
                    assumes: Vec::new(),
                    launch: LaunchDesc::default(),
                    source_hash: String::new(),
                    ir_hash: String::new(),
                    toolchain: "none".into(),
                });
            }
        }
        m.specs.push(entry.spec);
    }
    assert_eq!(m.check(), Vec::<String>::new());
    m
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let info = CpuDevice::new(&Default::default()).unwrap().info().clone();
        let null = NullDevice::new(DeviceInfo { host_memory: false, ..info });
        let pack = common::pack_of(&[manifest()], &[BLOB.to_vec()]);
        common::builder(1).device(Arc::new(null)).pack(pack).build().unwrap()
    })
}

fn t(dtype: DType, shape: &[usize]) -> Tensor {
    Tensor::zeros(runtime(), dtype, shape).unwrap()
}

fn f(shape: &[usize]) -> Tensor {
    t(DType::F32, shape)
}

fn i(shape: &[usize]) -> Tensor {
    t(DType::I32, shape)
}

fn binds(op: Op) {
    let call = op.call(runtime());
    assert!(call.is_ok(), "{}: {}", op.name(), call.err().unwrap());
}

#[test]
fn norms_and_activations() {
    let (x, w, out) = (f(&[3, 64]), f(&[64]), f(&[3, 64]));
    binds(norm::rmsnorm(&x, &w, 1e-6, &out));
    binds(norm::add_rmsnorm(&x, &f(&[3, 64]), &w, 1e-6, &out));
    binds(norm::layernorm(&x, &w, &w, 1e-6, &out));
    binds(norm::qk_norm(&f(&[3, 4, 64]), &w, 1e-6, &f(&[3, 4, 64])));
    let wide = f(&[3, 128]);
    binds(activation::silu_and_mul(&wide, &out));
    binds(activation::gelu_and_mul(&wide, activation::Gelu::Erf, &out));
    binds(activation::gelu_and_mul(&wide, activation::Gelu::Tanh, &out));
    binds(activation::embedding(&i(&[3]), &f(&[100, 64]), &out));
    let (q, k) = (f(&[3, 4, 64]), f(&[3, 2, 64]));
    let pair = activation::QueryKey { q: &q, k: &k };
    for style in [activation::RopeStyle::Half, activation::RopeStyle::Interleaved] {
        binds(activation::rope(&i(&[3]), &f(&[128, 64]), pair, style, pair));
    }
}

#[test]
fn products() {
    let (m, n, k) = (3, 32, 64);
    let (a, c, bias) = (f(&[m, k]), f(&[m, n]), f(&[n]));
    let epilogue = gemm::Epilogue { bias: Some(&bias), residual: Some(&c) };
    binds(gemm::gemm(&a, &f(&[n, k]), gemm::Epilogue::default(), &c));
    let codes = f(&[n / 16, k.div_ceil(8) * 128]);
    let w = gemm::Packed { form: "f32", codes: &codes, scales: None, mins: None, supers: None };
    binds(gemm::gemm_packed(gemm::Activations::Float(&a), w, epilogue, &c));
    let (codes, scales) = (t(DType::U8, &[n / 16, k * 8]), t(DType::F16, &[n / 16, k / 32 * 16]));
    let w = gemm::Packed {
        form: "q4_1",
        codes: &codes,
        scales: Some(&scales),
        mins: Some(&scales),
        supers: None,
    };
    let (q, scale, sum) = (t(DType::I8, &[m, k]), f(&[m, k / 32]), f(&[m, k / 32]));
    let int8 = gemm::Activations::Int8 { codes: &q, scale: &scale, sum: &sum };
    binds(gemm::gemm_packed(int8, w, gemm::Epilogue::default(), &c));
    binds(gemm::gemm_packed(gemm::Activations::Float(&a), w, epilogue, &c));
    binds(gemm::quantise_i8(&a, &q, &scale, &sum, &i(&[m])));
}

#[test]
fn attention_over_pages() {
    let (batch, heads, kv_heads, dim, page, pages) = (2, 4, 2, 64, 16, 8);
    let values = f(&[pages, page, kv_heads, dim]);
    let transposed = f(&[pages, kv_heads, dim, page]);
    let (indptr, indices, last) = (i(&[batch + 1]), i(&[pages]), i(&[batch]));
    let table = attention::PageTable { indptr: &indptr, indices: &indices, last_page_len: &last };
    let softmax = attention::Softmax::scaled(0.125);
    let (q, out, lse) = (f(&[batch, heads, dim]), f(&[batch, heads, dim]), f(&[batch, heads]));
    let output = attention::Output { out: &out, lse: &lse };
    let mut bound = 0;
    for keys in [attention::Keys::Rows(&values), attention::Keys::Transposed(&transposed)] {
        let kv = attention::KvCache { keys, values: &values };
        let ragged = attention::RaggedQueries { q: &q, indptr: &indptr, max_q_len: 1 };
        let slots = t(DType::I64, &[5]);
        let new = f(&[5, kv_heads, dim]);
        let ops = [
            attention::decode(&q, kv, table, 128, softmax, output),
            attention::prefill(ragged, kv, table, attention::Mask::Causal, softmax, output),
            attention::prefill(ragged, kv, table, attention::Mask::None, softmax, output),
            attention::kv_append(&new, &new, &slots, kv),
        ];
        for op in ops {
            // Not every op has kernels for both orders of keys.
            match op.call(runtime()) {
                Ok(_) => bound += 1,
                Err(e) => assert_eq!(e.kind(), tilewright::ErrorKind::Unsupported, "{e}"),
            }
        }
    }
    assert!(bound >= 4, "{bound}");
    let parts = f(&[3, 2, heads, dim]);
    let (out, lse) = (f(&[3, heads, dim]), f(&[3, heads]));
    let output = attention::Output { out: &out, lse: &lse };
    binds(attention::merge_states(&parts, &f(&[3, 2, heads]), None, output));
}

#[test]
fn samplers_and_experts() {
    let (batch, vocab) = (2, 1000);
    let (logits, ids, status) = (f(&[batch, vocab]), i(&[batch]), i(&[batch]));
    binds(sampler::argmax(&logits, &ids));
    let spec = runtime().spec("sampler.sample").unwrap();
    let of = |name: &str| t(spec.tensor(name).unwrap().dtypes[0], &[batch]);
    let (temperature, top_k, top_p) = (of("temperature"), of("top_k"), of("top_p"));
    let (min_p, seed, offset) = (of("min_p"), of("seed"), of("offset"));
    let s = sampler::Sampling {
        temperature: &temperature,
        top_k: &top_k,
        top_p: &top_p,
        min_p: &min_p,
    };
    let noise = sampler::Noise { seed: &seed, offset: &offset };
    binds(sampler::sample(&logits, s, noise, &ids, &status));
    let spec = runtime().spec("sampler.apply_bitmask").unwrap();
    let mask = t(spec.tensor("bitmask").unwrap().dtypes[0], &[batch, vocab.div_ceil(32)]);
    binds(sampler::apply_bitmask(&logits, &mask));
    let (weights, chosen, status) = (f(&[3, 2]), i(&[3, 2]), i(&[3]));
    let out = moe::Chosen { weights: &weights, ids: &chosen, status: &status };
    for renormalize in [moe::Renormalize::Yes, moe::Renormalize::No] {
        for score in [moe::Score::Softmax, moe::Score::Sigmoid] {
            binds(moe::route(&f(&[3, 8]), None, score, renormalize, out));
        }
    }
    binds(moe::combine(&f(&[6, 64]), &weights, &f(&[3, 64])));
}
