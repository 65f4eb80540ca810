//! Targets: what a kernel is compiled for, and what variant spaces may know about it.

use crate::DType;
use std::fmt;

/// The name of a target, `family/architecture`, for example `cpu/x86-64-v3`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TargetId(pub String);

/// The kinds of device that code is generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// A shared object for this machine's processor.
    Cpu,
    /// PTX.
    Nvptx,
    /// AMD GCN code objects.
    Amdgcn,
}

/// What a variant space may look at: nothing else of a target decides which variants exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetCaps {
    /// The target.
    pub id: TargetId,
    /// Its kind.
    pub family: Family,
    /// Bytes of one vector register; of one lane's widest load on a GPU.
    pub vector_bytes: u32,
    /// Vector registers a kernel may use at once.
    pub vector_regs: u32,
    /// Matrix instructions, most wanted first.
    pub mma: Vec<MmaCap>,
}

/// One kind of matrix instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmaCap {
    /// Element type of the left operand.
    pub a: DType,
    /// Element type of the right operand.
    pub b: DType,
    /// Element type of the accumulator.
    pub acc: DType,
    /// Neighbouring k elements that one lane multiplies and sums: 1, 2 or 4 on a CPU.
    pub k_group: u32,
}

impl TargetId {
    /// A target by name.
    pub fn new(name: impl Into<String>) -> TargetId {
        TargetId(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as one path component: `cpu/x86-64-v3` is `cpu-x86-64-v3`.
    pub fn folder(&self) -> String {
        self.0.replace('/', "-")
    }

    /// The kind of device, from the part before the slash.
    pub fn family(&self) -> Option<Family> {
        Family::from_name(self.0.split('/').next().unwrap_or(""))
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Family {
    /// The text form.
    pub fn name(self) -> &'static str {
        match self {
            Family::Cpu => "cpu",
            Family::Nvptx => "nvptx",
            Family::Amdgcn => "amdgcn",
        }
    }

    /// The family of a text form.
    pub fn from_name(name: &str) -> Option<Family> {
        [Family::Cpu, Family::Nvptx, Family::Amdgcn].into_iter().find(|f| f.name() == name)
    }
}

impl TargetCaps {
    /// The preferred matrix instruction for these operands.
    pub fn mma_for(&self, a: DType, b: DType) -> Option<&MmaCap> {
        self.mma.iter().find(|m| m.a == a && m.b == b)
    }

    /// Elements of a dtype that one vector register holds.
    pub fn lanes(&self, dtype: DType) -> u32 {
        self.vector_bytes * 8 / dtype.bits()
    }
}
