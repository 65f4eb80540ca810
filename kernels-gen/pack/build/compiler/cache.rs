//! What earlier builds compiled, by content.
//!
//! Two levels, so that neither a changed kernel nor a changed compiler compiles more than it must:
//! a kernel (tile IR, target, compiler's sources, toolchain) leads to its code (`.ll` text, machine,
//! toolchain), and the code and LLVM's passes to the shared object. A change of the compiler that does not change the
//! code of a kernel costs its lowering alone.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tilewright_abi::sha256_hex;
use tilewright_llvm::toolchain;

/// The cache's folder and what all keys share.
pub(crate) struct Cache {
    dir: PathBuf,
    shared: String,
}

impl Cache {
    /// Opens a folder, made if it is missing.
    pub(crate) fn open(dir: PathBuf, fingerprint: String) -> Result<Cache, String> {
        std::fs::create_dir_all(&dir).map_err(|e| format!("`{}`: {e}", dir.display()))?;
        Ok(Cache { dir, shared: format!("{}\n{fingerprint}", toolchain()) })
    }

    pub(super) fn kernel_key(&self, text: &str, target: &str) -> String {
        sha256_hex(format!("{}\n{target}\n{text}", self.shared).as_bytes())
    }

    pub(super) fn code_key(&self, kernel: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.join(format!("{kernel}.key"))).ok()
    }

    pub(super) fn keep_code_key(&self, kernel: &str, code: &str) -> Result<(), String> {
        self.write(&format!("{kernel}.key"), code.as_bytes())
    }

    /// The shared object of a code key. Its first line is its own hash: a damaged file is no hit.
    pub(super) fn object(&self, code: &str) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.dir.join(format!("{code}.so"))).ok()?;
        let (hash, object) = bytes.split_at_checked(64)?;
        (sha256_hex(object).as_bytes() == hash).then(|| object.to_vec())
    }

    pub(super) fn keep_object(&self, code: &str, bytes: &[u8]) -> Result<(), String> {
        let file = [sha256_hex(bytes).as_bytes(), bytes].concat();
        self.write(&format!("{code}.so"), &file)
    }

    /// Builds of several profiles may write at once: a file appears whole or not at all.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = self.dir.join(name);
        let part = self.dir.join(format!("{}-{n}.part", std::process::id()));
        std::fs::write(&part, bytes)
            .and_then(|()| std::fs::rename(&part, &path))
            .map_err(|e| format!("`{}`: {e}", path.display()))
    }
}

/// Hash of the compiler's sources, found from this crate's folder.
pub(crate) fn fingerprint(manifest_dir: &Path) -> Result<String, String> {
    let root = manifest_dir.ancestors().nth(2).unwrap_or(manifest_dir);
    let mut files = Vec::new();
    for folder in ["codegen/src", "codegen/ir/src", "codegen/llvm/src"] {
        sources(&root.join(folder), &mut files)?;
    }
    files.sort();
    let mut text = String::new();
    for path in files {
        let bytes = std::fs::read(&path).map_err(|e| format!("`{}`: {e}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(&path);
        text.push_str(&format!("{} {}\n", sha256_hex(&bytes), name.display()));
    }
    Ok(sha256_hex(text.as_bytes()))
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("`{}`: {e}", dir.display());
    for entry in std::fs::read_dir(dir).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    Ok(())
}
