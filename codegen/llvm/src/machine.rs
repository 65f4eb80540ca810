//! The machine that LLVM compiles for: triple, CPU and features, as text.

use inkwell::OptimizationLevel;
use inkwell::targets::{
    CodeModel, RelocMode, Target, TargetMachine, TargetMachineOptions, TargetTriple,
};

use crate::error::{Error, Step};
use crate::ffi;

/// What LLVM needs to know about a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// For example `x86_64-unknown-linux-gnu`.
    pub triple: String,
    /// A name LLVM knows, for example `x86-64-v3`.
    pub cpu: String,
    /// Comma-separated `+feature` and `-feature`; may be empty.
    pub features: String,
}

impl Machine {
    pub(crate) fn open(&self, level: OptimizationLevel) -> Result<TargetMachine, Error> {
        ffi::initialise();
        let triple = TargetTriple::create(&self.triple);
        let target = Target::from_triple(&triple).map_err(|e| {
            Error::new(
                Step::Target,
                format!("this compiler has no back end for `{}`: {e}", self.triple),
            )
        })?;
        let options = TargetMachineOptions::new()
            .set_cpu(&self.cpu)
            .set_features(&self.features)
            .set_level(level)
            .set_reloc_mode(RelocMode::PIC)
            .set_code_model(CodeModel::Small);
        target.create_target_machine_from_options(&triple, options).ok_or_else(|| {
            Error::new(
                Step::Target,
                format!("LLVM refuses `{}` with cpu `{}`", self.triple, self.cpu),
            )
        })
    }
}

impl From<&tilewright_codegen::target::LlvmTarget> for Machine {
    fn from(target: &tilewright_codegen::target::LlvmTarget) -> Machine {
        Machine {
            triple: target.triple.into(),
            cpu: target.cpu.into(),
            features: target.features.join(","),
        }
    }
}
