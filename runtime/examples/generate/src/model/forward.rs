//! The forward pass of a Llama model, op by op.

use tilewright::{Args, Runtime, Stream, Tensor};

use super::buffers::{Buffers, Inputs, QuantBuffer};
use super::cache::LayerCache;
use super::linear::{Input, Linear};
use super::record::{Recorded, Recorder};
use super::weights::{Embedding, Layer, Weights};
use crate::config::LlamaConfig;
use crate::error::Result;

/// What every pass of a session shares.
pub(super) struct Shared<'a> {
    pub(super) rt: &'a Runtime,
    pub(super) stream: &'a Stream,
    pub(super) config: &'a LlamaConfig,
    pub(super) weights: &'a Weights,
    pub(super) cos_sin: &'a Tensor,
    pub(super) caches: &'a [LayerCache],
    pub(super) int8: bool,
}

/// How the rows of a pass belong to sequences.
#[derive(Clone, Copy)]
pub(super) enum Rows {
    /// One row a sequence, none of which grows beyond this many tokens.
    Decode { max_kv_len: usize },
    /// Any number of rows a sequence.
    Prefill,
}

/// The layers over a fixed number of rows, from token ids to the residual stream.
pub(super) struct Pass {
    pub(super) inputs: Inputs,
    pub(super) buffers: Buffers,
    pub(super) recorded: Recorded,
}

impl Pass {
    /// Records a pass over `rows` rows.
    pub(super) fn record(s: &Shared<'_>, inputs: Inputs, kind: Rows) -> Result<Pass> {
        let rows = inputs.ids.len();
        let buffers = Buffers::new(s.rt, s.config, rows, s.int8)?;
        let mut rec = Recorder::new(s.rt, s.stream);
        push_layers(&mut rec, s, &inputs, &buffers, kind)?;
        Ok(Pass { inputs, recorded: rec.finish()?, buffers })
    }
}

/// Embedding and all layers.
pub(super) fn push_layers(
    rec: &mut Recorder<'_>,
    s: &Shared<'_>,
    inputs: &Inputs,
    b: &Buffers,
    kind: Rows,
) -> Result<()> {
    push_embedding(rec, &s.weights.embedding, &inputs.ids, &b.x)?;
    for (layer, cache) in s.weights.layers.iter().zip(s.caches) {
        push_attention(rec, s, layer, cache, inputs, b, kind)?;
        push_feed_forward(rec, s, layer, b)?;
    }
    Ok(())
}

fn push_embedding(rec: &mut Recorder<'_>, e: &Embedding, ids: &Tensor, x: &Tensor) -> Result<()> {
    let args = Args::new().tensor("ids", ids).tensor("table", &e.table).tensor("out", x);
    match &e.format {
        Some(format) => rec.push("embedding.gather_gguf", args.attr("format", format)),
        None => rec.push("embedding.gather", args),
    }
}

fn push_attention(
    rec: &mut Recorder<'_>,
    s: &Shared<'_>,
    layer: &Layer,
    cache: &LayerCache,
    inputs: &Inputs,
    b: &Buffers,
    kind: Rows,
) -> Result<()> {
    let c = s.config;
    let rows = b.x.dim(0);
    let hidden8 = b.int8.as_ref().map(|q| &q.hidden);
    let (num_qo, num_kv) = (c.num_qo_heads, c.num_kv_heads);
    let q = b.qkv.slice(1, 0, num_qo)?;
    let k = b.qkv.slice(1, num_qo, num_kv)?;
    let v = b.qkv.slice(1, num_qo + num_kv, num_kv)?;
    let qkv = b.qkv.reshape(&[rows, (num_qo + 2 * num_kv) * c.head_dim])?;

    push_rmsnorm(rec, c, &b.x, &layer.attn_norm, &b.normed)?;
    push_linear(rec, &layer.qkv, &b.normed, hidden8, None, &qkv)?;
    let rope = Args::new().tensor("positions", &inputs.positions).tensor("cos_sin", s.cos_sin);
    let rope = rope.tensor("q", &q).tensor("k", &k).tensor("q_out", &q).tensor("k_out", &k);
    rec.push("rope.apply", rope.attr("style", "interleaved"))?;
    let append = Args::new().tensor("k", &k).tensor("v", &v).tensor("slot_mapping", &inputs.slots);
    rec.push("attention.kv_append", cache.bind(append))?;

    let args = cache
        .bind(Args::new().tensor("q", &q))
        .tensor("kv_indptr", &inputs.kv_indptr)
        .tensor("kv_indices", &inputs.kv_indices)
        .tensor("kv_last_page_len", &inputs.kv_last_page_len)
        .tensor("out", &b.attn)
        .tensor("lse", &b.lse)
        .scalar("sm_scale", 1.0 / (c.head_dim as f64).sqrt());
    match kind {
        Rows::Decode { max_kv_len } => {
            rec.push("attention.decode", args.axis("max_kv_len", max_kv_len))?;
        }
        Rows::Prefill => {
            let args = args.tensor("qo_indptr", &inputs.qo_indptr).attr("causal", "true");
            rec.push("attention.prefill", args.axis("max_q_len", rows))?;
        }
    }
    let attn8 = b.int8.as_ref().map(|q| &q.attn);
    let attn = b.attn.reshape(&[rows, num_qo * c.head_dim])?;
    push_linear(rec, &layer.attn_output, &attn, attn8, Some(&b.x), &b.x)
}

fn push_feed_forward(
    rec: &mut Recorder<'_>,
    s: &Shared<'_>,
    layer: &Layer,
    b: &Buffers,
) -> Result<()> {
    let (hidden8, inter8) = match &b.int8 {
        Some(q) => (Some(&q.hidden), Some(&q.inter)),
        None => (None, None),
    };
    push_rmsnorm(rec, s.config, &b.x, &layer.ffn_norm, &b.normed)?;
    push_linear(rec, &layer.gate_up, &b.normed, hidden8, None, &b.gate_up)?;
    let silu = Args::new().tensor("x", &b.gate_up).tensor("out", &b.act);
    rec.push("activation.silu_and_mul", silu)?;
    push_linear(rec, &layer.down, &b.act, inter8, Some(&b.x), &b.x)
}

/// `out = rmsnorm(x) · weight`.
pub(super) fn push_rmsnorm(
    rec: &mut Recorder<'_>,
    c: &LlamaConfig,
    x: &Tensor,
    weight: &Tensor,
    out: &Tensor,
) -> Result<()> {
    let args = Args::new().tensor("x", x).tensor("weight", weight).tensor("out", out);
    rec.push("norm.rmsnorm", args.scalar("eps", c.rms_eps))
}

/// `out = input · wᵀ (+ residual)`, with int8 activations where a buffer for them is given and a weight
/// has blocks.
pub(super) fn push_linear(
    rec: &mut Recorder<'_>,
    group: &[Linear],
    input: &Tensor,
    int8: Option<&QuantBuffer>,
    residual: Option<&Tensor>,
    out: &Tensor,
) -> Result<()> {
    let int8 = int8.filter(|_| group.iter().any(Linear::takes_int8));
    if let Some(q) = int8 {
        let args = Args::new()
            .tensor("x", input)
            .tensor("q", &q.quantised.codes)
            .tensor("scale", &q.quantised.scale)
            .tensor("sum", &q.quantised.sum)
            .tensor("status", &q.status);
        rec.push("quant.i8_group", args)?;
    }
    let input = Input { float: input, int8: int8.map(|q| &q.quantised) };
    for linear in group {
        let (op, args) = linear.args(input, residual, out)?;
        rec.push(op, args)?;
    }
    Ok(())
}
