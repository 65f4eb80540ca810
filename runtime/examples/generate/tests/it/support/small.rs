//! Small models with random weights, in any of the supported types.

use half::f16;

use super::writer::GgufWriter;

/// A small generator of numbers, the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Uniform in −1 .. 1.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// What a small model is like.
#[derive(Clone, Copy)]
pub(crate) struct Small {
    pub(crate) hidden: u64,
    pub(crate) inter: u64,
    pub(crate) heads: u64,
    pub(crate) kv_heads: u64,
    pub(crate) head_dim: u64,
    pub(crate) layers: u64,
    pub(crate) vocab: u64,
    /// The type of every matrix; that of the values may differ.
    pub(crate) ty: &'static str,
    pub(crate) value_ty: &'static str,
    /// Whether the output has its own weight.
    pub(crate) untied: bool,
    pub(crate) rope: Rope,
}

/// How positions are stretched.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rope {
    Plain,
    Linear,
    Divisors,
}

impl Small {
    /// Wide enough for blocks of 256.
    pub(crate) const BASE: Small = Small {
        hidden: 256,
        inter: 512,
        heads: 4,
        kv_heads: 2,
        head_dim: 64,
        layers: 2,
        vocab: 304,
        ty: "F32",
        value_ty: "F32",
        untied: false,
        rope: Rope::Plain,
    };

    pub(crate) fn of(ty: &'static str) -> Small {
        Small { ty, value_ty: ty, ..Small::BASE }
    }

    /// The file, without the tensors that `skip` names.
    pub(crate) fn write(&self, skip: &str) -> Vec<u8> {
        let tokens: Vec<String> = (0..self.vocab).map(|i| format!("t{i}")).collect();
        let mut w = GgufWriter::default()
            .string("general.architecture", "llama")
            .u32("llama.block_count", self.layers as u32)
            .u32("llama.context_length", 128)
            .u32("llama.embedding_length", self.hidden as u32)
            .u32("llama.feed_forward_length", self.inter as u32)
            .u32("llama.attention.head_count", self.heads as u32)
            .u32("llama.attention.head_count_kv", self.kv_heads as u32)
            .u32("llama.attention.key_length", self.head_dim as u32)
            .u32("llama.rope.dimension_count", self.head_dim as u32)
            .f32("llama.attention.layer_norm_rms_epsilon", 1e-5)
            .string("tokenizer.ggml.model", "gpt2")
            .strings("tokenizer.ggml.tokens", &tokens)
            .strings::<&str>("tokenizer.ggml.merges", &[]);
        if self.rope == Rope::Linear {
            w = w.string("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 4.0);
        }
        let mut random = Random::new(7);
        let (q, kv) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        let mut matrices = vec![("token_embd.weight".to_owned(), self.hidden, self.vocab, self.ty)];
        let mut vectors = vec![("output_norm.weight".to_owned(), self.hidden)];
        if self.untied {
            matrices.push(("output.weight".to_owned(), self.hidden, self.vocab, self.ty));
        }
        if self.rope == Rope::Divisors {
            vectors.push(("rope_freqs.weight".to_owned(), self.head_dim / 2));
        }
        for i in 0..self.layers {
            let name = |part: &str| format!("blk.{i}.{part}.weight");
            vectors.push((name("attn_norm"), self.hidden));
            vectors.push((name("ffn_norm"), self.hidden));
            matrices.push((name("attn_q"), self.hidden, q, self.ty));
            matrices.push((name("attn_k"), self.hidden, kv, self.ty));
            matrices.push((name("attn_v"), self.hidden, kv, self.value_ty));
            matrices.push((name("attn_output"), q, self.hidden, self.ty));
            matrices.push((name("ffn_gate"), self.hidden, self.inter, self.ty));
            matrices.push((name("ffn_up"), self.hidden, self.inter, self.ty));
            matrices.push((name("ffn_down"), self.inter, self.hidden, self.ty));
        }
        for (name, n) in vectors.into_iter().filter(|(name, _)| name != skip) {
            let data = (0..n).flat_map(|_| (1.5 + random.unit() / 2.0).to_le_bytes()).collect();
            w = w.tensor(&name, &[n], 0, data);
        }
        for (name, k, n, ty) in matrices.into_iter().filter(|(name, ..)| name != skip) {
            let (number, data) = matrix(&mut random, ty, k, n);
            w = w.tensor(&name, &[k, n], number, data);
        }
        w.finish().0
    }
}

/// Random elements of about `1 / √k`, and the type's number.
fn matrix(random: &mut Random, ty: &str, k: u64, n: u64) -> (u32, Vec<u8>) {
    let elems = (k * n) as usize;
    let size = 1.7 / (k as f32).sqrt();
    let ty = generate::gguf::TensorType::from_name(ty).expect("a type of the format");
    let mut data = Vec::new();
    match ty.name() {
        "F32" => (0..elems).for_each(|_| data.extend((random.unit() * size).to_le_bytes())),
        "F16" => {
            (0..elems).for_each(|_| data.extend(f16::from_f32(random.unit() * size).to_le_bytes()))
        }
        "BF16" => (0..elems).for_each(|_| {
            data.extend(half::bf16::from_f32(random.unit() * size).to_le_bytes());
        }),
        name => {
            for _ in 0..elems / ty.block_elems() as usize {
                let mut block: Vec<u8> =
                    (0..ty.block_bytes()).map(|_| random.bits() as u8).collect();
                for (at, scale) in scales(name) {
                    let v = f16::from_f32(scale * size * (1.0 + random.unit() / 4.0));
                    block[at..at + 2].copy_from_slice(&v.to_le_bytes());
                }
                data.extend(block);
            }
        }
    }
    (ty.number(), data)
}

/// Where a block keeps its f16 scales, and what makes its largest element about 1.
fn scales(ty: &str) -> Vec<(usize, f32)> {
    match ty {
        "Q4_0" => vec![(0, 1.0 / 8.0)],
        "Q4_1" => vec![(0, 2.0 / 15.0), (2, -1.0)],
        "Q5_0" => vec![(0, 1.0 / 16.0)],
        "Q8_0" => vec![(0, 1.0 / 128.0)],
        "Q4_K" => vec![(0, 2.0 / 15.0 / 63.0), (2, 1.0 / 63.0)],
        "Q6_K" => vec![(208, 1.0 / 32.0 / 128.0)],
        _ => Vec::new(),
    }
}
