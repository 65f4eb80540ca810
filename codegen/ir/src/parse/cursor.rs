//! A position in the text, and the smallest things that can stand there.

use crate::codes;
use crate::diag::Diagnostic;
use crate::span::Span;
use std::str::FromStr;
use tilewright_abi::DType;

/// The parse cannot go on; the message is in [`Cursor::errors`].
#[derive(Debug)]
pub(super) struct Stop;

/// Names that are missing are reported together up to this many.
const MAX_ERRORS: usize = 20;

pub(super) struct Cursor<'t> {
    file: String,
    text: &'t str,
    pos: usize,
    pub(super) errors: Vec<Diagnostic>,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'t> Cursor<'t> {
    pub(super) fn new(file: &str, text: &'t str) -> Self {
        Cursor { file: file.to_owned(), text, pos: 0, errors: Vec::new() }
    }

    /// What is left; `pos` is always a character border.
    fn rest(&self) -> &'t str {
        self.text.get(self.pos..).unwrap_or("")
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.pos += rest.len() - trimmed.len();
            if !(trimmed.starts_with("//") || trimmed.starts_with(';')) {
                return;
            }
            self.pos += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// The start of the next token, for messages and spans.
    pub(super) fn mark(&mut self) -> usize {
        self.skip_space();
        self.pos
    }

    /// The place of a mark.
    pub(super) fn span(&self, at: usize) -> Span {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        let line = before.bytes().filter(|b| *b == b'\n').count() as u32 + 1;
        let col = before.get(line_start..).unwrap_or("").chars().count() as u32 + 1;
        let text = self.text.get(line_start..).unwrap_or("").lines().next().unwrap_or("");
        Span { file: self.file.as_str().into(), line, col, text: text.into(), called_from: None }
    }

    pub(super) fn error(&mut self, code: &'static str, at: usize, message: String) {
        if self.errors.len() < MAX_ERRORS {
            let span = self.span(at);
            self.errors.push(Diagnostic::new(code, message).at(&span));
        }
    }

    /// Records that something else was expected here.
    pub(super) fn expected(&mut self, what: &str) -> Stop {
        let at = self.mark();
        let found = match self.rest().chars().next() {
            None => "the end of the text".to_owned(),
            Some(c) if is_word(c) => {
                let word: String =
                    self.rest().chars().take_while(|c| is_word(*c)).take(40).collect();
                format!("`{word}`")
            }
            Some(c) => format!("`{}`", c.escape_debug()),
        };
        self.error(codes::SYNTAX, at, format!("expected {what}, found {found}"));
        Stop
    }

    pub(super) fn at_end(&mut self) -> bool {
        self.skip_space();
        self.rest().is_empty()
    }

    pub(super) fn at(&mut self, c: char) -> bool {
        self.skip_space();
        self.rest().starts_with(c)
    }

    /// Whether `c` comes next and on this line.
    pub(super) fn at_on_line(&self, c: char) -> bool {
        self.rest().trim_start_matches([' ', '\t']).starts_with(c)
    }

    pub(super) fn at_digit(&mut self) -> bool {
        self.rest().starts_with(|c: char| c.is_ascii_digit())
    }

    pub(super) fn eat(&mut self, c: char) -> bool {
        let found = self.at(c);
        if found {
            self.pos += c.len_utf8();
        }
        found
    }

    pub(super) fn punct(&mut self, c: char) -> Result<(), Stop> {
        if self.eat(c) { Ok(()) } else { Err(self.expected(&format!("`{c}`"))) }
    }

    fn peek_word(&mut self) -> &'t str {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or("")
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == word;
        if found {
            self.pos += word.len();
        }
        found
    }

    pub(super) fn word(&mut self, word: &str) -> Result<(), Stop> {
        if self.eat_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// Letters, digits and underscores.
    pub(super) fn any_word(&mut self) -> Result<&'t str, Stop> {
        let word = self.peek_word();
        if word.is_empty() {
            return Err(self.expected("a word"));
        }
        self.pos += word.len();
        Ok(word)
    }

    /// The variant that the next word names.
    pub(super) fn variant<T>(
        &mut self,
        what: &str,
        from_name: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Stop> {
        match from_name(self.peek_word()) {
            Some(v) => {
                self.any_word()?;
                Ok(v)
            }
            None => Err(self.expected(what)),
        }
    }

    pub(super) fn number<T: FromStr>(&mut self) -> Result<T, Stop> {
        let word = self.peek_word();
        match word.parse() {
            Ok(n) if word.bytes().all(|b| b.is_ascii_digit()) => {
                self.pos += word.len();
                Ok(n)
            }
            Ok(_) | Err(_) => Err(self.expected("a number")),
        }
    }

    pub(super) fn dtype(&mut self) -> Result<DType, Stop> {
        self.variant("an element type", DType::from_name)
    }

    /// An identifier or a string.
    pub(super) fn name(&mut self) -> Result<String, Stop> {
        if self.at('"') {
            return self.string();
        }
        let word = self.peek_word();
        if !crate::print::is_plain_name(word) {
            return Err(self.expected("a name"));
        }
        self.pos += word.len();
        Ok(word.to_owned())
    }

    pub(super) fn string(&mut self) -> Result<String, Stop> {
        self.punct('"')?;
        let mut out = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.pos += at + 1;
                    return Ok(out);
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => out.push(c),
                    Some((_, 'u')) => {
                        let tail = chars.as_str();
                        let code = tail.strip_prefix('{').and_then(|t| t.split_once('}'));
                        let c = code
                            .and_then(|(hex, _)| u32::from_str_radix(hex, 16).ok())
                            .and_then(char::from_u32);
                        let (Some(c), Some((hex, _))) = (c, code) else { break };
                        out.push(c);
                        chars.by_ref().take(hex.chars().count() + 2).for_each(drop);
                    }
                    Some(_) | None => break,
                },
                c => out.push(c),
            }
        }
        Err(self.expected("a string with valid escapes and a closing quote"))
    }

    /// `64x32xf32>`.
    pub(super) fn tile_shape(&mut self) -> Result<(Vec<usize>, DType), Stop> {
        let mut shape = Vec::new();
        let mut word = self.peek_word();
        let parsed = loop {
            if !word.starts_with(|c: char| c.is_ascii_digit()) {
                break DType::from_name(word);
            }
            let Some((extent, tail)) = word.split_once('x') else { break None };
            let Ok(extent) = extent.parse() else { break None };
            shape.push(extent);
            word = tail;
        };
        match parsed {
            Some(dtype) => {
                self.any_word()?;
                self.punct('>')?;
                Ok((shape, dtype))
            }
            None => Err(self.expected("a shape and element type such as `64x32xf32`")),
        }
    }

    /// A literal's characters, for [`super::op`] to read by its type.
    pub(super) fn literal_text(&mut self) -> Result<&'t str, Stop> {
        self.skip_space();
        let rest = self.rest();
        let part = |c: char| is_word(c) || matches!(c, '.' | '-' | '+' | '(' | ')');
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        match rest.get(..end) {
            Some(text) if !text.is_empty() => {
                self.pos += end;
                Ok(text)
            }
            _ => Err(self.expected("a constant")),
        }
    }
}
