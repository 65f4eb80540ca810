//! Contracts of the quantisers.
//!
//! | op | in | out |
//! |---|---|---|
//! | `quant.i8_group` | `x` `[m, k]` float | `q` i8 `[m, k]`, `scale` and `sum` f32 `[m, ceil_div(k, 32)]`, `status` i32 `[m]` |
//! | `quant.i8_token` | `x` `[m, k]` float | `q` i8 `[m, k]`, `scale` and `sum` f32 `[m]`, `status` i32 `[m]` |
//! | `quant.f8_group` | `x` `[m, k]` float | `q` f8e4m3 `[m, k]`, `scale` f32 `[m, ceil_div(k, 128)]` |
//! | `quant.f8_token` | `x` `[m, k]` float | `q` f8e4m3 `[m, k]`, `scale` f32 `[m]` |
//! | `quant.dequant_i8_group`, `quant.dequant_i8_token`, `quant.dequant_f8_group`, `quant.dequant_f8_token` | `q`, `scale` | `x` `[m, k]` float |
//!
//! Rules: `scale = max(min(amax, f32::MAX) / limit, 2^-126)` with limit 127 or 448 and amax over
//! the elements that are not NaN; `code = round_to_even(x · (1 / scale))`, saturating; `sum = scale
//! · Σ codes`. An int8 code of a NaN is 0 and the row's status 1 (0 otherwise); an f8e4m3 code of a
//! NaN is NaN.

use crate::gemm::spec::FLOATS;
use tilewright_abi::{AxisSpec, DType, OpSpec, Role, Strides, TensorSpec, Tolerance};

/// Elements that share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// This many neighbours of a row; the last group of a row may be shorter.
    Group(usize),
    /// A whole row.
    Token,
}

/// Code type of a quantiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Symmetric int8, −127 to 127.
    I8,
    /// OCP e4m3.
    F8E4M3,
}

impl Code {
    /// Both.
    pub const ALL: [Code; 2] = [Code::I8, Code::F8E4M3];

    /// The element type.
    pub fn dtype(self) -> DType {
        match self {
            Code::I8 => DType::I8,
            Code::F8E4M3 => DType::F8E4M3,
        }
    }

    /// Largest magnitude of a code.
    pub fn limit(self) -> f32 {
        match self {
            Code::I8 => 127.0,
            Code::F8E4M3 => 448.0,
        }
    }

    /// The groupings there are ops for.
    pub fn groupings(self) -> [Grouping; 2] {
        match self {
            Code::I8 => [Grouping::Group(32), Grouping::Token],
            Code::F8E4M3 => [Grouping::Group(128), Grouping::Token],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Code::I8 => "i8",
            Code::F8E4M3 => "f8",
        }
    }
}

/// `i8_group` and the like: the end of the op's name.
pub fn suffix(code: Code, grouping: Grouping) -> String {
    let by = match grouping {
        Grouping::Group(_) => "group",
        Grouping::Token => "token",
    };
    format!("{}_{by}", code.name())
}

fn scales(grouping: Grouping) -> Vec<String> {
    match grouping {
        Grouping::Group(g) => vec!["m".to_owned(), format!("ceil_div(k, {g})")],
        Grouping::Token => vec!["m".to_owned()],
    }
}

fn axes() -> Vec<AxisSpec> {
    vec![AxisSpec::new("m", "rows").bucketed(), AxisSpec::new("k", "elements of a row")]
}

/// `quant.<code>_<grouping>`.
pub fn quantise(code: Code, grouping: Grouping) -> OpSpec {
    let scale_shape = scales(grouping);
    let scale_shape: Vec<&str> = scale_shape.iter().map(String::as_str).collect();
    let mut tensors = vec![
        TensorSpec::new("x", Role::In, &FLOATS, &["m", "k"]),
        TensorSpec::new("q", Role::Out, &[code.dtype()], &["m", "k"]),
        TensorSpec::new("scale", Role::Out, &[DType::F32], &scale_shape).strides(Strides::Packed),
    ];
    if code == Code::I8 {
        let sum = TensorSpec::new("sum", Role::Out, &[DType::F32], &scale_shape);
        tensors.push(sum.strides(Strides::Packed));
        tensors.push(TensorSpec::new("status", Role::Out, &[DType::I32], &["m"]));
    }
    OpSpec {
        name: format!("quant.{}", suffix(code, grouping)),
        doc: format!("Dynamic symmetric quantisation to {} with f32 scales.", code.dtype()),
        axes: axes(),
        tensors,
        scalars: Vec::new(),
        attrs: Vec::new(),
        constraints: Vec::new(),
        tolerance: Tolerance::default(),
    }
}

/// `quant.dequant_<code>_<grouping>`.
pub fn dequantise(code: Code, grouping: Grouping) -> OpSpec {
    let scale_shape = scales(grouping);
    let scale_shape: Vec<&str> = scale_shape.iter().map(String::as_str).collect();
    OpSpec {
        name: format!("quant.dequant_{}", suffix(code, grouping)),
        doc: format!("x = scale · code for {} codes.", code.dtype()),
        axes: axes(),
        tensors: vec![
            TensorSpec::new("q", Role::In, &[code.dtype()], &["m", "k"]),
            TensorSpec::new("scale", Role::In, &[DType::F32], &scale_shape)
                .strides(Strides::Packed),
            TensorSpec::new("x", Role::Out, &FLOATS, &["m", "k"]),
        ],
        scalars: Vec::new(),
        attrs: Vec::new(),
        constraints: Vec::new(),
        tolerance: Tolerance { abs: 0.0, rel: 0.0, ulp: 0 },
    }
}
