//! The model's hyper-parameters, read from metadata and checked against each other.

use crate::error::{Error, Result};
use crate::gguf::Gguf;

/// The one architecture this program runs.
const ARCHITECTURE: &str = "llama";

/// How rotary positions are stretched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RopeScaling {
    /// Positions as they are; per-frequency factors come from the tensor `rope_freqs.weight`, if any.
    None,
    /// Positions divided by the factor.
    Linear {
        /// What positions are divided by.
        factor: f64,
    },
}

/// The hyper-parameters of a Llama-architecture model.
#[derive(Clone, Debug, PartialEq)]
pub struct LlamaConfig {
    /// Transformer blocks.
    pub num_layers: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width inside the feed-forward part.
    pub intermediate_size: usize,
    /// Query heads.
    pub num_qo_heads: usize,
    /// Key and value heads; divides `num_qo_heads`.
    pub num_kv_heads: usize,
    /// Width of one head.
    pub head_dim: usize,
    /// Leading elements of a head that are rotated.
    pub rope_dim: usize,
    /// Base of the rotary frequencies.
    pub rope_base: f64,
    /// How positions are stretched.
    pub rope_scaling: RopeScaling,
    /// Added to the mean square in every norm.
    pub rms_eps: f64,
    /// Positions the model was trained for.
    pub context_length: usize,
    /// Rows of the embedding.
    pub vocab_size: usize,
}

/// Head widths that the attention kernels have variants for.
const HEAD_DIMS: &[usize] = &[64, 80, 96, 128, 256];

impl LlamaConfig {
    /// Reads the configuration of a Llama-architecture file.
    pub fn from_gguf(gguf: &Gguf) -> Result<LlamaConfig> {
        let architecture = gguf
            .string("general.architecture")?
            .ok_or_else(|| Error::malformed("metadata key `general.architecture` is missing"))?;
        if architecture != ARCHITECTURE {
            return Err(Error::unsupported(format!(
                "unknown architecture `{architecture}`; `{ARCHITECTURE}` is supported"
            )));
        }
        let keys = Keys { gguf };
        if keys.optional("expert_count")?.is_some_and(|n| n > 0) {
            return Err(Error::unsupported(
                "models with experts (`llama.expert_count`) are not supported",
            ));
        }
        let hidden_size = keys.required("embedding_length")?;
        let num_qo_heads = keys.required("attention.head_count")?;
        let head_dim = match keys.optional("attention.key_length")? {
            Some(n) => n,
            None => hidden_size / num_qo_heads,
        };
        let config = LlamaConfig {
            num_layers: keys.required("block_count")?,
            hidden_size,
            intermediate_size: keys.required("feed_forward_length")?,
            num_qo_heads,
            num_kv_heads: keys.optional("attention.head_count_kv")?.unwrap_or(num_qo_heads),
            head_dim,
            rope_dim: keys.optional("rope.dimension_count")?.unwrap_or(head_dim),
            rope_base: keys.positive_float("rope.freq_base")?.unwrap_or(10_000.0),
            rope_scaling: keys.rope_scaling()?,
            rms_eps: keys.positive_float("attention.layer_norm_rms_epsilon")?.ok_or_else(|| {
                Error::malformed("metadata key `llama.attention.layer_norm_rms_epsilon` is missing")
            })?,
            context_length: keys.required("context_length")?,
            vocab_size: keys.vocab_size()?,
        };
        config.check(keys.optional("attention.value_length")?)?;
        Ok(config)
    }

    fn check(&self, value_length: Option<usize>) -> Result<()> {
        let LlamaConfig { num_qo_heads, num_kv_heads, head_dim, rope_dim, hidden_size, .. } = *self;
        if num_kv_heads == 0 || num_qo_heads % num_kv_heads != 0 {
            return Err(Error::malformed(format!(
                "{num_qo_heads} query heads are not a multiple of {num_kv_heads} key heads"
            )));
        }
        if !HEAD_DIMS.contains(&head_dim) {
            return Err(Error::unsupported(format!(
                "heads of {head_dim} elements; {HEAD_DIMS:?} are supported"
            )));
        }
        if value_length.is_some_and(|n| n != head_dim) {
            return Err(Error::unsupported(format!(
                "values of {} elements a head beside keys of {head_dim}",
                value_length.unwrap_or_default()
            )));
        }
        if rope_dim > head_dim || rope_dim % 2 != 0 {
            return Err(Error::malformed(format!(
                "`llama.rope.dimension_count` is {rope_dim}, which is odd or above the head's {head_dim}"
            )));
        }
        if !hidden_size.is_multiple_of(32) || !self.intermediate_size.is_multiple_of(32) {
            return Err(Error::unsupported(format!(
                "widths {hidden_size} and {} that are not multiples of 32",
                self.intermediate_size
            )));
        }
        Ok(())
    }
}

/// The keys of one architecture, each checked to be a size that a model can have.
struct Keys<'a> {
    gguf: &'a Gguf,
}

/// Above every real model and far below where products of three sizes overflow.
const MAX_SIZE: u64 = 1 << 20;

impl Keys<'_> {
    fn optional(&self, key: &str) -> Result<Option<usize>> {
        let key = format!("{ARCHITECTURE}.{key}");
        match self.gguf.unsigned(&key)? {
            Some(v) if v > MAX_SIZE => {
                Err(Error::malformed(format!("`{key}` is {v}, above the limit {MAX_SIZE}")))
            }
            v => Ok(v.map(|v| v as usize)),
        }
    }

    fn required(&self, key: &str) -> Result<usize> {
        match self.optional(key)? {
            Some(0) => Err(Error::malformed(format!("`{ARCHITECTURE}.{key}` is 0"))),
            Some(v) => Ok(v),
            None => {
                Err(Error::malformed(format!("metadata key `{ARCHITECTURE}.{key}` is missing")))
            }
        }
    }

    fn positive_float(&self, key: &str) -> Result<Option<f64>> {
        let key = format!("{ARCHITECTURE}.{key}");
        match self.gguf.float(&key)? {
            Some(v) if v.is_finite() && v > 0.0 => Ok(Some(v)),
            Some(v) => Err(Error::malformed(format!("`{key}` is {v}, not a positive number"))),
            None => Ok(None),
        }
    }

    fn rope_scaling(&self) -> Result<RopeScaling> {
        let key = format!("{ARCHITECTURE}.rope.scaling.type");
        match self.gguf.string(&key)? {
            None | Some("none") => Ok(RopeScaling::None),
            Some("linear") => {
                let factor = self.positive_float("rope.scaling.factor")?.unwrap_or(1.0);
                Ok(RopeScaling::Linear { factor })
            }
            Some(other) => Err(Error::unsupported(format!(
                "`{key}` is `{other}`; `none` and `linear` are supported"
            ))),
        }
    }

    fn vocab_size(&self) -> Result<usize> {
        let info = self
            .gguf
            .tensor("token_embd.weight")
            .ok_or_else(|| Error::malformed("tensor `token_embd.weight` is missing"))?;
        let rows = info.num_rows();
        if rows > MAX_SIZE {
            return Err(Error::malformed(format!(
                "a vocabulary of {rows}, above the limit {MAX_SIZE}"
            )));
        }
        let tokens = self.gguf.strings("tokenizer.ggml.tokens")?.unwrap_or_default().len() as u64;
        if tokens != rows {
            return Err(Error::malformed(format!(
                "tensor `token_embd.weight` has {rows} rows but the vocabulary has {tokens} tokens"
            )));
        }
        Ok(rows as usize)
    }
}
