//! Activations of one pass over a fixed number of rows, and the inputs that change between replays.

use tilewright::{DType, Runtime, Tensor};

use super::linear::Quantised;
use crate::config::LlamaConfig;
use crate::error::Result;

/// Elements that share an int8 scale.
const GROUP: usize = 32;

/// Where the int8 form of activations of one width goes.
#[derive(Debug)]
pub(super) struct QuantBuffer {
    pub(super) quantised: Quantised,
    pub(super) status: Tensor,
}

impl QuantBuffer {
    pub(super) fn new(rt: &Runtime, rows: usize, width: usize) -> Result<QuantBuffer> {
        let groups = [rows, width / GROUP];
        Ok(QuantBuffer {
            quantised: Quantised {
                codes: Tensor::zeros(rt, DType::I8, &[rows, width])?,
                scale: Tensor::zeros(rt, DType::F32, &groups)?,
                sum: Tensor::zeros(rt, DType::F32, &groups)?,
            },
            status: Tensor::zeros(rt, DType::I32, &[rows])?,
        })
    }
}

/// Int8 forms of the three widths that linear layers take.
#[derive(Debug)]
pub(super) struct QuantBuffers {
    pub(super) hidden: QuantBuffer,
    pub(super) attn: QuantBuffer,
    pub(super) inter: QuantBuffer,
}

/// Activations; all layers of a pass share them.
#[derive(Debug)]
pub(super) struct Buffers {
    /// The residual stream, `[rows, hidden]`.
    pub(super) x: Tensor,
    pub(super) normed: Tensor,
    /// `[rows, num_qo_heads + 2 num_kv_heads, head_dim]`
    pub(super) qkv: Tensor,
    /// `[rows, num_qo_heads, head_dim]`
    pub(super) attn: Tensor,
    pub(super) lse: Tensor,
    /// `[rows, 2 intermediate]`
    pub(super) gate_up: Tensor,
    pub(super) act: Tensor,
    /// `None` where activations stay floats.
    pub(super) int8: Option<QuantBuffers>,
}

impl Buffers {
    pub(super) fn new(rt: &Runtime, c: &LlamaConfig, rows: usize, int8: bool) -> Result<Buffers> {
        let floats = |shape: &[usize]| Tensor::zeros(rt, DType::F32, shape);
        let (heads, dim) = (c.num_qo_heads, c.head_dim);
        let quant = |width: usize| QuantBuffer::new(rt, rows, width);
        let int8 = if int8 {
            Some(QuantBuffers {
                hidden: quant(c.hidden_size)?,
                attn: quant(heads * dim)?,
                inter: quant(c.intermediate_size)?,
            })
        } else {
            None
        };
        Ok(Buffers {
            x: floats(&[rows, c.hidden_size])?,
            normed: floats(&[rows, c.hidden_size])?,
            qkv: floats(&[rows, heads + 2 * c.num_kv_heads, dim])?,
            attn: floats(&[rows, heads, dim])?,
            lse: floats(&[rows, heads])?,
            gate_up: floats(&[rows, 2 * c.intermediate_size])?,
            act: floats(&[rows, c.intermediate_size])?,
            int8,
        })
    }
}

/// What changes between replays: written by the host, read by the kernels.
#[derive(Clone, Debug)]
pub(super) struct Inputs {
    /// Token ids, `[rows]`.
    pub(super) ids: Tensor,
    /// Positions of the tokens, `[rows]`.
    pub(super) positions: Tensor,
    /// Where their keys and values go, `[rows]`.
    pub(super) slots: Tensor,
    /// Rows of each sequence, `[batch + 1]`.
    pub(super) qo_indptr: Tensor,
    pub(super) kv_indptr: Tensor,
    pub(super) kv_indices: Tensor,
    pub(super) kv_last_page_len: Tensor,
}

impl Inputs {
    pub(super) fn new(rt: &Runtime, rows: usize, batch: usize, num_pages: usize) -> Result<Inputs> {
        let words = |n: usize| Tensor::zeros(rt, DType::I32, &[n]);
        Ok(Inputs {
            ids: words(rows)?,
            positions: words(rows)?,
            slots: Tensor::zeros(rt, DType::I64, &[rows])?,
            qo_indptr: words(batch + 1)?,
            kv_indptr: words(batch + 1)?,
            kv_indices: words(num_pages)?,
            kv_last_page_len: words(batch)?,
        })
    }
}
