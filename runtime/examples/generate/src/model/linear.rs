//! Linear layers: weights packed once, and their products with activations.
//!
//! Weights that share an input (query, key and value; gate and up) share one packed buffer where their
//! types allow, so that one launch streams them all.

use std::sync::Arc;

use tilewright::{Args, DType, Runtime, Stream, Tensor};

use crate::error::{Error, ErrorKind, Result};
use crate::gguf::{TensorInfo, TensorType};
use crate::map::ModelFile;

/// Output columns in a panel of a packed weight: shared buffers join weights at this granularity.
const PANEL_N: usize = 16;

/// One tensor's bytes, lent to the device without a copy.
struct Lent {
    file: Arc<ModelFile>,
    info: TensorInfo,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.file.bytes(&self.info)
    }
}

/// A tensor of the file as the device sees it: floats as they are, blocks as rows of bytes.
pub(super) fn lend(rt: &Runtime, file: &Arc<ModelFile>, info: &TensorInfo) -> Result<Tensor> {
    let (dtype, row) = match info.ty.name() {
        "F32" => (DType::F32, info.row_elems()),
        "F16" => (DType::F16, info.row_elems()),
        "BF16" => (DType::BF16, info.row_elems()),
        _ => (DType::U8, info.row_bytes()),
    };
    let matrix = [info.num_rows() as usize, row as usize];
    let shape = if info.dims.len() == 1 { &matrix[1..] } else { &matrix[..] };
    let owner = Lent { file: Arc::clone(file), info: info.clone() };
    Ok(Tensor::from_owner(rt, owner, dtype, shape)?)
}

/// The packed form that a tensor type becomes; five-bit codes are widened to bytes.
fn packed_name(ty: TensorType) -> String {
    match ty.name() {
        "Q5_0" => "q8_0".to_owned(),
        name => name.to_lowercase(),
    }
}

/// A packed weight of `n` outputs, or several that share an input.
#[derive(Debug)]
pub(super) struct Linear {
    /// The op that multiplies with it.
    op: String,
    /// Its operands under the names of that op.
    operands: Vec<(&'static str, Tensor)>,
    /// First output column in the result.
    start: usize,
    /// Output columns.
    n: usize,
    /// Whether the weight has blocks, so that activations may be int8.
    blocks: bool,
}

/// Int8 activations: codes, and the scale and scaled sum of each group of 32.
#[derive(Clone, Debug)]
pub(super) struct Quantised {
    pub(super) codes: Tensor,
    pub(super) scale: Tensor,
    pub(super) sum: Tensor,
}

/// What a linear layer multiplies: floats, and their int8 form where it has been made.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) float: &'a Tensor,
    pub(super) int8: Option<&'a Quantised>,
}

impl Linear {
    /// The arguments of `out = input · wᵀ (+ residual)`; `out` has the columns of all weights of the
    /// group, of which this writes its own.
    pub(super) fn args(
        &self,
        input: Input<'_>,
        residual: Option<&Tensor>,
        out: &Tensor,
    ) -> Result<(&str, Args)> {
        let mut args = Args::new();
        match input.int8.filter(|_| self.blocks) {
            Some(q) => {
                args = args.tensor("a", &q.codes);
                args = args.tensor("scale_a", &q.scale).tensor("sum_a", &q.sum);
            }
            None => args = args.tensor("a", input.float),
        }
        for (name, tensor) in &self.operands {
            args = args.tensor(name, tensor);
        }
        if let Some(residual) = residual {
            args = args.tensor("residual", &residual.slice(1, self.start, self.n)?);
        }
        args = args.tensor("c", &out.slice(1, self.start, self.n)?);
        Ok((&self.op, args.axis("n", self.n)))
    }

    /// Whether int8 activations serve it.
    pub(super) fn takes_int8(&self) -> bool {
        self.blocks
    }

    /// Bytes read from memory for one product.
    pub(super) fn bytes(&self) -> usize {
        self.operands.iter().map(|(_, t)| t.dtype().bytes_for(t.len())).sum()
    }
}

