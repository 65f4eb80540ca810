//! The listings of `kc`: targets, support, passes, error codes.

use std::fmt::Write as _;

use tilewright_codegen::target::{self, Family};

/// One line a target, then its mma rows.
pub(crate) fn targets() -> Vec<u8> {
    let mut out = String::new();
    for t in target::ALL {
        let llvm = &t.llvm;
        let _ = writeln!(
            out,
            "{:<24} {} -mcpu={}{}{}; {} vector registers of {} bytes",
            t.id,
            llvm.triple,
            llvm.cpu,
            if llvm.features.is_empty() { "" } else { " " },
            llvm.features.join(","),
            t.vector_regs,
            t.vector_bytes,
        );
        for m in t.mma {
            let _ = writeln!(
                out,
                "    mma {} x {} -> {}, {} k at a time, {:?}",
                m.a, m.b, m.acc, m.k_group, m.form
            );
        }
    }
    out.into_bytes()
}

/// The passes of each family that has a lowering, in order.
pub(crate) fn passes() -> Vec<u8> {
    let mut out = String::new();
    for family in [Family::Cpu, Family::Nvptx, Family::Amdgcn] {
        let names = tilewright_codegen::pass_names(family);
        if !names.is_empty() {
            let _ = writeln!(out, "{family:?}: {}", names.join(", "));
        }
    }
    out.into_bytes()
}

/// The paragraph on a code.
pub(crate) fn explain(code: &str) -> Result<Vec<u8>, String> {
    let text = tilewright_ir::explain(code).or_else(|| tilewright_codegen::explain(code));
    match text {
        Some(text) => Ok(format!("{code}: {text}\n").into_bytes()),
        None => Err(format!("error: no explanation of `{code}`; codes look like V0012 or L0107")),
    }
}
