//! `.ll` text → verify → optimise → assembly or object.

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{FileType, TargetMachine};

use crate::error::{Error, Step};
use crate::ffi::Diagnostics;
use crate::link::link_shared;
use crate::machine::Machine;

/// How hard LLVM tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// No optimisation: the code follows the text line by line.
    O0,
    /// The usual level.
    O2,
    /// Like `O2` with more inlining and unrolling.
    O3,
    /// The passes that unrolled tile code gains from, at a fifth of the time of `O3`; the default.
    /// The lowering has already unrolled, vectorised and inlined what it wants so.
    #[default]
    Tile,
}

/// Of [`Level::Tile`]: common addresses, folded conversions, invariants out of loops, unused helpers.
const TILE_PASSES: &str = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,\
    simplifycfg,loop-mssa(licm),early-cse,instsimplify,simplifycfg),globaldce";

/// The same without `instcombine`. LLVM 22.1 does not end on what that pass makes of a flipped sign
/// bit under a broadcast before `vpdpbusd`: an `xor` with a partly poison constant, which instruction
/// selection rewrites back and forth for ever.
const TILE_PASSES_DOT: &str = "function(sroa,early-cse<memssa>,\
    simplifycfg,loop-mssa(licm),early-cse,instsimplify,simplifycfg),globaldce";

impl Level {
    /// The passes for a text, as LLVM's pass builder reads them; none for [`Level::O0`].
    pub fn passes(self, text: &str) -> Option<&'static str> {
        match self {
            Level::O0 => None,
            Level::O2 => Some("default<O2>"),
            Level::O3 => Some("default<O3>"),
            Level::Tile if text.contains("vpdpbusd") => Some(TILE_PASSES_DOT),
            Level::Tile => Some(TILE_PASSES),
        }
    }

    fn codegen(self) -> OptimizationLevel {
        match self {
            Level::O0 => OptimizationLevel::None,
            Level::O2 => OptimizationLevel::Default,
            Level::O3 | Level::Tile => OptimizationLevel::Aggressive,
        }
    }
}

/// What [`emit`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// LLVM IR text after optimisation.
    Ir,
    /// Assembly text.
    Assembly,
    /// A relocatable object.
    Object,
}

/// Compiles LLVM IR text.
///
/// ```
/// use tilewright_llvm::{Level, Machine, Output, emit};
/// let machine = Machine {
///     triple: "x86_64-unknown-linux-gnu".into(),
///     cpu: "x86-64-v3".into(),
///     features: String::new(),
/// };
/// let text = "define i64 @one() {\n  ret i64 1\n}\n";
/// let asm = emit(text, &machine, Level::O2, Output::Assembly)?;
/// assert!(String::from_utf8_lossy(&asm).contains("one:"));
/// # Ok::<(), tilewright_llvm::Error>(())
/// ```
pub fn emit(text: &str, machine: &Machine, level: Level, output: Output) -> Result<Vec<u8>, Error> {
    let target = machine.open(level.codegen())?;
    let context = Context::create();
    let diagnostics = Diagnostics::collect(&context);
    let module = parse(&context, text, &target)?;
    module.verify().map_err(|e| Error::new(Step::Verify, e.to_string()))?;
    if let Some(pipeline) = level.passes(text) {
        module
            .run_passes(pipeline, &target, pass_options())
            .map_err(|e| Error::new(Step::Optimise, e.to_string()))?;
    }
    let bytes = match output {
        Output::Ir => module.print_to_string().to_string().into_bytes(),
        Output::Assembly => write(&module, &target, FileType::Assembly)?,
        Output::Object => write(&module, &target, FileType::Object)?,
    };
    // With a diagnostic handler LLVM goes on after an error and returns a broken object.
    let errors = diagnostics.errors();
    match errors.split_first() {
        Some((first, rest)) => Err(Error::new(Step::Emit, first).notes(rest.to_vec())),
        None => Ok(bytes),
    }
}

