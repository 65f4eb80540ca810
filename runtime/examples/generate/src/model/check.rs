//! Whether a file has the tensors of the model its metadata describes: asked before anything is packed.

use crate::config::LlamaConfig;
use crate::error::{Error, Result};
use crate::gguf::{Gguf, TensorInfo, TensorType};

/// What a tensor is for, which decides the types it may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Multiplied with: any supported type.
    Matrix,
    /// Element-wise factors: F32.
    Vector,
}

struct Expected {
    name: String,
    dims: Vec<u64>,
    used_as: Use,
    optional: bool,
}

/// Checks that every tensor the model needs is there with its shape and a supported type, and that there
/// are no others: a tensor left out would change the answers in silence.
pub(super) fn check_tensors(gguf: &Gguf, config: &LlamaConfig) -> Result<()> {
    let expected = expected(config);
    for e in &expected {
        match gguf.tensor(&e.name) {
            Some(info) => check(e, info)?,
            None if e.optional => {}
            None => return Err(Error::malformed(format!("tensor `{}` is missing", e.name))),
        }
    }
    match gguf.tensors().find(|t| !expected.iter().any(|e| e.name == t.name)) {
        Some(other) => Err(Error::unsupported(format!(
            "tensor `{}` of {} {} is not one of the Llama models this program runs",
            other.name,
            other.ty.name(),
            other.shape()
        ))),
        None => Ok(()),
    }
}

fn check(e: &Expected, info: &TensorInfo) -> Result<()> {
    if info.dims != e.dims {
        return Err(Error::malformed(format!(
            "tensor `{}` has the extents {}, but the metadata makes them {:?}",
            info.name,
            info.shape(),
            e.dims
        )));
    }
    if !info.ty.is_supported() {
        return Err(Error::unsupported(format!(
            "tensor `{}` has type {}; supported are {}",
            info.name,
            info.ty.name(),
            TensorType::supported_names()
        )));
    }
    if e.used_as == Use::Vector && info.ty.name() != "F32" {
        return Err(Error::unsupported(format!(
            "tensor `{}` has type {}; a vector of factors must be F32",
            info.name,
            info.ty.name()
        )));
    }
    Ok(())
}

fn expected(c: &LlamaConfig) -> Vec<Expected> {
    let (hidden, inter) = (c.hidden_size as u64, c.intermediate_size as u64);
    let (q, kv) = ((c.num_qo_heads * c.head_dim) as u64, (c.num_kv_heads * c.head_dim) as u64);
    let vocab = c.vocab_size as u64;
    let of = |name: String, dims: &[u64], used_as| Expected {
        name,
        dims: dims.to_vec(),
        used_as,
        optional: false,
    };
    let mut all = vec![
        of("token_embd.weight".to_owned(), &[hidden, vocab], Use::Matrix),
        of("output_norm.weight".to_owned(), &[hidden], Use::Vector),
        Expected {
            optional: true,
            ..of("output.weight".to_owned(), &[hidden, vocab], Use::Matrix)
        },
        Expected {
            optional: true,
            ..of("rope_freqs.weight".to_owned(), &[c.rope_dim as u64 / 2], Use::Vector)
        },
    ];
    for i in 0..c.num_layers {
        let layer = |part: &str| format!("blk.{i}.{part}.weight");
        all.extend([
            of(layer("attn_norm"), &[hidden], Use::Vector),
            of(layer("attn_q"), &[hidden, q], Use::Matrix),
            of(layer("attn_k"), &[hidden, kv], Use::Matrix),
            of(layer("attn_v"), &[hidden, kv], Use::Matrix),
            of(layer("attn_output"), &[q, hidden], Use::Matrix),
            of(layer("ffn_norm"), &[hidden], Use::Vector),
            of(layer("ffn_gate"), &[hidden, inter], Use::Matrix),
            of(layer("ffn_up"), &[hidden, inter], Use::Matrix),
            of(layer("ffn_down"), &[inter, hidden], Use::Matrix),
        ]);
    }
    all
}
