//! Contracts of the norms.

use tilewright_abi::{AxisSpec, DType, OpSpec, Role, ScalarSpec, TensorSpec, Tolerance};

/// Element types of activations.
pub const FLOATS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

fn eps() -> ScalarSpec {
    ScalarSpec::new("eps", DType::F32).range(0.0, 1.0).default_value(1e-5)
}

fn rows_axes() -> Vec<AxisSpec> {
    vec![
        AxisSpec::new("rows", "rows, each normalised on its own").bucketed(),
        AxisSpec::new("hidden", "elements of a row").at_least(1),
    ]
}

fn scalars() -> Vec<ScalarSpec> {
    vec![
        ScalarSpec::new("eps", DType::F32).range(0.0, 1.0).default_value(1e-5),
        ScalarSpec::new("weight_offset", DType::F32).default_value(0.0),
    ]
}

const TOLERANCE: Tolerance = Tolerance { abs: 1e-6, rel: 1e-5, ulp: 1 };

/// `out = x / sqrt(mean(x²) + eps) · weight` by row.
pub fn rmsnorm() -> OpSpec {
    OpSpec {
        name: "norm.rmsnorm".into(),
        doc: "out[r, :] = x[r, :] / sqrt(mean(x[r, :]^2) + eps) * (weight + weight_offset). The mean is taken in f32 \
              and does not overflow for finite rows."
            .into(),
        axes: rows_axes(),
        tensors: vec![
            TensorSpec::new("x", Role::In, &FLOATS, &["rows", "hidden"]),
            TensorSpec::new("weight", Role::In, &FLOATS, &["hidden"]),
            TensorSpec::new("out", Role::Out, &FLOATS, &["rows", "hidden"]),
        ],
        scalars: scalars(),
        attrs: vec![],
        constraints: vec![],
        tolerance: TOLERANCE,
    }
}

/// `residual += x`, rounded to the residual's dtype, then [`rmsnorm`] of that.
pub fn add_rmsnorm() -> OpSpec {
    OpSpec {
        name: "norm.add_rmsnorm".into(),
        doc: "residual = round(x + residual); out = rmsnorm(residual). The sum is rounded to the \
              residual's dtype first and the rounded value is normalised, so that the result equals \
              an addition followed by norm.rmsnorm bit for bit."
            .into(),
        axes: rows_axes(),
        tensors: vec![
            TensorSpec::new("x", Role::In, &FLOATS, &["rows", "hidden"]),
            TensorSpec::new("residual", Role::InOut, &FLOATS, &["rows", "hidden"]),
            TensorSpec::new("weight", Role::In, &FLOATS, &["hidden"]),
            TensorSpec::new("out", Role::Out, &FLOATS, &["rows", "hidden"]),
        ],
        scalars: scalars(),
        attrs: vec![],
        constraints: vec![],
        tolerance: TOLERANCE,
    }
}

/// Mean and variance by row, then weight and bias.
pub fn layernorm() -> OpSpec {
    OpSpec {
        name: "norm.layernorm".into(),
        doc:
            "out[r, :] = (x[r, :] - mean) / sqrt(var + eps) * weight + bias, with the variance of \
              the whole row taken about its mean in f32."
                .into(),
        axes: rows_axes(),
        tensors: vec![
            TensorSpec::new("x", Role::In, &FLOATS, &["rows", "hidden"]),
            TensorSpec::new("weight", Role::In, &FLOATS, &["hidden"]),
            TensorSpec::new("bias", Role::In, &FLOATS, &["hidden"]),
            TensorSpec::new("out", Role::Out, &FLOATS, &["rows", "hidden"]),
        ],
        scalars: vec![eps()],
        attrs: vec![],
        constraints: vec![],
        tolerance: TOLERANCE,
    }
}

/// [`rmsnorm`] of each head of each token, over strided heads.
pub fn qk_norm() -> OpSpec {
    OpSpec {
        name: "norm.qk_norm".into(),
        doc: "out[t, h, :] = rmsnorm(x[t, h, :]) with one weight for all heads. Token and head strides are free, so x may \
              be the q or k part of a fused projection; out may be the memory of x."
            .into(),
        axes: vec![
            AxisSpec::new("tokens", "tokens").bucketed(),
            AxisSpec::new("heads", "heads of a token").at_least(1),
            AxisSpec::new("head_dim", "elements of a head").at_least(1),
        ],
        tensors: vec![
            TensorSpec::new("x", Role::In, &FLOATS, &["tokens", "heads", "head_dim"]),
            TensorSpec::new("weight", Role::In, &FLOATS, &["head_dim"]),
            TensorSpec::new("out", Role::Out, &FLOATS, &["tokens", "heads", "head_dim"]),
        ],
        scalars: scalars(),
        attrs: vec![],
        constraints: vec![],
        tolerance: TOLERANCE,
    }
}