/// Compiles LLVM IR text and links the result into a shared object.
pub fn shared_object(text: &str, machine: &Machine, level: Level) -> Result<Vec<u8>, Error> {
    link_shared(&emit(text, machine, level, Output::Object)?)
}

fn parse<'c>(
    context: &'c Context,
    text: &str,
    target: &TargetMachine,
) -> Result<Module<'c>, Error> {
    // A constant name: LLVM writes it into the module as its source file.
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "kernel");
    let module = context
        .create_module_from_ir(buffer)
        .map_err(|e| Error::new(Step::Parse, e.to_string()))?;
    module.set_triple(&target.get_triple());
    module.set_data_layout(&target.get_target_data().get_data_layout());
    Ok(module)
}

/// The kernel's own loops are vectorised by the tile compiler already; a second vectoriser only
/// costs time and makes the code depend on LLVM's cost model.
fn pass_options() -> PassBuilderOptions {
    let options = PassBuilderOptions::create();
    options.set_loop_vectorization(false);
    options.set_loop_slp_vectorization(false);
    options.set_loop_interleaving(false);
    options.set_loop_unrolling(true);
    options
}

fn write(module: &Module<'_>, target: &TargetMachine, kind: FileType) -> Result<Vec<u8>, Error> {
    let buffer = target
        .write_to_memory_buffer(module, kind)
        .map_err(|e| Error::new(Step::Emit, e.to_string()))?;
    Ok(buffer.as_slice().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v3() -> Machine {
        Machine {
            triple: "x86_64-unknown-linux-gnu".into(),
            cpu: "x86-64-v3".into(),
            features: String::new(),
        }
    }

    const AXPY: &str = "
define void @axpy(ptr %x, ptr %y, <8 x float> %a) {
  %xv = load <8 x float>, ptr %x, align 4
  %yv = load <8 x float>, ptr %y, align 4
  %r = call <8 x float> @llvm.fma.v8f32(<8 x float> %xv, <8 x float> %a, <8 x float> %yv)
  store <8 x float> %r, ptr %y, align 4
  ret void
}
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
";

    #[test]
    fn uses_the_cpu_it_is_given() {
        let asm = emit(AXPY, &v3(), Level::O3, Output::Assembly);
        let asm = asm.map(|b| String::from_utf8_lossy(&b).into_owned());
        assert!(asm.as_ref().is_ok_and(|a| a.contains("vfmadd")), "{asm:?}");
    }

    #[test]
    fn same_text_same_bytes() {
        let a = shared_object(AXPY, &v3(), Level::O3);
        assert!(a.is_ok(), "{a:?}");
        assert_eq!(a, shared_object(AXPY, &v3(), Level::O3));
    }

    #[test]
    fn broken_text_is_an_error_with_its_line() {
        let e = emit("define void @f( {", &v3(), Level::O2, Output::Object).err();
        assert_eq!(e.as_ref().map(Error::step), Some(Step::Parse));
        assert!(e.is_some_and(|e| e.message().contains("define void @f")));
    }

    #[test]
    fn rule_broken_is_an_error() {
        let text = "define i64 @f(i64 %x) {
  %a = add i64 %b, 1
  %b = add i64 %x, 1
  ret i64 %a
}
";
        let e = emit(text, &v3(), Level::O2, Output::Object).err();
        assert_eq!(e.as_ref().map(Error::step), Some(Step::Verify), "{e:?}");
    }

    #[test]
    fn bad_inline_assembly_is_an_error() {
        let text = "define void @f() {
  call void asm sideeffect \"bogus_op %ymm0\", \"\"()
  ret void
}
";
        let e = emit(text, &v3(), Level::O2, Output::Object).err();
        assert_eq!(e.as_ref().map(Error::step), Some(Step::Emit), "{e:?}");
    }

    #[test]
    fn unknown_triple_is_an_error() {
        let machine = Machine { triple: "nosuch-unknown-none".into(), ..v3() };
        let e = emit(AXPY, &machine, Level::O2, Output::Object).err();
        assert_eq!(e.map(|e| e.step()), Some(Step::Target));
    }
}
