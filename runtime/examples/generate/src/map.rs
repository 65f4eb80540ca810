//! The model file, mapped into memory: weights are read straight from the page cache.
#![allow(unsafe_code, reason = "mapping a file is unsafe: another process may change it meanwhile")]

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use crate::error::{Error, ErrorKind, Result};
use crate::gguf::{Gguf, TensorInfo};

/// A mapped GGUF file whose header has been checked.
#[derive(Debug)]
pub struct ModelFile {
    map: Mmap,
    gguf: Gguf,
}

impl ModelFile {
    /// Maps and checks the file at `path`.
    pub fn open(path: &Path) -> Result<ModelFile> {
        let io = |what: &str, e: std::io::Error| {
            Error::new(ErrorKind::Io, format!("cannot {what} `{}`", path.display())).with_source(e)
        };
        let file = File::open(path).map_err(|e| io("open", e))?;
        let metadata = file.metadata().map_err(|e| io("read", e))?;
        if !metadata.is_file() {
            return Err(Error::new(ErrorKind::Io, format!("`{}` is not a file", path.display())));
        }
        if metadata.len() == 0 {
            return Err(Error::malformed(format!("`{}` is empty", path.display())));
        }
        // SAFETY: the map is private and read-only, and every read goes through bounds taken from the map
        // itself. A process that truncates the file while we run can still fault us; that is the price of
        // not copying the weights, and the README of the example says so.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| io("map", e))?;
        let gguf =
            Gguf::parse(&map).map_err(|e| e.context(format_args!("`{}`", path.display())))?;
        Ok(ModelFile { map, gguf })
    }

    /// The checked header.
    pub fn gguf(&self) -> &Gguf {
        &self.gguf
    }

    /// The bytes of a tensor of this file; empty for a tensor that is not of this file.
    pub fn bytes(&self, tensor: &TensorInfo) -> &[u8] {
        let end = tensor.offset.saturating_add(tensor.bytes);
        self.map.get(tensor.offset..end).unwrap_or(&[])
    }
}