/// Packs weights that share an input, neighbours of one packed form into one buffer. `packed` hears the
/// bytes of each weight that is done.
pub(super) fn pack_group(
    rt: &Runtime,
    stream: &Stream,
    file: &Arc<ModelFile>,
    weights: &[&TensorInfo],
    packed: &mut dyn FnMut(usize),
) -> Result<Vec<Linear>> {
    let mut group = Vec::new();
    let mut start = 0;
    let mut rest = weights;
    while let Some(first) = rest.first() {
        let joined = joined(rest, first);
        let (run, after) = rest.split_at(joined);
        let linear = pack_run(rt, stream, file, run, start, packed)?;
        start += linear.n;
        group.push(linear);
        rest = after;
    }
    Ok(group)
}

/// How many of `weights` go into the buffer of the first: those of its packed form, as long as each ends
/// at the end of a panel.
fn joined(weights: &[&TensorInfo], first: &TensorInfo) -> usize {
    let mut count = 1;
    for pair in weights.windows(2) {
        let (Some(before), Some(next)) = (pair.first(), pair.get(1)) else { break };
        let whole = before.num_rows() % PANEL_N as u64 == 0;
        if !whole || packed_name(next.ty) != packed_name(first.ty) {
            break;
        }
        count += 1;
    }
    count
}

fn pack_run(
    rt: &Runtime,
    stream: &Stream,
    file: &Arc<ModelFile>,
    run: &[&TensorInfo],
    start: usize,
    packed: &mut dyn FnMut(usize),
) -> Result<Linear> {
    let Some(first) = run.first() else {
        return Err(Error::new(ErrorKind::Runtime, "a linear layer without weights"));
    };
    let n: usize = run.iter().map(|w| w.num_rows() as usize).sum();
    let operands = panels(rt, first, n)?;
    let mut panel_start = 0;
    for weight in run {
        let mut args = Args::new().tensor("w", &lend(rt, file, weight)?);
        for (name, tensor) in &operands {
            args = args.tensor(name, tensor);
        }
        let (n, k) = (weight.num_rows() as usize, weight.row_elems() as usize);
        args = args.axis("n", n).axis("k", k).scalar("panel_start", panel_start);
        rt.run(&pack_op(weight.ty), &args, stream)?;
        panel_start += n / PANEL_N;
        packed(weight.bytes);
    }
    stream.sync()?;
    let operands = operands
        .into_iter()
        .map(|(name, t)| Ok((gemm_operand(name)?, t)))
        .collect::<Result<Vec<_>>>()?;
    let op = format!("gemm.{}", packed_name(first.ty));
    Ok(Linear { op, operands, start, n, blocks: first.ty.block_elems() > 1 })
}

fn pack_op(ty: TensorType) -> String {
    format!("gemm.pack_{}", ty.name().to_lowercase())
}

/// Room for the panels of `n` columns, one buffer for each output of the packing op, whose contract says
/// their types and extents.
fn panels(rt: &Runtime, weight: &TensorInfo, n: usize) -> Result<Vec<(&'static str, Tensor)>> {
    let op = pack_op(weight.ty);
    let spec = rt.spec(&op)?;
    let axis = |name: &str| match name {
        "n" => Some(n as i64),
        "k" => Some(weight.row_elems() as i64),
        "num_panels" => Some(n.div_ceil(PANEL_N) as i64),
        _ => None,
    };
    let mut buffers = Vec::new();
    for name in ["codes", "scales", "mins", "supers"] {
        let Some(tensor) = spec.tensor(name) else { continue };
        let shape: Option<Vec<usize>> = tensor
            .shape
            .iter()
            .map(|extent| extent.eval(&axis).and_then(|v| usize::try_from(v).ok()))
            .collect();
        let dtype = tensor.dtypes.first().copied();
        let (Some(shape), Some(dtype)) = (shape, dtype) else {
            let message = format!("`{op}` gives `{name}` no extents");
            return Err(Error::new(ErrorKind::Runtime, message));
        };
        buffers.push((name, Tensor::zeros(rt, dtype, &shape)?));
    }
    Ok(buffers)
}

/// The name under which a GEMM takes an output of a packing op.
fn gemm_operand(name: &str) -> Result<&'static str> {
    match name {
        "codes" => Ok("b"),
        "scales" => Ok("scale_b"),
        "mins" => Ok("min_b"),
        "supers" => Ok("super_b"),
        other => Err(Error::new(ErrorKind::Runtime, format!("unknown packed operand `{other}`"))),
    }
}
