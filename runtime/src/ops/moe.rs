//! Mixture of experts: which experts serve which tokens, and the sum of what they give.

use super::Op;
use crate::Tensor;

/// How gate logits become scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// Softmax over the experts.
    Softmax,
    /// A sigmoid each.
    Sigmoid,
}

/// Whether the chosen weights are scaled to sum to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renormalize {
    /// As they are.
    No,
    /// Scaled.
    Yes,
}

/// The experts chosen for each token, `[m, top_k]`, and `status` `[m]`.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'t> {
    /// Their weights.
    pub weights: &'t Tensor,
    /// Their numbers.
    pub ids: &'t Tensor,
    /// Names tokens without valid logits.
    pub status: &'t Tensor,
}

/// Chooses each token's experts; `bias` takes part in the choice, not in the weights.
pub fn route(
    logits: &Tensor,
    bias: Option<&Tensor>,
    score: Score,
    renormalize: Renormalize,
    out: Chosen<'_>,
) -> Op {
    let score = match score {
        Score::Softmax => "softmax",
        Score::Sigmoid => "sigmoid",
    };
    let renormalize = match renormalize {
        Renormalize::No => "no",
        Renormalize::Yes => "yes",
    };
    let op = Op::new("moe.route").tensor("logits", logits).maybe("bias", bias);
    let op = op.tensor("topk_weights", out.weights).tensor("topk_ids", out.ids);
    op.tensor("status", out.status).attr("score", score).attr("renormalize", renormalize)
}

/// `out[i, :] = Σ_j topk_weights[i, j] · c[i · top_k + j, :]`.
pub fn combine(c: &Tensor, topk_weights: &Tensor, out: &Tensor) -> Op {
    Op::new("moe.combine").tensor("c", c).tensor("topk_weights", topk_weights).tensor("out", out)
}
