//! From tokens back to text: the bytes of each token, and text from bytes as they come.

use super::vocab::{Scheme, TokenKind};

/// The bytes that `token` stands for in text.
pub(super) fn token_bytes(token: &str, kind: TokenKind, scheme: Scheme) -> Vec<u8> {
    match (kind, scheme) {
        (TokenKind::Control, _) => Vec::new(),
        (TokenKind::UserDefined, _) => token.as_bytes().to_vec(),
        (TokenKind::Byte, _) => byte_token(token).map_or_else(Vec::new, |b| vec![b]),
        (TokenKind::Text, Scheme::SentencePiece) => token.replace('\u{2581}', " ").into_bytes(),
        (TokenKind::Text, Scheme::ByteLevel) => {
            // A character outside the byte alphabet can only be meant as itself.
            let mut bytes = Vec::with_capacity(token.len());
            for c in token.chars() {
                match alphabet_byte(c) {
                    Some(b) => bytes.push(b),
                    None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                }
            }
            bytes
        }
    }
}

/// `<0x0A>` is the byte 10.
fn byte_token(token: &str) -> Option<u8> {
    u8::from_str_radix(token.strip_prefix("<0x")?.strip_suffix('>')?, 16).ok()
}

/// The byte a character of the byte alphabet stands for. Printable Latin-1 stands for itself; the other
/// 68 bytes are the characters from U+0100 on, in order.
fn alphabet_byte(c: char) -> Option<u8> {
    match u32::from(c) {
        c @ (0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff) => Some(c as u8),
        c @ 0x100..=0x120 => Some((c - 0x100) as u8),
        c @ 0x121..=0x142 => Some((c - 0x121 + 0x7f) as u8),
        0x143 => Some(0xad),
        _ => None,
    }
}

/// Turns bytes into text as they arrive: a character cut in two waits for its rest.
#[derive(Clone, Debug, Default)]
pub struct TextStream {
    pending: Vec<u8>,
}

impl TextStream {
    /// Takes more bytes and returns the text that is complete; bytes that can never become text are
    /// replaced by U+FFFD.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        let mut rest: &[u8] = &self.pending;
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    rest = &[];
                    break;
                }
                Err(e) => {
                    let (valid, bad) = rest.split_at(e.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    let Some(len) = e.error_len() else {
                        rest = bad;
                        break;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = bad.get(len..).unwrap_or_default();
                }
            }
        }
        let kept = rest.len();
        self.pending.drain(..self.pending.len() - kept);
        text
    }

    /// The end: whatever is still incomplete becomes one U+FFFD.
    pub fn finish(&mut self) -> String {
        let incomplete = !self.pending.is_empty();
        self.pending.clear();
        if incomplete { char::REPLACEMENT_CHARACTER.to_string() } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_alphabet_covers_every_byte_once() {
        let mut seen = [0u32; 256];
        for c in (0..0x200).filter_map(char::from_u32) {
            if let Some(b) = alphabet_byte(c) {
                seen[usize::from(b)] += 1;
            }
        }
        assert!(seen.iter().all(|n| *n == 1), "{seen:?}");
        assert_eq!(token_bytes("\u{120}the", TokenKind::Text, Scheme::ByteLevel), b" the");
        assert_eq!(token_bytes("<0x0A>", TokenKind::Byte, Scheme::SentencePiece), b"\n");
    }

    #[test]
    fn a_character_cut_in_two_waits_for_its_rest() {
        let mut stream = TextStream::default();
        let rocket = "\u{1f680}".as_bytes();
        assert_eq!(stream.push(b"go "), "go ");
        assert_eq!(stream.push(&rocket[..2]), "");
        assert_eq!(stream.push(&rocket[2..]), "\u{1f680}");
        assert_eq!(stream.push(&[0xff, b'x', 0xf0, 0x9f]), "\u{fffd}x");
        assert_eq!(stream.finish(), "\u{fffd}");
        assert_eq!(stream.finish(), "");
    }
}
