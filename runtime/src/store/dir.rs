//! A pack directory: `<target>/manifest.toml`, and artifacts beside it named by content hash.

use super::ArtifactStore;
use crate::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use tilewright_abi::{KernelDesc, MANIFEST_FILE, TargetId};

/// A pack directory.
pub struct DirStore {
    dir: PathBuf,
}

impl DirStore {
    /// A directory; read when asked.
    pub fn new(dir: impl Into<PathBuf>) -> DirStore {
        DirStore { dir: dir.into() }
    }
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    move |e| Error::new(ErrorKind::Io, format!("cannot read `{}`", path.display())).with_source(e)
}

impl ArtifactStore for DirStore {
    fn describe(&self) -> String {
        format!("`{}`", self.dir.display())
    }

    fn manifests(&self) -> Result<Vec<(String, Cow<'_, str>)>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.dir).map_err(io(&self.dir))? {
            let path = entry.map_err(io(&self.dir))?.path().join(MANIFEST_FILE);
            // A folder without a manifest is one that is being written.
            if path.is_file() {
                let text = std::fs::read_to_string(&path).map_err(io(&path))?;
                found.push((format!("`{}`", path.display()), Cow::Owned(text)));
            }
        }
        found.sort();
        Ok(found)
    }

    fn artifact(&self, target: &TargetId, kernel: &KernelDesc) -> Result<Cow<'_, [u8]>> {
        let file = format!("{}.{}", kernel.artifact, kernel.kind.name());
        let path = self.dir.join(target.folder()).join(file);
        std::fs::read(&path).map(Cow::Owned).map_err(io(&path))
    }
}
