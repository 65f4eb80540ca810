//! The weights of a model, packed once.

use std::sync::Arc;

use tilewright::{Args, Runtime, Stream, Tensor};

use super::linear::{Linear, lend, pack_group};
use crate::config::{LlamaConfig, RopeScaling};
use crate::error::{Error, Result};
use crate::gguf::TensorInfo;
use crate::map::ModelFile;

/// The weights of one transformer block.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) attn_norm: Tensor,
    pub(super) qkv: Vec<Linear>,
    pub(super) attn_output: Vec<Linear>,
    pub(super) ffn_norm: Tensor,
    pub(super) gate_up: Vec<Linear>,
    pub(super) down: Vec<Linear>,
}

/// The token embedding, read where it lies in the file.
#[derive(Debug)]
pub(super) struct Embedding {
    pub(super) table: Tensor,
    /// The block format; `None` for floats.
    pub(super) format: Option<String>,
}

/// All weights.
#[derive(Debug)]
pub(super) struct Weights {
    pub(super) embedding: Embedding,
    pub(super) layers: Vec<Layer>,
    pub(super) norm: Tensor,
    pub(super) head: Vec<Linear>,
    /// What rotary frequencies are divided by, where the file says.
    pub(super) freq_factors: Option<Tensor>,
}

impl Weights {
    /// Packs the weights of a checked file; `progress` hears how many of the file's bytes are done.
    pub(super) fn pack(
        rt: &Runtime,
        stream: &Stream,
        file: &Arc<ModelFile>,
        config: &LlamaConfig,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Weights> {
        let mut done = 0;
        let mut packed = |bytes: usize| {
            done += bytes;
            progress(done);
        };
        let find = |name: &str| {
            file.gguf()
                .tensor(name)
                .ok_or_else(|| Error::malformed(format!("tensor `{name}` is missing")))
        };
        let mut layers = Vec::with_capacity(config.num_layers);
        for i in 0..config.num_layers {
            let tensor = |part: &str| find(&format!("blk.{i}.{part}.weight"));
            let mut group = |parts: &[&str]| {
                let infos =
                    parts.iter().map(|p| tensor(p)).collect::<Result<Vec<&TensorInfo>>>()?;
                pack_group(rt, stream, file, &infos, &mut packed)
            };
            layers.push(Layer {
                qkv: group(&["attn_q", "attn_k", "attn_v"])?,
                attn_output: group(&["attn_output"])?,
                gate_up: group(&["ffn_gate", "ffn_up"])?,
                down: group(&["ffn_down"])?,
                attn_norm: lend(rt, file, tensor("attn_norm")?)?,
                ffn_norm: lend(rt, file, tensor("ffn_norm")?)?,
            });
        }
        let embedding = find("token_embd.weight")?;
        let head = file.gguf().tensor("output.weight").unwrap_or(embedding);
        let blocks = embedding.ty.block_elems() > 1;
        Ok(Weights {
            head: pack_group(rt, stream, file, &[head], &mut packed)?,
            embedding: Embedding {
                table: lend(rt, file, embedding)?,
                format: blocks.then(|| embedding.ty.name().to_lowercase()),
            },
            layers,
            norm: lend(rt, file, find("output_norm.weight")?)?,
            freq_factors: file
                .gguf()
                .tensor("rope_freqs.weight")
                .map(|info| lend(rt, file, info))
                .transpose()?,
        })
    }

    /// The bytes of the file that [`Weights::pack`] reports.
    pub(super) fn bytes_to_pack(file: &ModelFile) -> usize {
        let gguf = file.gguf();
        let tied = gguf.tensor("output.weight").is_none();
        gguf.tensors()
            .filter(|t| t.dims.len() > 1 && (tied || t.name != "token_embd.weight"))
            .map(|t| t.bytes)
            .sum()
    }

    /// Bytes of weights that one decode step reads.
    pub(super) fn bytes(&self) -> usize {
        let layers = self.layers.iter();
        let blocks = layers.flat_map(|l| [&l.qkv, &l.attn_output, &l.gate_up, &l.down]);
        blocks.chain([&self.head]).flatten().map(Linear::bytes).sum()
    }

    /// Cosines and sines of the first `positions` positions.
    pub(super) fn rope_table(
        &self,
        rt: &Runtime,
        stream: &Stream,
        config: &LlamaConfig,
        positions: usize,
    ) -> Result<Tensor> {
        let table = Tensor::zeros(rt, tilewright::DType::F32, &[positions, config.rope_dim])?;
        let mut args = Args::new().tensor("cos_sin", &table).scalar("theta", config.rope_base);
        match (&self.freq_factors, config.rope_scaling) {
            (Some(_), RopeScaling::Linear { .. }) => {
                let message = "`rope_freqs.weight` beside `llama.rope.scaling.type` = `linear`";
                return Err(Error::unsupported(message));
            }
            (Some(factors), RopeScaling::None) => {
                args = args.tensor("freq_factors", factors).attr("scaling", "divisors");
            }
            (None, RopeScaling::Linear { factor }) => {
                args = args.attr("scaling", "linear").scalar("factor", factor);
            }
            (None, RopeScaling::None) => {}
        }
        rt.run("rope.table", &args, stream)?;
        Ok(table)
    }
}
