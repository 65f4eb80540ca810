//! Contracts of the gated activations.

use tilewright_abi::{AttrSpec, AxisSpec, DType, OpSpec, Role, ScalarSpec, TensorSpec, Tolerance};

const FLOATS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

fn gated(name: &str, doc: &str) -> OpSpec {
    OpSpec {
        name: name.into(),
        doc: doc.into(),
        axes: vec![
            AxisSpec::new("tokens", "tokens").bucketed(),
            AxisSpec::new("inter", "elements of an output row").at_least(1),
        ],
        tensors: vec![
            TensorSpec::new("x", Role::In, &FLOATS, &["tokens", "2 * inter"]),
            TensorSpec::new("out", Role::Out, &FLOATS, &["tokens", "inter"]),
        ],
        scalars: vec![],
        attrs: vec![],
        constraints: vec![],
        tolerance: Tolerance { abs: 1e-6, rel: 1e-5, ulp: 1 },
    }
}

/// `silu(gate) · up`.
pub fn silu_and_mul() -> OpSpec {
    gated(
        "activation.silu_and_mul",
        "out = g * sigmoid(g) * u with g = x[:, :inter] and u = x[:, inter:], in f32, rounded once",
    )
}

/// `gelu(gate) · up`.
pub fn gelu_and_mul() -> OpSpec {
    let mut s = gated(
        "activation.gelu_and_mul",
        "out = gelu(g) * u with g = x[:, :inter] and u = x[:, inter:], in f32, rounded once; \
         approximate = none is the erf form, tanh the tanh form",
    );
    s.attrs = vec![AttrSpec::new("approximate", &["none", "tanh"])];
    s
}

/// SwiGLU with limit, alpha and beta.
pub fn swiglu() -> OpSpec {
    let mut s = gated(
        "activation.swiglu",
        "g' = min(g, limit), u' = clamp(u, -limit, limit), out = g' * sigmoid(alpha * g') * \
         (u' + beta). layout = halves: g = x[:, :inter], u = x[:, inter:]; interleaved: g = x[:, 0::2], \
         u = x[:, 1::2]",
    );
    s.scalars = vec![
        ScalarSpec::new("alpha", DType::F32).default_value(1.702),
        ScalarSpec::new("beta", DType::F32).default_value(1.0),
        ScalarSpec::new("limit", DType::F32).default_value(7.0),
    ];
    s.attrs = vec![AttrSpec::new("layout", &["halves", "interleaved"])];
    s
}

/// SiTU: a tanh-bounded gate and linear part.
pub fn situ_and_mul() -> OpSpec {
    let mut s = gated(
        "activation.situ_and_mul",
        "out = beta * tanh(g / beta) * sigmoid(g) * (lb > 0 ? lb * tanh(u / lb) : u) with \
         g = x[:, :inter], u = x[:, inter:] and lb = linear_beta, in f32, rounded once",
    );
    s.scalars = vec![
        ScalarSpec::new("beta", DType::F32).default_value(4.0),
        ScalarSpec::new("linear_beta", DType::F32).default_value(25.0),
    ];
    s
}
