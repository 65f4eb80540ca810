//! The pack file: manifests and artifacts of several targets in one run of bytes.
//!
//! ```text
//! magic        8 bytes  "TWPACK\r\n"
//! version      u32      PACK_VERSION
//! index bytes  u32
//! index        toolchain: text; manifests: count, then (target: text, offset: u64, bytes: u64);
//!              blobs: count, then (hash: text, offset: u64, bytes: u64), ordered by hash
//! payload      each piece starts at a multiple of 64 from the start of the file
//! ```
//! Numbers are little-endian; a text is its length as u32 and its UTF-8 bytes; a count is u32.
//! The reader checks every offset once, so that a damaged file is an error and never a panic.

use std::collections::BTreeMap;
use std::fmt;

/// First bytes of a pack file; the line break shows a transfer that changed line ends.
pub const PACK_MAGIC: [u8; 8] = *b"TWPACK\r\n";
/// Version of the pack's form that this crate writes and reads.
pub const PACK_VERSION: u32 = 1;
/// Each piece of the payload starts at a multiple of this.
pub const PACK_ALIGN: usize = 64;
/// Name of a target's manifest in a pack directory, beside its artifacts.
pub const MANIFEST_FILE: &str = "manifest.toml";

/// A pack in memory, for reading.
#[derive(Clone, Debug)]
pub struct Pack<'a> {
    toolchain: &'a str,
    manifests: Vec<(&'a str, &'a str)>,
    blobs: BTreeMap<&'a str, &'a [u8]>,
}

/// Why bytes are not a pack that this crate reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackError {
    /// Other first bytes.
    NotAPack,
    /// Written by another version.
    Version {
        /// The version in the file.
        found: u32,
    },
    /// The bytes end early, or an offset points outside, or a text is not UTF-8.
    Damaged(&'static str),
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackError::NotAPack => f.write_str("these bytes are not a pack of compiled kernels"),
            PackError::Version { found } => write!(
                f,
                "the pack has format version {found}, this program reads {PACK_VERSION}; build the \
                 pack again with the same release"
            ),
            PackError::Damaged(what) => {
                write!(f, "the pack is damaged: {what}; build or copy it again")
            }
        }
    }
}

impl std::error::Error for PackError {}

impl<'a> Pack<'a> {
    /// Reads the index and checks that every piece is inside `bytes`.
    pub fn read(bytes: &'a [u8]) -> Result<Pack<'a>, PackError> {
        let rest = bytes.strip_prefix(&PACK_MAGIC[..]).ok_or(PackError::NotAPack)?;
        let mut head = Reader(rest);
        let found = head.u32()?;
        if found != PACK_VERSION {
            return Err(PackError::Version { found });
        }
        let index_bytes = head.u32()?;
        let mut index = Reader(head.take(index_bytes as usize)?);
        let toolchain = index.text()?;
        let mut manifests = Vec::new();
        for _ in 0..index.u32()? {
            let target = index.text()?;
            let text = std::str::from_utf8(index.piece(bytes)?)
                .map_err(|_| PackError::Damaged("a manifest is not text"))?;
            manifests.push((target, text));
        }
        let mut blobs = BTreeMap::new();
        for _ in 0..index.u32()? {
            let hash = index.text()?;
            blobs.insert(hash, index.piece(bytes)?);
        }
        Ok(Pack { toolchain, manifests, blobs })
    }

    /// What compiled the kernels.
    pub fn toolchain(&self) -> &'a str {
        self.toolchain
    }

    /// Target names and manifest texts.
    pub fn manifests(&self) -> impl Iterator<Item = (&'a str, &'a str)> + '_ {
        self.manifests.iter().copied()
    }

    /// An artifact by its content hash.
    pub fn blob(&self, hash: &str) -> Option<&'a [u8]> {
        self.blobs.get(hash).copied()
    }

    /// All artifacts with their content hashes.
    pub fn blobs(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + '_ {
        self.blobs.iter().map(|(&hash, &bytes)| (hash, bytes))
    }
}

/// A pack in the making. Same content, same bytes, whatever the order of the calls for blobs.
#[derive(Clone, Debug, Default)]
pub struct PackWriter {
    toolchain: String,
    manifests: Vec<(String, String)>,
    blobs: BTreeMap<String, Vec<u8>>,
}

impl PackWriter {
    /// An empty pack.
    pub fn new(toolchain: impl Into<String>) -> PackWriter {
        PackWriter { toolchain: toolchain.into(), ..PackWriter::default() }
    }

    /// Adds the manifest of a target.
    pub fn manifest(&mut self, target: impl Into<String>, text: impl Into<String>) {
        self.manifests.push((target.into(), text.into()));
    }

    /// Adds an artifact under its content hash.
    pub fn blob(&mut self, hash: impl Into<String>, bytes: Vec<u8>) {
        self.blobs.insert(hash.into(), bytes);
    }

