//! Op implementations: which launches compute an op, for which problems, over which workspace.

use crate::{Cond, DType, Expr, Variant};
use std::collections::BTreeMap;

/// One way to compute an op: an algorithm in one variant for one choice of dtypes and attributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpImpl {
    /// The op's name.
    pub op: String,
    /// The algorithm, for example `split_k`.
    pub algorithm: String,
    /// The choices it was compiled with.
    pub variant: Variant,
    /// Element type of each tensor present; a tensor whose spec has a single dtype may be left out.
    pub dtypes: BTreeMap<String, DType>,
    /// Attributes it is for; an attribute left out means the default of the spec.
    pub attrs: BTreeMap<String, String>,
    /// What must hold of the axes.
    pub when: Vec<Cond>,
    /// Among impls that apply and have no tuned record, the highest wins; ties go to the first listed.
    pub priority: i32,
    /// Scratch memory.
    pub workspace: Vec<Workspace>,
    /// The launches, in order; each sees the writes of those before it.
    pub launches: Vec<Launch>,
}

/// A scratch tensor, row-major, uninitialised unless a launch writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Workspace {
    /// Name by which launches refer to it.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Extents over the axes.
    pub dims: Vec<Expr>,
}

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The kernel's name in the manifest.
    pub kernel: String,
    /// One for each parameter of the kernel, in order.
    pub args: Vec<Arg>,
    /// Programs along each axis, over the problem's axes.
    pub grid: [Expr; 3],
}

/// What is bound to a kernel's parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// An operand of the op.
    Tensor {
        /// Its name in the spec.
        name: String,
        /// Seen with these dims instead of its own; the operand must then be row-major without gaps.
        view: Option<Vec<Expr>>,
    },
    /// A scratch tensor.
    Workspace(String),
    /// A scalar operand.
    Scalar(String),
    /// A number computed from the axes.
    Axis(Expr),
}

impl Arg {
    /// An operand as it is.
    pub fn tensor(name: &str) -> Arg {
        Arg::Tensor { name: name.to_owned(), view: None }
    }

    /// An operand seen with other dims, as text expressions.
    pub fn tensor_as(name: &str, dims: &[&str]) -> Arg {
        let view = dims.iter().map(|&d| Expr::from(d)).collect();
        Arg::Tensor { name: name.to_owned(), view: Some(view) }
    }

    /// A scratch tensor.
    pub fn workspace(name: &str) -> Arg {
        Arg::Workspace(name.to_owned())
    }

    /// A scalar operand.
    pub fn scalar(name: &str) -> Arg {
        Arg::Scalar(name.to_owned())
    }

    /// A number computed from the axes.
    pub fn axis(expr: impl Into<Expr>) -> Arg {
        Arg::Axis(expr.into())
    }
}

impl OpImpl {
    /// `<op>.<algorithm>.<variant>`, the name in messages.
    pub fn id(&self) -> String {
        if self.variant.is_empty() {
            format!("{}.{}", self.op, self.algorithm)
        } else {
            format!("{}.{}.{}", self.op, self.algorithm, self.variant)
        }
    }
}
