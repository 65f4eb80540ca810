//! File tests: one kernel's text, and in its comments what is done with it and what must come out.
//!
//! ```text
//! // test: pass assign_layouts
//! // target: cpu/x86-64-v3
//! func @load_row(…) {
//!   …
//! }
//! // check: load
//! ```
//!
//! | `test:` | what is done | what is checked |
//! |---|---|---|
//! | `parse` | read, printed; the print is read again and must print the same | the print |
//! | `verify` | read or verified, which must fail | the diagnostics |
//! | `pass NAME` | compiled up to a pass | the kernel after it |
//! | `stage NAME` | compiled up to `layout`, `sched`, `lir` or `ll` | the text of that stage |
//! | `asm` | compiled | the assembly |
//! | `diag` | compiled, which must fail | the diagnostics |
//! | `exec` | for each `// run:` line, run by the interpreter and, for every target that this machine can execute, as compiled code on guarded memory | that the results agree |
//!
//! With `// exact` the output is compared with the file `NAME.out` beside it, which
//! `cargo xtask bless` writes. Other directives are those of [`crate::filecheck`].

use std::fs;
use std::path::{Path, PathBuf};

use tilewright_codegen::target::{self, TargetDesc};
use tilewright_codegen::{Options, Stage, compile};
use tilewright_ir::{Diagnostic, Func};
use tilewright_llvm::{Level, Machine, Output, emit};

use crate::differential::{compare, runnable};
use crate::filecheck::{self, Directive};
use crate::launch_line::Launch;

/// Runs every `.tile` file below a folder; an error lists the failures.
pub fn run_folder(folder: &Path, bless: bool) -> Result<usize, String> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let mut failures = Vec::new();
    for path in &files {
        if let Err(e) = run_file(path, bless) {
            failures.push(format!("{}: {e}", path.display()));
        }
    }
    if failures.is_empty() { Ok(files.len()) } else { Err(failures.join("\n\n")) }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("`{}`: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "tile") {
            files.push(path);
        }
    }
    Ok(())
}

fn run_file(path: &Path, bless: bool) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let case = Case::read(&text)?;
    let output = case.output(&text)?;
    if case.exact {
        let expected = path.with_extension("out");
        if bless {
            fs::write(&expected, &output).map_err(|e| e.to_string())?;
        } else {
            let want = fs::read_to_string(&expected).unwrap_or_default();
            if want != output {
                return Err(format!("the output is not `{}`:\n{output}", expected.display()));
            }
        }
    }
    filecheck::check(&output, &case.directives)
}

/// What a file asks for.
struct Case {
    action: Action,
    target: &'static TargetDesc,
    exact: bool,
    directives: Vec<Directive>,
}

enum Action {
    Parse,
    Verify,
    Pass(String),
    Stage(Stage),
    Asm,
    Diag,
    Exec(Vec<String>),
}

impl Case {
    fn read(text: &str) -> Result<Case, String> {
        let (mut action, mut id, mut exact) = (None, "cpu/x86-64-v3", false);
        let mut directives = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let Some(comment) = comment(line) else { continue };
            if let Some(rest) = comment.strip_prefix("test:") {
                action = Some(Action::read(rest.trim())?);
            } else if let Some(rest) = comment.strip_prefix("target:") {
                id = rest.trim();
            } else if let Some(rest) = comment.strip_prefix("run:") {
                match &mut action {
                    Some(Action::Exec(runs)) => runs.push(rest.trim().to_owned()),
                    _ => return Err("`run:` belongs to `test: exec`".into()),
                }
            } else if comment == "exact" {
                exact = true;
            } else if let Some(d) = Directive::parse(comment, i + 1) {
                directives.push(d);
            }
        }
        let target = target::find(id).ok_or_else(|| format!("no target `{id}`"))?;
        let action = action.ok_or("no `// test:` line")?;
        let executed = matches!(&action, Action::Exec(runs) if !runs.is_empty());
        if directives.is_empty() && !exact && !executed {
            return Err("nothing is checked: no `check:` and no `exact`".into());
        }
        Ok(Case { action, target, exact, directives })
    }

    fn output(&self, text: &str) -> Result<String, String> {
        let func = tilewright_ir::parse(text).and_then(|f| {
            tilewright_ir::verify(&f)?;
            Ok(f)
        });
        match (&self.action, func) {
            (Action::Verify, Err(d)) => Ok(rendered(&d)),
            (Action::Verify, Ok(_)) => Err("verification succeeded; it must fail".into()),
            (_, Err(d)) => Err(rendered(&d)),
            (Action::Parse, Ok(f)) => round_trip(&f),
            (Action::Pass(name), Ok(f)) => {
                let options =
                    Options { dump: true, stop_after: Some(name.clone()), ..Options::default() };
                let out = compile(&f, self.target, &options).map_err(|d| rendered(&d))?;
                match out.dumps.iter().rev().find(|d| d.name == *name).or(out.dumps.last()) {
                    Some(dump) => Ok(dump.text.clone()),
                    None => Err(format!("pass `{name}` left no text")),
                }
            }
            (Action::Stage(stage), Ok(f)) => {
                let options = Options { dump: true, ..Options::default() };
                let out = compile(&f, self.target, &options).map_err(|d| rendered(&d))?;
                let text = out.stage(*stage).map(str::to_owned);
                text.or_else(|| (*stage == Stage::Ll).then_some(out.ll))
                    .ok_or_else(|| format!("no stage `{}`", stage.name()))
            }
            (Action::Asm, Ok(f)) => {
                let out =
                    compile(&f, self.target, &Options::default()).map_err(|d| rendered(&d))?;
                let machine = Machine::from(&self.target.llvm);
                let asm = emit(&out.ll, &machine, Level::default(), Output::Assembly)
                    .map_err(|e| e.to_string())?;
                String::from_utf8(asm).map_err(|e| e.to_string())
            }
            (Action::Exec(runs), Ok(f)) => {
                for run in runs {
                    let launch = Launch::parse(run, &f)?;
                    for target in runnable() {
                        compare(&f, &launch.args, launch.grid, target, launch.tolerance)
                            .map_err(|e| format!("`run: {run}` on {}: {e}", target.id))?;
                    }
                }
                Ok(String::new())
            }
            (Action::Diag, Ok(f)) => match compile(&f, self.target, &Options::default()) {
                Ok(_) => Err("compilation succeeded; it must fail".into()),
                Err(d) => Ok(rendered(&d)),
            },
        }
    }
}

impl Action {
    fn read(text: &str) -> Result<Action, String> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "parse" => Ok(Action::Parse),
            "verify" => Ok(Action::Verify),
            "pass" if !rest.is_empty() => Ok(Action::Pass(rest.trim().to_owned())),
            "stage" => Stage::ALL
                .into_iter()
                .find(|s| s.name() == rest.trim())
                .map(Action::Stage)
                .ok_or_else(|| format!("no stage `{rest}`")),
            "asm" => Ok(Action::Asm),
            "diag" => Ok(Action::Diag),
            "exec" => Ok(Action::Exec(Vec::new())),
            _ => Err(format!("`test: {text}` is none of the forms of a file test")),
        }
    }
}

fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("//").or_else(|| line.strip_prefix(';')).map(str::trim)
}

fn round_trip(func: &Func) -> Result<String, String> {
    let printed = tilewright_ir::print(func);
    let again = tilewright_ir::parse(&printed).map_err(|d| rendered(&d))?;
    let twice = tilewright_ir::print(&again);
    if printed == twice { Ok(printed) } else { Err(format!("print after parse differs:\n{twice}")) }
}

fn rendered(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(Diagnostic::render).collect()
}