    /// The file's bytes.
    pub fn finish(&self) -> Vec<u8> {
        // The index's length does not depend on the offsets in it, so a first one measures.
        let start = PACK_MAGIC.len() + 8 + self.index(0).len();
        let index = self.index(start);
        let mut out = Vec::new();
        out.extend_from_slice(&PACK_MAGIC);
        out.extend_from_slice(&PACK_VERSION.to_le_bytes());
        out.extend_from_slice(&(index.len() as u32).to_le_bytes());
        out.extend_from_slice(&index);
        for piece in self.pieces() {
            out.resize(out.len().next_multiple_of(PACK_ALIGN), 0);
            out.extend_from_slice(piece);
        }
        out
    }

    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let manifests = self.manifests.iter().map(|(_, text)| text.as_bytes());
        manifests.chain(self.blobs.values().map(Vec::as_slice))
    }

    fn index(&self, start: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut at = start;
        put_text(&mut out, &self.toolchain);
        put_u32(&mut out, self.manifests.len());
        for (target, text) in &self.manifests {
            put_piece(&mut out, target, text.len(), &mut at);
        }
        put_u32(&mut out, self.blobs.len());
        for (hash, bytes) in &self.blobs {
            put_piece(&mut out, hash, bytes.len(), &mut at);
        }
        out
    }
}

fn put_u32(out: &mut Vec<u8>, n: usize) {
    out.extend_from_slice(&(n as u32).to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_u32(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn put_piece(out: &mut Vec<u8>, name: &str, len: usize, at: &mut usize) {
    let offset = at.next_multiple_of(PACK_ALIGN);
    put_text(out, name);
    out.extend_from_slice(&(offset as u64).to_le_bytes());
    out.extend_from_slice(&(len as u64).to_le_bytes());
    *at = offset + len;
}

/// Takes numbers and texts from the front of some bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], PackError> {
        let (front, rest) =
            self.0.split_at_checked(n).ok_or(PackError::Damaged("the index ends early"))?;
        self.0 = rest;
        Ok(front)
    }

    fn u32(&mut self) -> Result<u32, PackError> {
        let (front, rest) =
            self.0.split_first_chunk().ok_or(PackError::Damaged("the index ends early"))?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*front))
    }

    fn u64(&mut self) -> Result<u64, PackError> {
        let (front, rest) =
            self.0.split_first_chunk().ok_or(PackError::Damaged("the index ends early"))?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*front))
    }

    fn text(&mut self) -> Result<&'a str, PackError> {
        let n = self.u32()?;
        std::str::from_utf8(self.take(n as usize)?)
            .map_err(|_| PackError::Damaged("a name in the index is not text"))
    }

    fn piece(&mut self, file: &'a [u8]) -> Result<&'a [u8], PackError> {
        let (offset, len) = (self.u64()?, self.u64()?);
        let range = usize::try_from(offset)
            .ok()
            .and_then(|o| Some(o..o.checked_add(usize::try_from(len).ok()?)?));
        range.and_then(|r| file.get(r)).ok_or(PackError::Damaged("a piece lies outside the file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut w = PackWriter::new("llvm-22.1.8");
        w.manifest("cpu/x86-64-v3", "format_version = 1\n");
        w.blob("bb", vec![1, 2, 3]);
        w.blob("aa", vec![7; 100]);
        w.finish()
    }

    #[test]
    fn reads_what_it_writes() {
        let bytes = sample();
        let pack = Pack::read(&bytes).unwrap();
        assert_eq!(pack.toolchain(), "llvm-22.1.8");
        let manifests: Vec<_> = pack.manifests().collect();
        assert_eq!(manifests, [("cpu/x86-64-v3", "format_version = 1\n")]);
        assert_eq!(pack.blob("aa"), Some(&[7; 100][..]));
        assert_eq!(pack.blob("bb"), Some(&[1, 2, 3][..]));
        assert_eq!(pack.blob("cc"), None);
        let base = bytes.as_ptr() as usize;
        assert!(pack.blobs().all(|(_, b)| (b.as_ptr() as usize - base).is_multiple_of(PACK_ALIGN)));
    }

    #[test]
    fn every_truncation_and_every_flipped_byte_is_survived() {
        let bytes = sample();
        for n in 0..bytes.len() {
            assert!(Pack::read(&bytes[..n]).is_err(), "{n}");
        }
        for n in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[n] ^= 0x80;
            // An error or a pack with other names, never a panic.
            let _ = Pack::read(&bad).map(|p| p.manifests().count());
        }
        assert_eq!(Pack::read(b"").err(), Some(PackError::NotAPack));
        let mut other = bytes;
        other[8] = 9;
        assert_eq!(Pack::read(&other).err(), Some(PackError::Version { found: 9 }));
    }
}
