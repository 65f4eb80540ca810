//! LLVM 22 on this machine: found, or installed, or a message that says exactly what to do.

use std::process::Command;

use crate::Result;
use crate::{knobs, say, shell};

const PACKAGES: [&str; 1] = ["llvm-22-dev"];

/// Makes sure that LLVM 22 and a C compiler driver are there.
pub(crate) fn ensure() -> Result {
    let mut missing: Vec<&str> = Vec::new();
    if !found()? {
        missing.extend(PACKAGES);
    }
    if !shell::succeeds("cc", &["--version"]) {
        missing.push("gcc");
        missing.push("libc6-dev");
    }
    if missing.is_empty() {
        say::line("LLVM 22 and a C compiler driver are there");
        return Ok(());
    }
    install(&missing)?;
    if found()? { Ok(()) } else { Err(how("installed, but `llvm-config-22` does not run")) }
}

/// The same without a word when nothing is missing, for commands whose output is their result.
pub(crate) fn ensure_quietly() -> Result {
    if found()? { Ok(()) } else { ensure() }
}

/// Whether LLVM 22 is there; an error when the user named a place that holds another.
fn found() -> Result<bool> {
    match knobs::llvm_prefix() {
        Some(prefix) => {
            let config = prefix.join("bin/llvm-config");
            match version(&config.to_string_lossy()) {
                Some(v) if v.starts_with("22.") => Ok(true),
                Some(v) => Err(format!(
                    "LLVM_SYS_221_PREFIX is `{}`, which holds LLVM {v}; name an LLVM 22 or unset it",
                    prefix.display()
                )),
                None => Err(format!(
                    "LLVM_SYS_221_PREFIX is `{}`, but `{}` does not run; name an LLVM 22 or unset it",
                    prefix.display(),
                    config.display()
                )),
            }
        }
        None => Ok(version("llvm-config-22").is_some_and(|v| v.starts_with("22."))),
    }
}

fn version(config: &str) -> Option<String> {
    let out = Command::new(config).arg("--version").output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

/// Installs packages through apt, as root; otherwise the error is what to type.
pub(crate) fn install(packages: &[&str]) -> Result {
    let root = shell::output(shell::command("id", &["-u"])).is_ok_and(|id| id.trim() == "0");
    if !root || !shell::succeeds("apt-get", &["--version"]) {
        return Err(how(&format!("missing: {}", packages.join(", "))));
    }
    say::step(&format!("installing {}", packages.join(", ")));
    let apt = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
        shell::run(command)
    };
    apt(&["update", "-qq"])?;
    let mut args = vec!["install", "-y", "-qq", "--no-install-recommends"];
    args.extend(packages);
    apt(&args).map_err(|e| how(&e))
}

fn how(what: &str) -> String {
    format!(
        "{what}\n\
         The kernel compiler needs LLVM 22 and a C compiler driver. On Debian 12 and later, or with \
         https://apt.llvm.org set up:\n\
         \x20 sudo apt-get install --no-install-recommends llvm-22-dev gcc libc6-dev\n\
         Elsewhere, set LLVM_SYS_221_PREFIX to the folder of an LLVM 22 that has bin/llvm-config and \
         a shared libLLVM."
    )
}
