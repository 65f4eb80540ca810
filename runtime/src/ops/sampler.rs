//! From logits to tokens.

use super::Op;
use crate::Tensor;

/// `ids[b]` = place of the largest logit of row `b`, the first of equals.
pub fn argmax(logits: &Tensor, ids: &Tensor) -> Op {
    Op::new("sampler.argmax").tensor("logits", logits).tensor("ids", ids)
}

/// What decides each row's draw, all `[batch]`.
#[derive(Clone, Copy, Debug)]
pub struct Sampling<'t> {
    /// 0 takes the largest.
    pub temperature: &'t Tensor,
    /// Tokens kept; 0 or less for all.
    pub top_k: &'t Tensor,
    /// Mass kept.
    pub top_p: &'t Tensor,
    /// Least share of the largest probability.
    pub min_p: &'t Tensor,
}

/// The state of each row's random numbers, all `[batch]`.
#[derive(Clone, Copy, Debug)]
pub struct Noise<'t> {
    /// Key.
    pub seed: &'t Tensor,
    /// Counter: numbers drawn so far.
    pub offset: &'t Tensor,
}

/// Filters and draws; a row's token depends on its logits, parameters, seed and offset only.
pub fn sample(
    logits: &Tensor,
    s: Sampling<'_>,
    noise: Noise<'_>,
    ids: &Tensor,
    status: &Tensor,
) -> Op {
    let op =
        Op::new("sampler.sample").tensor("logits", logits).tensor("temperature", s.temperature);
    let op = op.tensor("top_k", s.top_k).tensor("top_p", s.top_p).tensor("min_p", s.min_p);
    let op = op.tensor("seed", noise.seed).tensor("offset", noise.offset);
    op.tensor("ids", ids).tensor("status", status)
}

/// Sets the logits of tokens whose bit is 0 to minus infinity.
pub fn apply_bitmask(logits: &Tensor, bitmask: &Tensor) -> Op {
    Op::new("sampler.apply_bitmask").tensor("logits", logits).tensor("bitmask", bitmask)
}
