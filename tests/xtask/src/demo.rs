//! `demo`: a real model on this machine, from nothing but a fresh clone.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::{llvm, model, say, shell, workspace};

/// Build products, the wheel and the model.
const NEEDED_MB: u64 = 4096;
const PROMPT: &str = "What is the capital of France? Answer in one sentence.";

pub(crate) fn run(args: &[String]) -> Result {
    let (model, passed_on) = match args.split_first() {
        Some((first, rest)) if first == "--" => (None, rest),
        Some((first, rest)) if !first.starts_with('-') => {
            let rest = match rest.split_first() {
                Some((dashes, rest)) if dashes == "--" => rest,
                _ => rest,
            };
            (Some(PathBuf::from(first)), rest)
        }
        _ => (None, args),
    };
    if let Some(path) = &model
        && !path.is_file()
    {
        return Err(format!("no file `{}`; give the path of a GGUF file", path.display()));
    }
    check_space(workspace::root())?;
    llvm::ensure()?;
    let model = match model {
        Some(path) => absolute(&path)?,
        None => model::fetch()?,
    };
    say::step("building the kernels, the runtime and `generate` (the first time takes minutes)");
    shell::run(shell::cargo(&["build", "--release", "-p", "generate"]))?;
    say::step(&format!("running {}", model.display()));
    let mut command = Command::new(workspace::target_dir().join("release/generate"));
    command.arg(&model);
    if passed_on.is_empty() {
        command.args(["--prompt", PROMPT]);
    } else {
        command.args(passed_on);
    }
    shell::run(command)
}

fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| format!("`{}`: {e}", path.display()))
}

fn check_space(dir: &Path) -> Result {
    let mut command = shell::command("df", &["-Pm"]);
    command.arg(dir);
    let table = shell::output(command)?;
    let free = table.lines().nth(1).and_then(|l| l.split_whitespace().nth(3)?.parse::<u64>().ok());
    match free {
        Some(mb) if mb < NEEDED_MB => Err(format!(
            "`{}` has {mb} MB free; the build and the model need about {NEEDED_MB} MB: free some, or \
             set CARGO_TARGET_DIR to a larger disk",
            dir.display()
        )),
        // Where `df` prints something else, the build itself will tell.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_missing_file_is_named() {
        let e = super::run(&["no-such.gguf".into()]).err();
        assert!(e.is_some_and(|e| e.contains("no-such.gguf")));
    }
}
