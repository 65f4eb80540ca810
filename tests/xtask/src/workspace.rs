//! The workspace: its root, its files, its target folder.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::knobs;

/// The workspace's root; this crate stands two folders below it.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// Where cargo builds.
pub(crate) fn target_dir() -> PathBuf {
    root().join(knobs::target_dir().unwrap_or_else(|| "target".into()))
}

/// Every file of the project, as paths from the root, sorted. Build products, downloads and hidden
/// folders other than those of the project are left out.
pub(crate) fn files() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    walk(root(), &mut found)?;
    found.sort();
    Ok(found)
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) -> Result {
    let fail = |e: std::io::Error| format!("cannot read `{}`: {e}", dir.display());
    for entry in std::fs::read_dir(dir).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type().map_err(fail)?;
        let skipped =
            name == "target" || name.starts_with('.') && !matches!(&*name, ".ci" | ".cargo");
        if kind.is_dir() && !skipped {
            walk(&entry.path(), found)?;
        } else if kind.is_file() {
            let path = entry.path();
            found.push(path.strip_prefix(root()).unwrap_or(&path).to_path_buf());
        }
    }
    Ok(())
}
