//! Op specs: what an operation takes and gives, as data. One value drives argument checks, the corpus,
//! the tuner's gate, bench inputs and the documentation.

use crate::{Cond, DType, Expr};
use std::collections::BTreeMap;

/// The contract of one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpSpec {
    /// Dotted name, for example `gemm.dense`.
    pub name: String,
    /// What it computes, in one or a few sentences.
    pub doc: String,
    /// The named extents that shapes are written in.
    pub axes: Vec<AxisSpec>,
    /// Operands, in the order of the op's documentation.
    pub tensors: Vec<TensorSpec>,
    /// Scalar operands.
    pub scalars: Vec<ScalarSpec>,
    /// Choices that are part of the problem: an epilogue, a mask kind.
    pub attrs: Vec<AttrSpec>,
    /// What must hold of the axes.
    pub constraints: Vec<Cond>,
    /// How close a result must be to the reference.
    pub tolerance: Tolerance,
}

/// A named extent.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisSpec {
    /// Name, as used in shapes.
    pub name: String,
    /// What it counts.
    pub doc: String,
    /// Smallest extent allowed; most axes allow 0.
    pub min: i64,
    /// How tuned configs are keyed by it.
    pub key: AxisKey,
}

/// How an axis takes part in the key of a tuned config.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisKey {
    /// By its exact extent (N, K, head_dim).
    #[default]
    Exact,
    /// By a range of extents (M, batch size, sequence length).
    Bucket,
    /// Not at all.
    Ignored,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSpec {
    /// Name by which it is bound.
    pub name: String,
    /// Read, written or both.
    pub role: Role,
    /// Element types the op is defined for.
    pub dtypes: Vec<DType>,
    /// Extents over the axes.
    pub shape: Vec<Expr>,
    /// Whether it may be left out.
    pub optional: bool,
    /// Which strides are accepted.
    pub strides: Strides,
}

/// How an operand is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Read only.
    In,
    /// Written wholly; what it held before does not matter.
    Out,
    /// Read and written, or written in part.
    InOut,
}

/// Which strides an operand may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strides {
    /// Elements of the last axis are neighbours; the other strides are free.
    #[default]
    Rows,
    /// Row-major without gaps.
    Packed,
    /// Every stride is free.
    Any,
}

/// A scalar operand.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarSpec {
    /// Name by which it is bound.
    pub name: String,
    /// Its type.
    pub dtype: DType,
    /// Smallest value allowed. NaN is refused when a bound is set.
    pub min: Option<f64>,
    /// Largest value allowed.
    pub max: Option<f64>,
    /// Value used when it is not given.
    pub default: Option<f64>,
}

/// A choice that is part of the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttrSpec {
    /// Its name.
    pub name: String,
    /// What may be chosen; the first is the default.
    pub values: Vec<String>,
}

/// How close a result must be to the reference: `|got - want| <= abs + rel * |want|`, or within `ulp`
/// units in the last place of the output's dtype.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// Absolute part.
    pub abs: f64,
    /// Relative part.
    pub rel: f64,
    /// Units in the last place.
    pub ulp: u32,
}

/// One instance of an op: what `plan` is asked for.
///
/// A tensor without an entry in `layouts` is row-major without gaps and aligned to 64 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Problem {
    /// The op's name.
    pub op: String,
    /// Element type of each tensor present. One whose spec has a single dtype may be left out.
    pub dtypes: BTreeMap<String, DType>,
    /// Chosen attributes; the rest take their defaults.
    pub attrs: BTreeMap<String, String>,
    /// Extents.
    pub axes: BTreeMap<String, i64>,
    /// Strides and alignment, where not the default.
    pub layouts: BTreeMap<String, TensorLayout>,
}

/// Strides and alignment of one tensor of a [`Problem`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorLayout {
    /// In elements, one an axis.
    pub strides: Vec<i64>,
    /// The base address is a multiple of this many bytes.
    pub align: u64,
}

impl Problem {
    /// An instance of an op, without axes and dtypes yet.
    ///
    /// ```
    /// use tilewright_abi::{DType, Problem};
    /// let p = Problem::new("gemm.dense").dtype("a", DType::F32).axis("m", 4).attr("epilogue", "none");
    /// assert_eq!(p.axes["m"], 4);
    /// ```
    pub fn new(op: impl Into<String>) -> Problem {
        Problem { op: op.into(), ..Problem::default() }
    }

