//! Contracts of softmax over rows.

use tilewright_abi::{AxisSpec, DType, OpSpec, Role, TensorSpec, Tolerance};

const FLOATS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

fn axes() -> Vec<AxisSpec> {
    vec![
        AxisSpec::new("rows", "rows").bucketed(),
        AxisSpec::new("cols", "elements of a row").at_least(1),
    ]
}

/// Probabilities by row.
pub fn softmax() -> OpSpec {
    OpSpec {
        name: "softmax.softmax".into(),
        doc: "out[r, :] = exp(x[r, :] - max) / sum; a row of -inf alone gives zeros; a NaN makes its \
              row NaN"
            .into(),
        axes: axes(),
        tensors: vec![
            TensorSpec::new("x", Role::In, &FLOATS, &["rows", "cols"]),
            TensorSpec::new("out", Role::Out, &FLOATS, &["rows", "cols"]),
        ],
        scalars: vec![],
        attrs: vec![],
        constraints: vec![],
        tolerance: Tolerance { abs: 1e-7, rel: 1e-5, ulp: 1 },
    }
}

/// Log-probabilities and the log of the sum by row.
pub fn log_softmax() -> OpSpec {
    OpSpec {
        name: "softmax.log_softmax".into(),
        doc: "lse[r] = ln(sum(exp(x[r, :]))), out[r, :] = x[r, :] - lse[r]; a row of -inf alone gives \
              -inf in both"
            .into(),
        axes: axes(),
        tensors: vec![
            TensorSpec::new("x", Role::In, &FLOATS, &["rows", "cols"]),
            TensorSpec::new("out", Role::Out, &FLOATS, &["rows", "cols"]),
            TensorSpec::new("lse", Role::Out, &[DType::F32], &["rows"]),
        ],
        scalars: vec![],
        attrs: vec![],
        constraints: vec![],
        tolerance: Tolerance { abs: 1e-5, rel: 1e-5, ulp: 1 },
    }
}
