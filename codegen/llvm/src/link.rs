//! One object to one shared object, through the system's C compiler driver.
//!
//! No start files, no libraries, no build id, no symbol table beyond the exported names: the
//! result depends on the object alone. A kernel may call the memory functions LLVM introduces by
//! itself; any other undefined name is an error here, not at load time.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Step};
use crate::knobs;

/// What LLVM may call without being asked to; every process has them.
const FROM_LIBC: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

const FLAGS: [&str; 9] = [
    "-shared",
    "-nostartfiles",
    "-nostdlib",
    "-Wl,--build-id=none",
    "-Wl,--hash-style=gnu",
    "-Wl,--strip-all",
    "-Wl,-z,noexecstack",
    "-Wl,-z,noseparate-code",
    "-Wl,-z,max-page-size=4096",
];

/// Links an object into a shared object that exports its global symbols.
pub fn link_shared(object: &[u8]) -> Result<Vec<u8>, Error> {
    let scratch = Scratch::new()?;
    let input = scratch.path("kernel.o");
    let output = scratch.path("kernel.so");
    std::fs::write(&input, object).map_err(|e| io(&input, &e))?;
    let linker = knobs::linker();
    let run = Command::new(&linker)
        .args(FLAGS)
        .args(["-Wl,--no-undefined", "-Wl,--warn-unresolved-symbols", "-o"])
        .arg(&output)
        .arg(&input)
        .env("LC_ALL", "C")
        .output()
        .map_err(|e| {
            Error::new(
                Step::Link,
                format!(
                    "cannot run `{linker}`: {e}; install a C compiler driver (package `gcc`) or \
                     name one in TILEWRIGHT_LINKER"
                ),
            )
        })?;
    let said = String::from_utf8_lossy(&run.stderr);
    if !run.status.success() {
        return Err(Error::new(Step::Link, format!("`{linker}` ended with {}", run.status))
            .notes(said.lines().map(str::to_owned).collect()));
    }
    let unknown = undefined(&said);
    if !unknown.is_empty() {
        return Err(Error::new(
            Step::Link,
            format!("the kernel calls {}, which no library provides", unknown.join(", ")),
        ));
    }
    std::fs::read(&output).map_err(|e| io(&output, &e))
}

/// Names in "undefined reference to `name'" (GNU ld) or "undefined symbol: name" (lld), less the
/// allowed ones.
fn undefined(said: &str) -> Vec<String> {
    let mut names: Vec<String> = said
        .lines()
        .filter_map(|line| {
            let (_, rest) = line
                .split_once("undefined reference to ")
                .or_else(|| line.split_once("undefined symbol: "))?;
            let name = rest.trim().trim_matches(['`', '\'', '"']);
            (!FROM_LIBC.contains(&name)).then(|| format!("`{name}`"))
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

fn io(path: &Path, e: &std::io::Error) -> Error {
    Error::new(Step::Link, format!("`{}`: {e}", path.display()))
}

/// A folder of its own for the linker's files, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tilewright-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| io(&path, &e))?;
        Ok(Scratch(path))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A left-over folder in the temporary directory harms nothing.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_linkers_messages_are_understood() {
        let said = "ld: kernel.o: warning: undefined reference to `fmodf'\n\
                    ld.lld: warning: undefined symbol: sinf\n\
                    ld: kernel.o: warning: undefined reference to `memset'\n";
        assert_eq!(undefined(said), ["`fmodf`", "`sinf`"]);
    }

    #[test]
    fn garbage_is_an_error() {
        let e = link_shared(b"not an object").err();
        assert_eq!(e.map(|e| e.step()), Some(Step::Link));
    }
}
