//! From the residual stream of each sequence's last token to its next token.

use tilewright::{Args, DType, Runtime, Tensor};

use super::buffers::QuantBuffer;
use super::forward::{Shared, push_linear, push_rmsnorm};
use super::record::Recorder;
use crate::error::{Error, ErrorKind, Result};
use crate::sampling::Sampling;

/// Buffers of the head, one row a sequence.
#[derive(Debug)]
pub(super) struct Head {
    normed: Tensor,
    int8: Option<QuantBuffer>,
    /// `[batch, vocab]`
    pub(super) logits: Tensor,
    /// The chosen tokens, `[batch]`; decoding reads them as its input.
    pub(super) ids: Tensor,
    sampler: Option<Sampler>,
}

/// Parameters of the draws, one a sequence.
#[derive(Debug)]
struct Sampler {
    temperature: Tensor,
    top_k: Tensor,
    top_p: Tensor,
    min_p: Tensor,
    seed: Tensor,
    offset: Tensor,
    status: Tensor,
}

impl Sampler {
    fn new(rt: &Runtime, s: &Sampling, batch: usize) -> Result<Sampler> {
        let floats = |v: f32| Tensor::from_slice(rt, &vec![v; batch], &[batch]);
        // Every row has its own seed, so that equal prompts of a batch get different answers.
        let seeds: Vec<u64> = (0..batch as u64).map(|row| s.seed.wrapping_add(row)).collect();
        Ok(Sampler {
            temperature: floats(s.temperature)?,
            top_k: Tensor::from_slice(rt, &vec![s.top_k; batch], &[batch])?,
            top_p: floats(s.top_p)?,
            min_p: floats(s.min_p)?,
            seed: Tensor::from_slice(rt, &seeds, &[batch])?,
            offset: Tensor::zeros(rt, DType::U64, &[batch])?,
            status: Tensor::zeros(rt, DType::I32, &[batch])?,
        })
    }
}

impl Head {
    pub(super) fn new(s: &Shared<'_>, sampling: &Sampling, batch: usize) -> Result<Head> {
        let (hidden, vocab) = (s.config.hidden_size, s.config.vocab_size);
        let int8 = if s.int8 { Some(QuantBuffer::new(s.rt, batch, hidden)?) } else { None };
        let sampler = match sampling.temperature {
            0.0 => None,
            _ => Some(Sampler::new(s.rt, sampling, batch)?),
        };
        Ok(Head {
            normed: Tensor::zeros(s.rt, DType::F32, &[batch, hidden])?,
            int8,
            logits: Tensor::zeros(s.rt, DType::F32, &[batch, vocab])?,
            ids: Tensor::zeros(s.rt, DType::I32, &[batch])?,
            sampler,
        })
    }

    /// Norm, logits and the choice of the next token for the rows of `x`.
    pub(super) fn push(&self, rec: &mut Recorder<'_>, s: &Shared<'_>, x: &Tensor) -> Result<()> {
        push_rmsnorm(rec, s.config, x, &s.weights.norm, &self.normed)?;
        let group = &s.weights.head;
        push_linear(rec, group, &self.normed, self.int8.as_ref(), None, &self.logits)?;
        let args = Args::new().tensor("logits", &self.logits).tensor("ids", &self.ids);
        match &self.sampler {
            None => rec.push("sampler.argmax", args),
            Some(p) => {
                let args = args
                    .tensor("temperature", &p.temperature)
                    .tensor("top_k", &p.top_k)
                    .tensor("top_p", &p.top_p)
                    .tensor("min_p", &p.min_p)
                    .tensor("seed", &p.seed)
                    .tensor("offset", &p.offset)
                    .tensor("status", &p.status);
                rec.push("sampler.sample", args)
            }
        }
    }

    /// The next draw is number `offset` of each row.
    pub(super) fn set_offset(&self, offset: u64) -> Result<()> {
        if let Some(p) = &self.sampler {
            p.offset.write_slice(&vec![offset; p.offset.len()])?;
        }
        Ok(())
    }

    /// The chosen tokens into `out`; a row without a choice is an error.
    pub(super) fn read(&self, out: &mut [i32]) -> Result<()> {
        self.ids.read_into(out)?;
        match out.iter().position(|id| *id < 0) {
            Some(row) => Err(Error::new(
                ErrorKind::Runtime,
                format!("the logits of prompt {} hold no number to choose by", row + 1),
            )),
            None => Ok(()),
        }
    }
}
