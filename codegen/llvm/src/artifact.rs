//! A kernel, compiled and described: what the pack, the tuner and tests put into a manifest.

use std::collections::BTreeSet;

use tilewright_abi::{
    ArtifactKind, AssumeDesc, Fact, KernelDesc, LaunchDesc, ParamDesc, ParamKind, sha256_hex,
};
use tilewright_codegen::target::TargetDesc;
use tilewright_codegen::{Options, compile};
use tilewright_ir as ir;

use crate::emit::{Level, shared_object};
use crate::error::{Error, Step};
use crate::machine::Machine;
use crate::toolchain::toolchain;

/// A compiled kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Artifact {
    /// What a launch needs to know.
    pub kernel: KernelDesc,
    /// The shared object.
    pub bytes: Vec<u8>,
}

/// Tile IR to `.ll` text, under the symbol [`symbol`] gives.
pub fn lower(func: &ir::Func, target: &TargetDesc) -> Result<String, Error> {
    let options = Options { symbol: Some(symbol(&func.name)), ..Options::default() };
    match compile(func, target, &options) {
        Ok(output) => Ok(output.ll),
        Err(diagnostics) => {
            let text: Vec<String> = diagnostics.iter().map(ir::Diagnostic::render).collect();
            Err(Error::new(Step::Lower, format!("\n{}", text.concat())))
        }
    }
}

/// Compiles one kernel for one target, in this process.
pub fn compile_kernel(name: &str, func: &ir::Func, target: &TargetDesc) -> Result<Artifact, Error> {
    let ll = lower(func, target)?;
    let bytes = shared_object(&ll, &Machine::from(&target.llvm), Level::default())?;
    let kernel = describe(name, func, sha256_hex(&bytes), toolchain());
    Ok(Artifact { kernel, bytes })
}

/// The manifest's entry for a kernel whose artifact has a content hash.
pub fn describe(name: &str, func: &ir::Func, artifact: String, toolchain: String) -> KernelDesc {
    KernelDesc {
        name: name.to_owned(),
        symbol: symbol(&func.name),
        artifact,
        kind: ArtifactKind::SharedObject,
        params: func.params.iter().filter_map(|p| param(func, p)).collect(),
        assumes: func.assumes.iter().filter_map(|a| assume(func, a)).collect(),
        launch: LaunchDesc::default(),
        source_hash: source_hash(func),
        ir_hash: sha256_hex(ir::print(func).as_bytes()),
        toolchain,
    }
}

/// A name that every linker and debugger takes: letters, digits and underscores.
pub fn symbol(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut symbol: String = name.chars().map(plain).collect();
    if !symbol.starts_with(|c: char| c.is_ascii_alphabetic()) {
        symbol.insert(0, 'k');
    }
    symbol
}

fn param(func: &ir::Func, param: &ir::Param) -> Option<ParamDesc> {
    let kind = match func.ty(param.value) {
        ir::Type::View(v) => ParamKind::View { dtype: v.elem, rank: v.rank, mutable: v.mutable },
        ir::Type::Scalar(dtype) => ParamKind::Scalar(*dtype),
        // The verifier refuses tiles in a signature.
        ir::Type::Tile(_) => return None,
    };
    Some(ParamDesc { name: param.name.clone(), kind })
}

fn assume(func: &ir::Func, assume: &ir::Assume) -> Option<AssumeDesc> {
    let fact = match assume.fact {
        ir::Fact::DimMultiple(axis, n) => Fact::DimMultiple(axis, n),
        ir::Fact::DimEquals(axis, n) => Fact::DimEquals(axis, n),
        ir::Fact::StrideEquals(axis, n) => Fact::StrideEquals(axis, n),
        ir::Fact::StrideMultiple(axis, n) => Fact::StrideMultiple(axis, n),
        ir::Fact::Aligned(n) => Fact::Aligned(n),
        ir::Fact::ScalarMultiple(n) => Fact::ScalarMultiple(n),
    };
    let param = func.params.get(assume.param)?.name.clone();
    Some(AssumeDesc { param, fact })
}

/// Hash of the source lines that made the kernel, its helpers' included; moving them changes
/// nothing.
fn source_hash(func: &ir::Func) -> String {
    let mut lines = BTreeSet::new();
    for inst in &func.insts {
        let mut span = Some(&inst.span);
        while let Some(at) = span {
            lines.insert((at.file.as_ref(), at.text.trim()));
            span = at.called_from.as_deref();
        }
    }
    let text: Vec<String> =
        lines.into_iter().map(|(file, text)| format!("{file}\t{text}\n")).collect();
    sha256_hex(text.concat().as_bytes())
}

#[cfg(test)]
mod tests {
    #[test]
    fn symbols_are_plain() {
        assert_eq!(super::symbol("gemm.dense.bm=64,bn=32"), "gemm_dense_bm_64_bn_32");
        assert_eq!(super::symbol("8bit"), "k8bit");
    }
}
