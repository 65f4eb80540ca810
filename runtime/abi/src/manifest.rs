//! The manifest of one target: its kernels, the impls made of them, and the specs they implement.

use crate::{KernelDesc, OpImpl, OpSpec, TargetId};

/// Version of the manifest's form that this crate writes and reads.
pub const MANIFEST_VERSION: u32 = 1;

/// Everything the runtime knows about one target's compiled kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// [`MANIFEST_VERSION`] of the writer.
    pub format_version: u32,
    /// What compiled the kernels.
    pub toolchain: String,
    /// The target.
    pub target: TargetId,
    /// Processor features that must be there, by their names in Rust's `target_feature`.
    pub features: Vec<String>,
    /// Among targets that a machine can run, the highest is taken.
    pub preference: u32,
    /// Compiled kernels.
    pub kernels: Vec<KernelDesc>,
    /// Impls, in order of listing.
    pub impls: Vec<OpImpl>,
    /// Specs of all ops that have an impl.
    pub specs: Vec<OpSpec>,
}

impl Manifest {
    /// A manifest without kernels.
    pub fn new(target: TargetId, toolchain: impl Into<String>) -> Manifest {
        Manifest {
            format_version: MANIFEST_VERSION,
            toolchain: toolchain.into(),
            target,
            features: Vec::new(),
            preference: 0,
            kernels: Vec::new(),
            impls: Vec::new(),
            specs: Vec::new(),
        }
    }

    /// The kernel of a name.
    pub fn kernel(&self, name: &str) -> Option<&KernelDesc> {
        self.kernels.iter().find(|k| k.name == name)
    }

    /// The spec of an op.
    pub fn spec(&self, op: &str) -> Option<&OpSpec> {
        self.specs.iter().find(|s| s.name == op)
    }
}
