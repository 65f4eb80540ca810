//! What the compiler knows of a target: data, and the checks that prove a row consistent.

pub use tilewright_abi::Family;
use tilewright_abi::{DType, MmaCap, TargetCaps, TargetId};

/// How LLVM names the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlvmTarget {
    /// Target triple.
    pub triple: &'static str,
    /// `-mcpu`.
    pub cpu: &'static str,
    /// Features beyond those of `cpu`, each with its sign.
    pub features: &'static [&'static str],
}

/// The instructions that an mma row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MmaForm {
    /// One fused multiply-add a step of K; operands converted to the accumulator's type first.
    Fma,
    /// bf16 pairs taken apart by a shift and a mask, then two fused multiply-adds.
    PairFma,
    /// `vdpbf16ps`.
    DotBf16,
    /// `vpmaddubsw`, `vpmaddwd`, `vpaddd`: u8 quads by i8 quads in three steps.
    Maddubs,
    /// `vpdpbusd`: u8 quads by i8 quads.
    DotU8I8,
}

/// One row of a target's mma table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmaShape {
    /// Left operand.
    pub a: DType,
    /// Right operand.
    pub b: DType,
    /// Accumulator.
    pub acc: DType,
    /// Neighbouring K elements that one accumulator lane consumes at a time: they stand in the
    /// lowest lane bits of both operands.
    pub k_group: u32,
    /// The instructions.
    pub form: MmaForm,
}

/// Hard limits of generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one tile. A larger tile would not fit the stack a kernel may use.
    pub tile_bytes: usize,
    /// Vector multiply-adds one product may unroll to.
    pub product_vectors: usize,
}

/// Throughputs of one core for the cost model, in operations a cycle; typical, not measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// f32 multiply-adds.
    pub fma_f32: f64,
    /// bf16 multiply-adds.
    pub fma_bf16: f64,
    /// 8-bit integer multiply-adds.
    pub dot_i8: f64,
    /// Bytes loaded from the first-level cache.
    pub l1_bytes: f64,
}

/// One target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetDesc {
    /// `cpu/x86-64-v3`.
    pub id: &'static str,
    /// Which lowering it uses.
    pub family: Family,
    /// How LLVM names it.
    pub llvm: LlvmTarget,
    /// CPU features, as the loader's feature test names them, that a machine must have to run this
    /// target's code.
    pub cpuid: &'static [&'static str],
    /// Bytes of one vector register.
    pub vector_bytes: u32,
    /// Number of vector registers.
    pub vector_regs: u32,
    /// Hard limits.
    pub limits: Limits,
    /// Matrix rows, in order of preference.
    pub mma: &'static [MmaShape],
    /// For the cost model.
    pub rates: Rates,
}

impl TargetDesc {
    /// The first mma row for these operands.
    pub fn mma_row(&self, a: DType, b: DType, acc: DType) -> Option<&'static MmaShape> {
        self.mma.iter().find(|m| m.a == a && m.b == b && m.acc == acc)
    }

    /// What variant spaces may look at.
    pub fn caps(&self) -> TargetCaps {
        let cap = |m: &MmaShape| MmaCap { a: m.a, b: m.b, acc: m.acc, k_group: m.k_group };
        TargetCaps {
            id: TargetId::new(self.id),
            family: self.family,
            vector_bytes: self.vector_bytes,
            vector_regs: self.vector_regs,
            mma: self.mma.iter().map(cap).collect(),
        }
    }

    /// Whether the row contradicts itself; the message says how.
    pub fn check(&self) -> Result<(), String> {
        let fail = |what: String| Err(format!("target `{}`: {what}", self.id));
        if !self.vector_bytes.is_power_of_two() || self.vector_bytes < 16 {
            return fail(format!("vector of {} bytes", self.vector_bytes));
        }
        if self.llvm.features.iter().any(|f| !f.starts_with(['+', '-'])) {
            return fail("an LLVM feature has no sign".into());
        }
        for (i, m) in self.mma.iter().enumerate() {
            let group = match m.form {
                MmaForm::Fma => 1,
                MmaForm::PairFma | MmaForm::DotBf16 => 2,
                MmaForm::Maddubs | MmaForm::DotU8I8 => 4,
            };
            let float = m.acc.is_float();
            if m.k_group != group || m.a.is_float() != float || m.b.is_float() != float {
                return fail(format!("mma row {i} does not fit its instructions"));
            }
            if self.mma[..i].iter().any(|n| (n.a, n.b, n.acc) == (m.a, m.b, m.acc)) {
                return fail(format!("mma row {i} can never be chosen"));
            }
        }
        Ok(())
    }
}
