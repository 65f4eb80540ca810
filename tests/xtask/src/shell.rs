//! Running other programs, with messages that name them.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::Result;
use crate::knobs;
use crate::workspace;

/// A command in the workspace's root.
pub(crate) fn command(program: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(workspace::root());
    command
}

/// The cargo that runs this program.
pub(crate) fn cargo(args: &[&str]) -> Command {
    command(knobs::cargo(), args)
}

/// Runs it with its output shown; an error names it.
pub(crate) fn run(mut command: Command) -> Result {
    let line = shown(&command);
    let status = command.status().map_err(|e| format!("cannot run `{line}`: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` ended with {status}")) }
}

/// Runs it and returns its standard output; its errors are shown.
pub(crate) fn output(mut command: Command) -> Result<String> {
    let line = shown(&command);
    let out = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run `{line}`: {e}"))?;
    if !out.status.success() {
        return Err(format!("`{line}` ended with {}", out.status));
    }
    String::from_utf8(out.stdout).map_err(|_| format!("`{line}` printed what is not text"))
}

/// Whether a program runs and succeeds; nothing is shown.
pub(crate) fn succeeds(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|s| s.success())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|w| w.to_string_lossy()).collect();
    words.join(" ")
}
