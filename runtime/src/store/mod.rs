//! Where compiled kernels come from: a pack embedded in the program, or a directory.

use crate::Result;
use crate::error::{Error, ErrorKind, fail};
use std::borrow::Cow;
use tilewright_abi::{KernelDesc, Manifest, ManifestError, ManifestHead, TargetId};

mod dir;
mod embedded;

pub use dir::DirStore;
pub use embedded::EmbeddedStore;

/// A source of manifests and artifacts.
pub trait ArtifactStore: Send + Sync {
    /// For messages: where this store is.
    fn describe(&self) -> String;
    /// The text of every target's manifest, with a name for messages.
    fn manifests(&self) -> Result<Vec<(String, Cow<'_, str>)>>;
    /// The bytes of a kernel's artifact. Their hash is checked when they are loaded.
    fn artifact(&self, target: &TargetId, kernel: &KernelDesc) -> Result<Cow<'_, [u8]>>;
}

fn manifest_error(e: ManifestError, name: &str) -> Error {
    let kind = match e {
        ManifestError::Version(..) => ErrorKind::Version,
        ManifestError::NotAManifest | ManifestError::Corrupt(_) => ErrorKind::Corrupt,
    };
    Error::new(kind, format!("{name}: {e}"))
}

/// The manifest of the most preferred target that a device with these features can run, and the index
/// of its store.
pub(crate) fn pick(
    stores: &[Box<dyn ArtifactStore>],
    family: tilewright_abi::Family,
    features: &[String],
) -> Result<(usize, Manifest)> {
    let mut best: Option<(u32, usize, String, Cow<'_, str>)> = None;
    let mut refused = Vec::new();
    for (i, store) in stores.iter().enumerate() {
        for (name, text) in store.manifests()? {
            let head = ManifestHead::from_text(&text).map_err(|e| manifest_error(e, &name))?;
            if head.target.family() != Some(family) {
                refused.push(format!("`{}` is for another kind of device", head.target));
                continue;
            }
            let missing: Vec<&str> = head
                .features
                .iter()
                .filter(|f| !features.contains(f))
                .map(String::as_str)
                .collect();
            if !missing.is_empty() {
                refused.push(format!("`{}` needs {}", head.target, missing.join(", ")));
            } else if best.as_ref().is_none_or(|b| head.preference > b.0) {
                best = Some((head.preference, i, name, text));
            }
        }
    }
    if let Some((_, i, name, text)) = best {
        let manifest = Manifest::from_text(&text).map_err(|e| manifest_error(e, &name))?;
        return Ok((i, manifest));
    }
    let places: Vec<String> = stores.iter().map(|s| s.describe()).collect();
    match (places.is_empty(), refused.is_empty()) {
        (true, _) => fail!(
            NotFound,
            "no compiled kernels were given; pass a pack or a pack directory to the builder"
        ),
        (_, true) => fail!(NotFound, "{} holds no manifest", places.join(", ")),
        _ => fail!(
            Unsupported,
            "none of the targets in {} runs on this {} device: {}; build a pack for it",
            places.join(", "),
            family.name(),
            refused.join("; ")
        ),
    }
}
