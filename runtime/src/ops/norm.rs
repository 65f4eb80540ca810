//! Norms of rows.

use super::Op;
use crate::Tensor;

/// `out = x / rms(x) * weight`, row by row.
pub fn rmsnorm(x: &Tensor, weight: &Tensor, eps: f32, out: &Tensor) -> Op {
    let op = Op::new("norm.rmsnorm").tensor("x", x).tensor("weight", weight);
    op.tensor("out", out).scalar("eps", eps)
}

/// `residual += x; out = rmsnorm(residual)`.
pub fn add_rmsnorm(x: &Tensor, residual: &Tensor, weight: &Tensor, eps: f32, out: &Tensor) -> Op {
    let op = Op::new("norm.add_rmsnorm").tensor("x", x).tensor("residual", residual);
    op.tensor("weight", weight).tensor("out", out).scalar("eps", eps)
}

/// `out = (x - mean(x)) / std(x) * weight + bias`, row by row.
pub fn layernorm(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32, out: &Tensor) -> Op {
    let op = Op::new("norm.layernorm").tensor("x", x).tensor("weight", weight);
    op.tensor("bias", bias).tensor("out", out).scalar("eps", eps)
}

/// An rmsnorm of each head of each token.
pub fn qk_norm(x: &Tensor, weight: &Tensor, eps: f32, out: &Tensor) -> Op {
    let op = Op::new("norm.qk_norm").tensor("x", x).tensor("weight", weight);
    op.tensor("out", out).scalar("eps", eps)
}