    /// With the dtype of a tensor.
    #[must_use]
    pub fn dtype(mut self, tensor: &str, dtype: DType) -> Problem {
        self.dtypes.insert(tensor.to_owned(), dtype);
        self
    }

    /// With an extent.
    #[must_use]
    pub fn axis(mut self, name: &str, extent: i64) -> Problem {
        self.axes.insert(name.to_owned(), extent);
        self
    }

    /// With an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: &str) -> Problem {
        self.attrs.insert(name.to_owned(), value.to_owned());
        self
    }

    /// With the strides and alignment of a tensor.
    #[must_use]
    pub fn layout(mut self, tensor: &str, layout: TensorLayout) -> Problem {
        self.layouts.insert(tensor.to_owned(), layout);
        self
    }
}

impl AxisSpec {
    /// An axis keyed by its exact extent, of any extent from 0.
    pub fn new(name: &str, doc: &str) -> AxisSpec {
        AxisSpec { name: name.to_owned(), doc: doc.to_owned(), min: 0, key: AxisKey::Exact }
    }

    /// Keyed by a range of extents.
    #[must_use]
    pub fn bucketed(mut self) -> AxisSpec {
        self.key = AxisKey::Bucket;
        self
    }

    /// No part of the key.
    #[must_use]
    pub fn ignored(mut self) -> AxisSpec {
        self.key = AxisKey::Ignored;
        self
    }

    /// With a smallest extent.
    #[must_use]
    pub fn at_least(mut self, min: i64) -> AxisSpec {
        self.min = min;
        self
    }
}

impl TensorSpec {
    /// An operand whose rows are contiguous. Shape entries are expressions over axes, as text.
    pub fn new(name: &str, role: Role, dtypes: &[DType], shape: &[&str]) -> TensorSpec {
        TensorSpec {
            name: name.to_owned(),
            role,
            dtypes: dtypes.to_vec(),
            shape: shape.iter().map(|&s| Expr::from(s)).collect(),
            optional: false,
            strides: Strides::Rows,
        }
    }

    /// May be left out.
    #[must_use]
    pub fn optional(mut self) -> TensorSpec {
        self.optional = true;
        self
    }

    /// With another stride rule.
    #[must_use]
    pub fn strides(mut self, strides: Strides) -> TensorSpec {
        self.strides = strides;
        self
    }

    /// The dtype that need not be given: the only one, of an operand that is always there.
    pub fn implied_dtype(&self) -> Option<DType> {
        match self.dtypes.as_slice() {
            [one] if !self.optional => Some(*one),
            _ => None,
        }
    }
}

impl ScalarSpec {
    /// A scalar without bounds and default.
    pub fn new(name: &str, dtype: DType) -> ScalarSpec {
        ScalarSpec { name: name.to_owned(), dtype, min: None, max: None, default: None }
    }

    /// With bounds, both included.
    #[must_use]
    pub fn range(mut self, min: f64, max: f64) -> ScalarSpec {
        (self.min, self.max) = (Some(min), Some(max));
        self
    }

    /// With the value used when none is given.
    #[must_use]
    pub fn default_value(mut self, value: f64) -> ScalarSpec {
        self.default = Some(value);
        self
    }
}

impl AttrSpec {
    /// A choice; the first value is the default.
    pub fn new(name: &str, values: &[&str]) -> AttrSpec {
        AttrSpec { name: name.to_owned(), values: values.iter().map(|&v| v.to_owned()).collect() }
    }
}

impl OpSpec {
    /// The axis of a name.
    pub fn axis(&self, name: &str) -> Option<&AxisSpec> {
        self.axes.iter().find(|a| a.name == name)
    }

    /// The tensor of a name.
    pub fn tensor(&self, name: &str) -> Option<&TensorSpec> {
        self.tensors.iter().find(|t| t.name == name)
    }

    /// The scalar of a name.
    pub fn scalar(&self, name: &str) -> Option<&ScalarSpec> {
        self.scalars.iter().find(|s| s.name == name)
    }

    /// The attribute of a name.
    pub fn attr(&self, name: &str) -> Option<&AttrSpec> {
        self.attrs.iter().find(|a| a.name == name)
    }
}
