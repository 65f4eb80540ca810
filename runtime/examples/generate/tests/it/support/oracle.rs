//! A Llama model in f64, written for reading: the meaning of what the kernels compute.

use generate::config::{LlamaConfig, RopeScaling};
use generate::map::ModelFile;

use super::dequant::dequantise;

struct Layer {
    attn_norm: Vec<f64>,
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    o: Vec<f64>,
    ffn_norm: Vec<f64>,
    gate: Vec<f64>,
    up: Vec<f64>,
    down: Vec<f64>,
}

/// The dequantised model.
pub(crate) struct Oracle {
    pub(crate) config: LlamaConfig,
    embedding: Vec<f64>,
    layers: Vec<Layer>,
    norm: Vec<f64>,
    /// `None` when the output is the embedding.
    output: Option<Vec<f64>>,
    freqs: Vec<f64>,
}

impl Oracle {
    pub(crate) fn new(file: &ModelFile) -> Oracle {
        let gguf = file.gguf();
        let config = LlamaConfig::from_gguf(gguf).expect("a Llama configuration");
        let get =
            |name: &str| gguf.tensor(name).map(|info| dequantise(info.ty.name(), file.bytes(info)));
        let need = |name: String| get(&name).unwrap_or_else(|| panic!("{name} is missing"));
        let layers = (0..config.num_layers)
            .map(|i| Layer {
                attn_norm: need(format!("blk.{i}.attn_norm.weight")),
                q: need(format!("blk.{i}.attn_q.weight")),
                k: need(format!("blk.{i}.attn_k.weight")),
                v: need(format!("blk.{i}.attn_v.weight")),
                o: need(format!("blk.{i}.attn_output.weight")),
                ffn_norm: need(format!("blk.{i}.ffn_norm.weight")),
                gate: need(format!("blk.{i}.ffn_gate.weight")),
                up: need(format!("blk.{i}.ffn_up.weight")),
                down: need(format!("blk.{i}.ffn_down.weight")),
            })
            .collect();
        let factor = match config.rope_scaling {
            RopeScaling::None => 1.0,
            RopeScaling::Linear { factor } => factor,
        };
        let divisors = get("rope_freqs.weight");
        let freqs = (0..config.rope_dim / 2)
            .map(|i| {
                let f = config.rope_base.powf(-2.0 * i as f64 / config.rope_dim as f64) / factor;
                f / divisors.as_ref().map_or(1.0, |d| d[i])
            })
            .collect();
        Oracle {
            embedding: need("token_embd.weight".into()),
            layers,
            norm: need("output_norm.weight".into()),
            output: get("output.weight"),
            config,
            freqs,
        }
    }

    /// The logits after each of the last `tail` tokens of `ids`.
    pub(crate) fn logits(&self, ids: &[u32], tail: usize) -> Vec<Vec<f32>> {
        let c = &self.config;
        let hidden = c.hidden_size;
        let mut x: Vec<f64> = ids
            .iter()
            .flat_map(|id| &self.embedding[*id as usize * hidden..][..hidden])
            .copied()
            .collect();
        for layer in &self.layers {
            self.attention(layer, &mut x);
            self.feed_forward(layer, &mut x);
        }
        let last = &x[(ids.len() - tail) * hidden..];
        let normed = rmsnorm(last, &self.norm, c.rms_eps);
        let logits = matmul(&normed, self.output.as_ref().unwrap_or(&self.embedding), hidden);
        logits.chunks(c.vocab_size).map(|row| row.iter().map(|v| *v as f32).collect()).collect()
    }

    fn attention(&self, layer: &Layer, x: &mut [f64]) {
        let c = &self.config;
        let (hidden, d) = (c.hidden_size, c.head_dim);
        let normed = rmsnorm(x, &layer.attn_norm, c.rms_eps);
        let mut q = matmul(&normed, &layer.q, hidden);
        let mut k = matmul(&normed, &layer.k, hidden);
        let v = matmul(&normed, &layer.v, hidden);
        self.rope(&mut q, c.num_qo_heads);
        self.rope(&mut k, c.num_kv_heads);
        let tokens = x.len() / hidden;
        let group = c.num_qo_heads / c.num_kv_heads;
        let (q_row, kv_row) = (c.num_qo_heads * d, c.num_kv_heads * d);
        let mut out = vec![0.0; tokens * q_row];
        for t in 0..tokens {
            for h in 0..c.num_qo_heads {
                let qh = &q[t * q_row + h * d..][..d];
                let at = |s: usize| s * kv_row + h / group * d;
                let scores: Vec<f64> =
                    (0..=t).map(|s| dot(qh, &k[at(s)..][..d]) / (d as f64).sqrt()).collect();
                let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = scores.iter().map(|s| (s - max).exp()).collect();
                let sum: f64 = weights.iter().sum();
                let row = &mut out[t * q_row + h * d..][..d];
                for (s, w) in weights.iter().enumerate() {
                    for (o, v) in row.iter_mut().zip(&v[at(s)..][..d]) {
                        *o += w / sum * v;
                    }
                }
            }
        }
        add(x, &matmul(&out, &layer.o, q_row));
    }

    fn feed_forward(&self, layer: &Layer, x: &mut [f64]) {
        let c = &self.config;
        let normed = rmsnorm(x, &layer.ffn_norm, c.rms_eps);
        let gate = matmul(&normed, &layer.gate, c.hidden_size);
        let up = matmul(&normed, &layer.up, c.hidden_size);
        let act: Vec<f64> = gate.iter().zip(&up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
        add(x, &matmul(&act, &layer.down, c.intermediate_size));
    }

    /// Pairs of neighbours turn by position times frequency.
    fn rope(&self, x: &mut [f64], heads: usize) {
        let d = self.config.head_dim;
        for (t, token) in x.chunks_mut(heads * d).enumerate() {
            for head in token.chunks_mut(d) {
                for (pair, f) in head.chunks_mut(2).zip(&self.freqs) {
                    let (sin, cos) = (t as f64 * f).sin_cos();
                    let (a, b) = (pair[0], pair[1]);
                    pair[0] = a * cos - b * sin;
                    pair[1] = a * sin + b * cos;
                }
            }
        }
    }
}

fn rmsnorm(x: &[f64], weight: &[f64], eps: f64) -> Vec<f64> {
    let n = weight.len();
    let mut out = Vec::with_capacity(x.len());
    for row in x.chunks(n) {
        let scale = 1.0 / (dot(row, row) / n as f64 + eps).sqrt();
        out.extend(row.iter().zip(weight).map(|(v, w)| v * scale * w));
    }
    out
}

/// `x[m, k] · w[n, k]ᵀ`, on two threads.
fn matmul(x: &[f64], w: &[f64], k: usize) -> Vec<f64> {
    let (m, n) = (x.len() / k, w.len() / k);
    let mut columns = vec![0.0; n * m];
    let half = n.div_ceil(2);
    std::thread::scope(|scope| {
        for (part, w) in columns.chunks_mut(half * m).zip(w.chunks(half * k)) {
            scope.spawn(move || {
                for (out, row) in part.chunks_mut(m).zip(w.chunks(k)) {
                    for (o, x) in out.iter_mut().zip(x.chunks(k)) {
                        *o = dot(x, row);
                    }
                }
            });
        }
    });
    let mut out = vec![0.0; m * n];
    for (j, column) in columns.chunks(m).enumerate() {
        for (i, v) in column.iter().enumerate() {
            out[i * n + j] = *v;
        }
    }
    out
}

/// Eight running sums, so that it vectorises.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for (s, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *s += x * y;
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn add(x: &mut [f64], y: &[f64]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}
