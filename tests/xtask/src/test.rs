//! `test`: everything CI runs. Later steps run even if earlier ones fail, so that one run shows all.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Result;
use crate::{deps, llvm, model, say, shell, tidy};

/// Optimised, with debug assertions: kernels' references and the interpreter are slow otherwise.
const PROFILE: [&str; 2] = ["--profile", "ci"];

/// Counts of what ran; a step that is no test counts as one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    passed: usize,
    failed: usize,
    ignored: usize,
}

/// What is run, in order.
struct Run {
    counts: Counts,
    failures: Vec<String>,
}

pub(crate) fn run(args: &[String]) -> Result {
    let nightly = match args {
        [] => false,
        [only] if only == "--nightly" => true,
        _ => return Err("usage: cargo xtask test [--nightly]".into()),
    };
    let start = Instant::now();
    llvm::ensure()?;
    let mut run = Run { counts: Counts::default(), failures: Vec::new() };
    run.step("format", || shell::run(shell::cargo(&["fmt", "--all", "--check"])));
    run.step("deps", deps::run);
    run.step("tidy", tidy::run);
    run.step("clippy", clippy);
    run.step("model", || model::fetch().map(drop));
    run.tests(nightly);
    for failure in &run.failures {
        say::line(&format!("failed: {failure}"));
    }
    let Counts { passed, failed, ignored } = run.counts;
    say::line(&format!(
        "{passed} passed, {failed} failed, {ignored} left to the nightly tier, {:.0} s",
        start.elapsed().as_secs_f64()
    ));
    say::line(&format!("{passed} passed, {failed} failed"));
    if failed == 0 { Ok(()) } else { Err(format!("{failed} failed")) }
}

fn clippy() -> Result {
    let mut command = shell::cargo(&["clippy", "--workspace", "--all-targets", "--keep-going"]);
    command.args(PROFILE).args(["--", "-D", "warnings"]);
    shell::run(command)
}

impl Run {
    fn step(&mut self, name: &str, f: impl FnOnce() -> Result) {
        say::step(name);
        match f() {
            Ok(()) => self.counts.passed += 1,
            Err(e) => {
                say::error(&e);
                self.counts.failed += 1;
                self.failures.push(name.to_owned());
            }
        }
    }

    fn tests(&mut self, nightly: bool) {
        say::step(if nightly { "tests, slow ones too" } else { "tests" });
        let mut command = shell::cargo(&["test", "--workspace", "--no-fail-fast"]);
        command.args(PROFILE);
        if nightly {
            command.args(["--", "--include-ignored"]);
        }
        match counted(command) {
            Ok((counts, ok)) => {
                self.counts.passed += counts.passed;
                self.counts.failed += counts.failed;
                self.counts.ignored += counts.ignored;
                // A test program that does not build or that dies reports no failed test.
                if !ok && counts.failed == 0 {
                    self.counts.failed += 1;
                }
                if !ok {
                    self.failures.push("tests".into());
                }
            }
            Err(e) => {
                say::error(&e);
                self.counts.failed += 1;
                self.failures.push("tests".into());
            }
        }
    }
}

/// Runs a `cargo test` with its output shown, and adds up its result lines.
fn counted(mut command: Command) -> Result<(Counts, bool)> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot run `cargo test`: {e}"))?;
    let mut counts = Counts::default();
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).lines() {
            let line = line.map_err(|e| format!("`cargo test`: {e}"))?;
            if let Some(c) = result_line(&line) {
                counts.passed += c.passed;
                counts.failed += c.failed;
                counts.ignored += c.ignored;
            }
            say::line(&line);
        }
    }
    let status = child.wait().map_err(|e| format!("`cargo test`: {e}"))?;
    Ok((counts, status.success()))
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; …`
fn result_line(line: &str) -> Option<Counts> {
    let rest = line.trim().strip_prefix("test result: ")?;
    let number = |word: &str| {
        let (before, _) = rest.split_once(word)?;
        before.split_whitespace().last()?.parse::<usize>().ok()
    };
    Some(Counts {
        passed: number(" passed")?,
        failed: number(" failed")?,
        ignored: number(" ignored")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_read() {
        let line = "test result: FAILED. 7 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out";
        assert_eq!(result_line(line), Some(Counts { passed: 7, failed: 1, ignored: 2 }));
        assert_eq!(result_line("test emit::a ... ok"), None);
    }
}
