//! A pack whose bytes are part of the program, or were read into it.

use super::ArtifactStore;
use crate::error::fail;
use crate::{Error, ErrorKind, Result};
use std::borrow::Cow;
use tilewright_abi::{KernelDesc, Pack, PackError, TargetId};

/// A pack in memory.
pub struct EmbeddedStore {
    pack: Pack<'static>,
}

impl EmbeddedStore {
    /// Reads the pack's index.
    pub fn new(bytes: &'static [u8]) -> Result<EmbeddedStore> {
        let pack = Pack::read(bytes).map_err(|e| {
            let kind = match e {
                PackError::Version { .. } => ErrorKind::Version,
                PackError::NotAPack | PackError::Damaged(_) => ErrorKind::Corrupt,
            };
            Error::new(kind, "embedded pack").with_source(e)
        })?;
        Ok(EmbeddedStore { pack })
    }
}

impl ArtifactStore for EmbeddedStore {
    fn describe(&self) -> String {
        format!("the embedded pack (made by `{}`)", self.pack.toolchain())
    }

    fn manifests(&self) -> Result<Vec<(String, Cow<'_, str>)>> {
        let named = |(target, text)| (format!("manifest of `{target}`"), Cow::Borrowed(text));
        Ok(self.pack.manifests().map(named).collect())
    }

    fn artifact(&self, _target: &TargetId, kernel: &KernelDesc) -> Result<Cow<'_, [u8]>> {
        match self.pack.blob(&kernel.artifact) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => fail!(
                Corrupt,
                "the pack lacks artifact {} of kernel `{}`; rebuild it",
                kernel.artifact,
                kernel.name
            ),
        }
    }
}
