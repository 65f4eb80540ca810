//! Contracts of the embedding look-ups.

use tilewright_abi::{AttrSpec, AxisSpec, DType, OpSpec, Role, TensorSpec, Tolerance};

fn axes() -> Vec<AxisSpec> {
    vec![
        AxisSpec::new("tokens", "tokens").bucketed(),
        AxisSpec::new("vocab", "rows of the table").at_least(1),
        AxisSpec::new("hidden", "elements of a row").at_least(1),
    ]
}

/// Rows of a float table.
pub fn gather() -> OpSpec {
    let floats = [DType::F32, DType::BF16, DType::F16];
    OpSpec {
        name: "embedding.gather".into(),
        doc: "out[t, :] = table[ids[t], :]; an id outside the table gives a row of zeros".into(),
        axes: axes(),
        tensors: vec![
            TensorSpec::new("ids", Role::In, &[DType::I32], &["tokens"]),
            TensorSpec::new("table", Role::In, &floats, &["vocab", "hidden"]),
            TensorSpec::new("out", Role::Out, &floats, &["tokens", "hidden"]),
        ],
        scalars: vec![],
        attrs: vec![],
        constraints: vec![],
        tolerance: Tolerance::default(),
    }
}

/// Rows of a table of GGUF blocks.
pub fn gather_gguf() -> OpSpec {
    OpSpec {
        name: "embedding.gather_gguf".into(),
        doc: "out[t, :] = dequantise(table[ids[t], :]), the table being the bytes of the file: hidden / \
              block elements of blocks a row; an id outside the table gives a row of zeros. hidden is a \
              multiple of the block's elements (32; 256 for q4_k and q6_k)"
            .into(),
        axes: {
            let mut a = axes();
            a.push(AxisSpec::new("row_bytes", "bytes of a row of blocks").at_least(1));
            a
        },
        tensors: vec![
            TensorSpec::new("ids", Role::In, &[DType::I32], &["tokens"]),
            TensorSpec::new("table", Role::In, &[DType::U8], &["vocab", "row_bytes"]),
            TensorSpec::new("out", Role::Out, &[DType::F32], &["tokens", "hidden"]),
        ],
        scalars: vec![],
        attrs: vec![AttrSpec::new("format", &["q8_0", "q4_0", "q4_1", "q5_0", "q4_k", "q6_k"])],
        constraints: vec!["hidden % 32 == 0".into()],
        tolerance: Tolerance { abs: 0.0, rel: 1e-6, ulp: 1 },
    }
}
