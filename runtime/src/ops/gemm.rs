//! Matrix products with the weight's `[n, k]` order: `c = a · bᵀ`.

use super::Op;
use crate::Tensor;

/// What is added to a product.
#[derive(Clone, Copy, Debug, Default)]
pub struct Epilogue<'t> {
    /// `[n]`, added to every row.
    pub bias: Option<&'t Tensor>,
    /// `[m, n]`; may be the memory of `c`.
    pub residual: Option<&'t Tensor>,
}

/// `c = a · bᵀ` of operands as they are.
pub fn gemm(a: &Tensor, b: &Tensor, epilogue: Epilogue<'_>, c: &Tensor) -> Op {
    finish(Op::new("gemm.plain").tensor("a", a).tensor("b", b), epilogue, c)
}

/// A weight that a `gemm.pack_…` op has packed.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'t> {
    /// The packed form: `f32`, `bf16`, `q4_0`, `q4_k` and so on, as in the name of its op.
    pub form: &'t str,
    /// Codes.
    pub codes: &'t Tensor,
    /// Scales; none for float forms.
    pub scales: Option<&'t Tensor>,
    /// Minima; only some forms have them.
    pub mins: Option<&'t Tensor>,
    /// Scales of scales; only some forms have them.
    pub supers: Option<&'t Tensor>,
}

/// Activations of a product.
#[derive(Clone, Copy, Debug)]
pub enum Activations<'t> {
    /// Floats.
    Float(&'t Tensor),
    /// 8-bit codes, their scales, and the scaled sums of their groups, as `quant.i8_group` makes them.
    Int8 {
        /// Codes.
        codes: &'t Tensor,
        /// Scales.
        scale: &'t Tensor,
        /// Scaled sums.
        sum: &'t Tensor,
    },
}

/// `c = a · wᵀ` with a packed weight.
pub fn gemm_packed(a: Activations<'_>, w: Packed<'_>, epilogue: Epilogue<'_>, c: &Tensor) -> Op {
    let op = Op::new(format!("gemm.{}", w.form)).tensor("b", w.codes);
    let op = op.maybe("scale_b", w.scales).maybe("min_b", w.mins).maybe("super_b", w.supers);
    let op = match a {
        Activations::Float(a) => op.tensor("a", a),
        Activations::Int8 { codes, scale, sum } => {
            op.tensor("a", codes).tensor("scale_a", scale).tensor("sum_a", sum)
        }
    };
    finish(op, epilogue, c)
}

fn finish(op: Op, epilogue: Epilogue<'_>, c: &Tensor) -> Op {
    op.maybe("bias", epilogue.bias).maybe("residual", epilogue.residual).tensor("c", c)
}

/// Rows to 8-bit codes with a scale and a scaled sum for each 32 elements; `status` names bad rows.
pub fn quantise_i8(x: &Tensor, q: &Tensor, scale: &Tensor, sum: &Tensor, status: &Tensor) -> Op {
    let op = Op::new("quant.i8_group").tensor("x", x).tensor("q", q);
    op.tensor("scale", scale).tensor("sum", sum).tensor("status", status)
}
