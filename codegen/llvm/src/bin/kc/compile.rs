//! One compilation, from the text to what `--emit` names.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use tilewright_codegen::target::TargetDesc;
use tilewright_codegen::{Options, Output, Stage, compile, target};
use tilewright_ir::Diagnostic;
use tilewright_llvm::{Machine, emit, labelled, shared_object};

use crate::args::{Emit, Job};

/// Compiles; the bytes for standard output, empty if they went to a file.
pub(crate) fn run(job: &Job) -> Result<Vec<u8>, String> {
    let text = read(&job.input)?;
    let desc = target::find(&job.target).ok_or_else(|| unknown_target(&job.target))?;
    let label = format!("`{}` for `{}`", job.input.display(), desc.id);
    let bytes = labelled(&label, || {
        if is_llvm(&job.input, &text) {
            from_llvm(&text, desc, job)
        } else {
            from_tile(&text, desc, job)
        }
    })?;
    match &job.output {
        None => Ok(bytes),
        Some(path) => match std::fs::write(path, bytes) {
            Ok(()) => Ok(Vec::new()),
            Err(e) => Err(format!("error: cannot write `{}`: {e}", path.display())),
        },
    }
}

fn read(path: &Path) -> Result<String, String> {
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|e| format!("error: cannot read `{}`: {e}", path.display()))
}

fn is_llvm(path: &Path, text: &str) -> bool {
    path.extension().is_some_and(|e| e == "ll") || text.lines().any(|l| l.starts_with("define "))
}

fn unknown_target(id: &str) -> String {
    let known: Vec<&str> = target::ALL.iter().map(|t| t.id).collect();
    format!("error: no target `{id}`; there are {}", known.join(", "))
}

fn from_llvm(text: &str, desc: &TargetDesc, job: &Job) -> Result<Vec<u8>, String> {
    if let Emit::Stage(stage) = job.emit
        && stage != Stage::Ll
    {
        return Err(format!("error: LLVM IR has no `{}` stage", stage.name()));
    }
    finish(text, desc, job)
}

fn from_tile(text: &str, desc: &TargetDesc, job: &Job) -> Result<Vec<u8>, String> {
    let func = tilewright_ir::parse(text).map_err(|d| render(&d))?;
    tilewright_ir::verify(&func).map_err(|d| render(&d))?;
    let stage = match job.emit {
        Emit::Stage(stage) => Some(stage),
        _ => None,
    };
    if stage == Some(Stage::Tile) && job.stop_after.is_none() {
        return Ok(tilewright_ir::print(&func).into_bytes());
    }
    let options = Options {
        dump: job.dump || job.stop_after.is_some() || stage.is_some_and(|s| s != Stage::Ll),
        stop_after: job.stop_after.clone(),
        time: job.time,
        symbol: job.symbol.clone(),
        ..Options::default()
    };
    let output = compile(&func, desc, &options).map_err(|d| render(&d))?;
    report(&output, job);
    if job.stop_after.is_some() {
        let last = output.dumps.last().map(|d| d.text.clone()).unwrap_or_default();
        return Ok(last.into_bytes());
    }
    match stage {
        Some(stage) if stage != Stage::Ll => match output.stage(stage) {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => Err(format!("error: `{}` has no `{}` stage", desc.id, stage.name())),
        },
        _ => finish(&output.ll, desc, job),
    }
}

/// LLVM IR text to what comes after it.
fn finish(ll: &str, desc: &TargetDesc, job: &Job) -> Result<Vec<u8>, String> {
    let machine = Machine::from(&desc.llvm);
    let result = match job.emit {
        Emit::Stage(_) => return Ok(ll.as_bytes().to_vec()),
        Emit::Optimised => emit(ll, &machine, job.level, tilewright_llvm::Output::Ir),
        Emit::Assembly => emit(ll, &machine, job.level, tilewright_llvm::Output::Assembly),
        Emit::Object => emit(ll, &machine, job.level, tilewright_llvm::Output::Object),
        Emit::SharedObject => shared_object(ll, &machine, job.level),
    };
    result.map_err(|e| format!("error: {e}"))
}

fn render(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(Diagnostic::render).collect()
}

/// Dumps and times go to standard error, so that standard output stays what `--emit` names.
fn report(output: &Output, job: &Job) {
    let mut text = String::new();
    if job.dump {
        for dump in &output.dumps {
            let _ = writeln!(text, "// {} ({})\n{}", dump.name, dump.stage.name(), dump.text);
        }
    }
    for timing in &output.timings {
        let _ = writeln!(text, "{:>10.3} ms  {}", timing.seconds * 1e3, timing.pass);
    }
    // A closed stderr is the user's choice.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
