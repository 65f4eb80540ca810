//! Contracts of rotary position embedding.

use tilewright_abi::{AttrSpec, AxisSpec, DType, OpSpec, Role, ScalarSpec, TensorSpec, Tolerance};

const FLOATS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// The cosines and sines of every position, built once for a model.
pub fn table() -> OpSpec {
    let scalar =
        |name: &str, default: f64| ScalarSpec::new(name, DType::F32).default_value(default);
    OpSpec {
        name: "rope.table".into(),
        doc: "cos_sin[p, i] = cos(p * f_i) * attention_factor and cos_sin[p, rotary_dim/2 + i] the \
              same of sin, with f_i = theta^(-2i/rotary_dim) changed by the scaling rule: none; \
              linear: f / factor; llama3: by wavelength against original_max_position, low_freq_factor, \
              high_freq_factor; yarn: a ramp between f / factor and f from beta_fast to beta_slow \
              (attention_factor is usually 0.1 ln(factor) + 1 there); divisors: f_i / freq_factors[i]. \
              Angles are computed and reduced in f64."
            .into(),
        axes: vec![
            AxisSpec::new("max_position", "positions in the table").ignored(),
            AxisSpec::new("rotary_dim", "rotated elements of a head, even").at_least(2),
        ],
        tensors: vec![
            TensorSpec::new("freq_factors", Role::In, &[DType::F32], &["rotary_dim / 2"]).optional(),
            TensorSpec::new("cos_sin", Role::Out, &[DType::F32], &["max_position", "rotary_dim"]),
        ],
        scalars: vec![
            scalar("theta", 10000.0),
            scalar("factor", 1.0),
            scalar("low_freq_factor", 1.0),
            scalar("high_freq_factor", 4.0),
            scalar("original_max_position", 8192.0),
            scalar("beta_fast", 32.0),
            scalar("beta_slow", 1.0),
            scalar("attention_factor", 1.0),
        ],
        attrs: vec![AttrSpec::new("scaling", &["none", "linear", "llama3", "yarn", "divisors"])],
        constraints: vec!["rotary_dim % 2 == 0".into()],
        tolerance: Tolerance { abs: 1e-6, rel: 0.0, ulp: 0 },
    }
}

/// Rotates q and k by their tokens' positions.
pub fn apply() -> OpSpec {
    let heads = |name: &str, role, heads: &str| {
        TensorSpec::new(name, role, &FLOATS, &["tokens", heads, "head_dim"])
    };
    OpSpec {
        name: "rope.apply".into(),
        doc: "Rotates the first rotary_dim elements of each head of q and k by positions[t]; the rest \
              is copied. style = half pairs element i with i + rotary_dim/2 (NeoX), interleaved pairs \
              2i with 2i + 1 (what q and k weights of a GGUF llama are permuted for). q_out may be the \
              memory of q, k_out that of k. Token and head strides are free. A position outside the \
              table gives zeros."
            .into(),
        axes: vec![
            AxisSpec::new("tokens", "tokens").bucketed(),
            AxisSpec::new("num_qo_heads", "heads of q"),
            AxisSpec::new("num_kv_heads", "heads of k"),
            AxisSpec::new("head_dim", "elements of a head").at_least(2),
            AxisSpec::new("rotary_dim", "rotated elements of a head").at_least(2),
            AxisSpec::new("max_position", "positions in the table").ignored(),
        ],
        tensors: vec![
            TensorSpec::new("positions", Role::In, &[DType::I32], &["tokens"]),
            TensorSpec::new("cos_sin", Role::In, &[DType::F32], &["max_position", "rotary_dim"]),
            heads("q", Role::In, "num_qo_heads"),
            heads("k", Role::In, "num_kv_heads"),
            heads("q_out", Role::Out, "num_qo_heads"),
            heads("k_out", Role::Out, "num_kv_heads"),
        ],
        scalars: vec![],
        attrs: vec![AttrSpec::new("style", &["half", "interleaved"])],
        constraints: vec!["rotary_dim % 2 == 0".into(), "rotary_dim <= head_dim".into()],
        tolerance: Tolerance { abs: 1e-6, rel: 1e-6, ulp: 1 },
    }
}
