//! The list of ops: each with its contract and, for a target, its implementations.
//!
//! In: a target's capabilities. Out: [`ImplDef`]s, abi data plus closures that stage the kernels. The
//! pack build and the tuner compile whatever is listed here; they know no kernel by name.

use std::collections::BTreeMap;
use tilewright_abi::{
    Arg, Cond, DType, Expr, Launch, OpImpl, OpSpec, TargetCaps, Variant, Workspace,
};
use tilewright_ir::{Diagnostic, Func};

/// One op: its contract, and what implements it on a target.
pub struct OpEntry {
    /// The contract.
    pub spec: OpSpec,
    /// The implementations for a target, most wanted first among equal priorities.
    pub impls: Box<dyn Fn(&TargetCaps) -> Vec<ImplDef> + Send + Sync>,
}

/// One implementation: what [`OpImpl`] holds, with the kernels still to be staged.
#[derive(Default)]
pub struct ImplDef {
    /// Algorithm, for example `panel`.
    pub algorithm: String,
    /// The choices it is staged with.
    pub variant: Variant,
    /// Element type of each tensor present.
    pub dtypes: BTreeMap<String, DType>,
    /// Attributes it is for.
    pub attrs: BTreeMap<String, String>,
    /// What must hold of the axes.
    pub when: Vec<Cond>,
    /// Higher is preferred.
    pub priority: i32,
    /// Scratch memory.
    pub workspace: Vec<Workspace>,
    /// Launches, in order.
    pub launches: Vec<LaunchDef>,
}

/// Stages one kernel.
pub type StageFn = Box<dyn Fn() -> Result<Func, Vec<Diagnostic>> + Send + Sync>;

/// One launch of an [`ImplDef`].
pub struct LaunchDef {
    /// Name of the kernel, unique to what `stage` builds for the target: equal names mean equal
    /// kernels, so that impls which differ only in what they bind share one.
    pub kernel: String,
    /// Builds the kernel.
    pub stage: StageFn,
    /// One for each parameter of the kernel.
    pub args: Vec<Arg>,
    /// Programs along each axis.
    pub grid: [Expr; 3],
}

impl ImplDef {
    /// An implementation without launches that applies always.
    pub fn new(algorithm: &str, variant: Variant) -> ImplDef {
        ImplDef { algorithm: algorithm.to_owned(), variant, ..ImplDef::default() }
    }

    /// For this dtype of a tensor.
    #[must_use]
    pub fn dtype(mut self, tensor: &str, dtype: DType) -> ImplDef {
        self.dtypes.insert(tensor.to_owned(), dtype);
        self
    }

    /// For this value of an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: &str) -> ImplDef {
        self.attrs.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Only when a condition over the axes holds.
    #[must_use]
    pub fn when(mut self, cond: &str) -> ImplDef {
        self.when.push(Cond::from(cond));
        self
    }

    /// With a priority; higher is preferred.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> ImplDef {
        self.priority = priority;
        self
    }

    /// With a scratch tensor.
    #[must_use]
    pub fn workspace(mut self, name: &str, dtype: DType, dims: &[&str]) -> ImplDef {
        let dims = dims.iter().map(|&d| Expr::from(d)).collect();
        self.workspace.push(Workspace { name: name.to_owned(), dtype, dims });
        self
    }

    /// With one more launch; absent grid axes are 1.
    #[must_use]
    pub fn launch(
        mut self,
        kernel: String,
        stage: StageFn,
        args: Vec<Arg>,
        grid: &[&str],
    ) -> ImplDef {
        let axis = |i: usize| grid.get(i).map_or(Expr::Const(1), |&e| Expr::from(e));
        let grid = [axis(0), axis(1), axis(2)];
        self.launches.push(LaunchDef { kernel, stage, args, grid });
        self
    }

    /// The data of this implementation of `op`, without the staging closures.
    pub fn to_impl(&self, op: &str) -> OpImpl {
        OpImpl {
            op: op.to_owned(),
            algorithm: self.algorithm.clone(),
            variant: self.variant.clone(),
            dtypes: self.dtypes.clone(),
            attrs: self.attrs.clone(),
            when: self.when.clone(),
            priority: self.priority,
            workspace: self.workspace.clone(),
            launches: self
                .launches
                .iter()
                .map(|l| Launch {
                    kernel: l.kernel.clone(),
                    args: l.args.clone(),
                    grid: l.grid.clone(),
                })
                .collect(),
        }
    }
}

/// Every op, family by family.
pub fn registry() -> Vec<OpEntry> {
    let mut ops = Vec::new();
    ops.extend(crate::gemm::entries());
    ops.extend(crate::quant::entries());
    ops.extend(crate::moe::entries());
    ops.extend(crate::norm::entries());
    ops.extend(crate::rope::entries());
    ops.extend(crate::activation::entries());
    ops.extend(crate::embedding::entries());
    ops.extend(crate::attention::entries());
    ops.extend(crate::softmax::entries());
    ops.extend(crate::sampler::entries());
    ops
}
