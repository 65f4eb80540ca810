//! Compilation in a child process: an abort inside LLVM, or a hang, costs the child alone.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Step};
use crate::knobs;

/// How to run the child.
#[derive(Clone, Debug)]
pub struct Isolation {
    /// The `kc` program.
    pub kc: PathBuf,
    /// The child is ended after this long.
    pub limit: Duration,
}

impl Isolation {
    /// Finds `kc`: `TILEWRIGHT_KC`, then the folder of the running program and the one above it.
    pub fn find(limit: Duration) -> Result<Self, Error> {
        let beside = std::env::current_exe().ok().and_then(|exe| {
            let dirs = exe.ancestors().skip(1).take(2);
            dirs.map(|d| d.join("kc")).find(|p| p.is_file())
        });
        match knobs::kc().or(beside) {
            Some(kc) => Ok(Isolation { kc, limit }),
            None => Err(Error::new(
                Step::Child,
                "no `kc` program beside this one; build it with `cargo build -p tilewright-llvm` \
                 or name it in TILEWRIGHT_KC",
            )),
        }
    }
}

/// Runs `kc --target TARGET --emit EMIT` on a text (tile IR or LLVM IR) and returns what it
/// emits.
pub fn compile_isolated(
    text: &str,
    target: &str,
    emit: &str,
    how: &Isolation,
) -> Result<Vec<u8>, Error> {
    let mut child = Command::new(&how.kc)
        .args(["--target", target, "--emit", emit, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| child_error(&how.kc, &e.to_string()))?;
    let input = child.stdin.take();
    let output = child.stdout.take();
    let errors = child.stderr.take();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if let Some(mut input) = input {
                // A child that ends early closes the pipe; its status tells why.
                let _ = input.write_all(text.as_bytes());
            }
        });
        let output = scope.spawn(move || drain(output));
        let errors = scope.spawn(move || drain(errors));
        let ended = wait(&mut child, how.limit);
        let output = output.join().unwrap_or_default();
        let errors = errors.join().unwrap_or_default();
        let said = String::from_utf8_lossy(&errors);
        match ended {
            Ok(Some(status)) if status.success() => Ok(output),
            Ok(Some(status)) => Err(Error::new(
                Step::Child,
                if said.trim().is_empty() {
                    format!("`kc` ended with {status}")
                } else {
                    said.into()
                },
            )),
            Ok(None) => Err(Error::new(
                Step::Child,
                format!("`kc` was ended after its limit of {:?}", how.limit),
            )),
            Err(e) => Err(child_error(&how.kc, &e.to_string())),
        }
    })
}

fn child_error(kc: &Path, message: &str) -> Error {
    Error::new(Step::Child, format!("`{}`: {message}", kc.display()))
}

fn drain(stream: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        // What was read before an error is still worth showing.
        let _ = stream.read_to_end(&mut bytes);
    }
    bytes
}

/// The child's status, or `None` when it had to be ended.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
