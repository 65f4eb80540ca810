//! A reader over untrusted bytes: every read is checked, and a failed read says where and what for.

use crate::error::{Error, Result};

/// A position in a byte slice.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `n` bytes, which are `what`.
    pub(super) fn take(&mut self, n: u64, what: &str) -> Result<&'a [u8]> {
        let end = usize::try_from(n).ok().and_then(|n| self.at.checked_add(n));
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(slice) => {
                self.at += slice.len();
                Ok(slice)
            }
            None => Err(Error::malformed(format!(
                "{what} at byte {} needs {n} bytes, but only {} are left",
                self.at,
                self.remaining()
            ))),
        }
    }

    pub(super) fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N as u64, what)?);
        Ok(out)
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A count of items of at least `min_bytes` each; a count that cannot fit is refused here, before
    /// anything is allocated for it.
    pub(super) fn count(&mut self, min_bytes: u64, what: &str) -> Result<usize> {
        let at = self.at;
        let n = self.u64(what)?;
        let room = self.remaining() as u64 / min_bytes;
        if n > room {
            return Err(Error::malformed(format!(
                "{what} at byte {at} is {n}, but the rest of the file has room for at most {room}"
            )));
        }
        Ok(n as usize)
    }

    /// A length-prefixed UTF-8 string.
    pub(super) fn string(&mut self, what: &str) -> Result<String> {
        let at = self.at;
        let n = self.u64(what)?;
        let bytes = self.take(n, what)?;
        match std::str::from_utf8(bytes) {
            Ok(s) => Ok(s.to_owned()),
            Err(e) => {
                Err(Error::malformed(format!("{what} at byte {at} is not UTF-8")).with_source(e))
            }
        }
    }
}
