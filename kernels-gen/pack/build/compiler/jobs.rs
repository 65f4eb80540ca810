//! One kernel for one target: stage, verify, look up, compile.

use std::collections::BTreeSet;

use tilewright_abi::{KernelDesc, sha256_hex};
use tilewright_codegen::target::TargetDesc;
use tilewright_ir::{Diagnostic, print, verify};
use tilewright_kernels::{LaunchDef, OpEntry, StageFn};
use tilewright_llvm::artifact::{describe, lower};
use tilewright_llvm::{Level, Machine, labelled, shared_object, toolchain};

use super::cache::Cache;

/// A kernel to compile.
pub(super) struct Job<'a> {
    pub(super) target: &'a TargetDesc,
    implementation: String,
    kernel: String,
    stage: StageFn,
}

/// A compiled kernel.
pub(super) struct Compiled {
    pub(super) kernel: KernelDesc,
    pub(super) bytes: Vec<u8>,
    /// Not from the cache.
    pub(super) fresh: bool,
}

/// Adds the kernels of an op that have not been added for the target.
pub(super) fn collect<'a>(target: &'a TargetDesc, entry: &OpEntry, jobs: &mut Vec<Job<'a>>) {
    let mut known: BTreeSet<String> =
        jobs.iter().filter(|j| j.target.id == target.id).map(|j| j.kernel.clone()).collect();
    for def in (entry.impls)(&target.caps()) {
        let implementation = def.to_impl(&entry.spec.name).id();
        for LaunchDef { kernel, stage, .. } in def.launches {
            if known.insert(kernel.clone()) {
                let implementation = implementation.clone();
                jobs.push(Job { target, implementation, kernel, stage });
            }
        }
    }
}

impl Job<'_> {
    /// For messages: the implementation (op, algorithm, variant), the kernel, the target.
    pub(super) fn label(&self) -> String {
        format!("`{}`, kernel `{}`, for `{}`", self.implementation, self.kernel, self.target.id)
    }

    pub(super) fn run(&self, cache: &Cache) -> Result<Compiled, String> {
        let func = (self.stage)().map_err(|d| rendered(&d))?;
        verify(&func).map_err(|d| rendered(&d))?;
        let toolchain = toolchain();
        let text = print(&func);
        let key = cache.kernel_key(&text, self.target.id);
        let known = cache.code_key(&key).and_then(|code| cache.object(&code));
        let (bytes, fresh) = match known {
            Some(bytes) => (bytes, false),
            None => labelled(&self.label(), || -> Result<_, String> {
                let ll = lower(&func, self.target).map_err(|e| e.to_string())?;
                let machine = Machine::from(&self.target.llvm);
                let level = Level::default();
                let passes = level.passes(&ll);
                let code = format!("{toolchain}\n{machine:?}\n{level:?} {passes:?}\n{ll}");
                let code = sha256_hex(code.as_bytes());
                let (bytes, fresh) = match cache.object(&code) {
                    Some(bytes) => (bytes, false),
                    None => {
                        let bytes =
                            shared_object(&ll, &machine, level).map_err(|e| e.to_string())?;
                        cache.keep_object(&code, &bytes)?;
                        (bytes, true)
                    }
                };
                cache.keep_code_key(&key, &code)?;
                Ok((bytes, fresh))
            })?,
        };
        let kernel = describe(&self.kernel, &func, sha256_hex(&bytes), toolchain);
        Ok(Compiled { kernel, bytes, fresh })
    }
}

fn rendered(diagnostics: &[Diagnostic]) -> String {
    let text: String = diagnostics.iter().map(Diagnostic::render).collect();
    format!("\n{text}")
}
