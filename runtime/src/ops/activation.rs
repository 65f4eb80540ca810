//! Gated activations, rotary embeddings and embedding rows.

use super::Op;
use crate::Tensor;

/// `out = silu(x[:, ..n]) * x[:, n..]` with `n` half the width of `x`.
pub fn silu_and_mul(x: &Tensor, out: &Tensor) -> Op {
    Op::new("activation.silu_and_mul").tensor("x", x).tensor("out", out)
}

/// How [`gelu_and_mul`] computes its gelu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gelu {
    /// By the error function.
    Erf,
    /// By the hyperbolic tangent.
    Tanh,
}

/// `out = gelu(x[:, ..n]) * x[:, n..]`.
pub fn gelu_and_mul(x: &Tensor, gelu: Gelu, out: &Tensor) -> Op {
    let approximate = match gelu {
        Gelu::Erf => "none",
        Gelu::Tanh => "tanh",
    };
    let op = Op::new("activation.gelu_and_mul").tensor("x", x).tensor("out", out);
    op.attr("approximate", approximate)
}

/// Which elements of a head [`rope`] rotates together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeStyle {
    /// Element `i` and `i + rotary_dim / 2`.
    Half,
    /// Elements `2 i` and `2 i + 1`.
    Interleaved,
}

/// Queries and keys of a step, each a tensor `[tokens, heads, head_dim]`.
#[derive(Clone, Copy, Debug)]
pub struct QueryKey<'t> {
    /// Queries.
    pub q: &'t Tensor,
    /// Keys.
    pub k: &'t Tensor,
}

/// Rotates queries and keys by their positions. `cos_sin` is the table that the op `rope.table` fills.
pub fn rope(
    positions: &Tensor,
    cos_sin: &Tensor,
    x: QueryKey<'_>,
    style: RopeStyle,
    out: QueryKey<'_>,
) -> Op {
    let style = match style {
        RopeStyle::Half => "half",
        RopeStyle::Interleaved => "interleaved",
    };
    let op = Op::new("rope.apply").tensor("positions", positions).tensor("cos_sin", cos_sin);
    let op = op.tensor("q", x.q).tensor("k", x.k).tensor("q_out", out.q).tensor("k_out", out.k);
    op.attr("style", style)
}

/// `out[i, :] = table[ids[i], :]`.
pub fn embedding(ids: &Tensor, table: &Tensor, out: &Tensor) -> Op {
    Op::new("embedding.gather").tensor("ids", ids).tensor("table", table).tensor("out", out)
}
