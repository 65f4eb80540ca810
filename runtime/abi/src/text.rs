//! A small subset of TOML: the text form of manifests and config records.
//!
//! A document is a sequence of blocks: a root block, then `[name]` or `[[name]]` blocks. A block holds
//! `key = value` lines; a value is a string (`"…"` with escapes, or `'…'`), a 64-bit integer, a float,
//! a bool, a list or an inline table, the last two over several lines if wished. Dotted keys,
//! multi-line strings and dates are not part of it. Everything written here is valid TOML.
//!
//! Blocks are split before they are parsed (a header is a line that starts with `[` in its first
//! column), so that a fault in one block leaves the others readable. Nothing here panics on any input.

use std::fmt::{self, Write as _};

/// A value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant is named by the value it holds")]
pub enum Value {
    Str(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Value>),
    Table(Table),
}

/// Keys and values, in order of writing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(Vec<(String, Value)>);

/// A block of a document: its header's name (empty for the root) and the text of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'t> {
    /// Name between the brackets; empty for the root block.
    pub name: &'t str,
    /// Line number of its first line, from 1, after the header.
    pub line: usize,
    /// The text after the header.
    pub body: &'t str,
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for TextError {}

/// Splits a document into blocks; the root block comes first, even when empty.
pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut out = Vec::new();
    let (mut name, mut first_line, mut start) = ("", 1, 0);
    let mut at = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        if line.starts_with('[') {
            let body = text.get(start..at).unwrap_or("");
            out.push(Block { name, line: first_line, body });
            let head = line.split('#').next().unwrap_or("").trim();
            name = head.trim_matches(['[', ']']).trim();
            (first_line, start) = (i + 2, at + line.len());
        }
        at += line.len();
    }
    out.push(Block { name, line: first_line, body: text.get(start..).unwrap_or("") });
    out
}

impl Block<'_> {
    /// Parses the block's lines.
    pub fn parse(&self) -> Result<Table, TextError> {
        let mut r = Reader { text: self.body, at: 0, depth: 0 };
        let table = r.lines();
        table.map_err(|message| {
            let before = self.body.get(..r.at).unwrap_or("");
            TextError { line: self.line + before.matches('\n').count(), message }
        })
    }
}

/// Nesting that no written document reaches; keeps hostile text from exhausting the stack.
const MAX_DEPTH: usize = 16;

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// The next byte, if it is ASCII, as a character; any other byte counts as a letter.
    fn peek(&self) -> Option<char> {
        self.text.as_bytes().get(self.at).map(|&b| if b.is_ascii() { char::from(b) } else { 'ü' })
    }

    /// Takes an ASCII character.
    fn eat(&mut self, c: char) -> bool {
        let hit = self.peek() == Some(c);
        self.at += usize::from(hit);
        hit
    }

    fn want(&mut self, c: char) -> Result<(), String> {
        if self.eat(c) { Ok(()) } else { Err(format!("expected `{c}`")) }
    }

    /// Skips spaces, and with `lines` also line ends and comments.
    fn skip(&mut self, lines: bool) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\n') if lines => self.at += 1,
                Some('#') if lines => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                _ => return,
            }
        }
    }

    fn lines(&mut self) -> Result<Table, String> {
        let mut table = Table::default();
        loop {
            self.skip(true);
            if self.rest().is_empty() {
                return Ok(table);
            }
            self.entry(&mut table)?;
            self.skip(false);
            if !matches!(self.peek(), None | Some('\n' | '#')) {
                return Err("expected the end of the line".to_owned());
            }
        }
    }

    fn entry(&mut self, table: &mut Table) -> Result<(), String> {
        let key = self.key()?;
        self.skip(false);
        self.want('=')?;
        self.skip(false);
        let value = self.value()?;
        if table.get(&key).is_some() {
            return Err(format!("`{key}` is set twice"));
        }
        table.0.push((key, value));
        Ok(())
    }

    fn word(&mut self, accept: fn(char) -> bool) -> &str {
        let start = self.at;
        self.at += self.rest().find(|c| !accept(c)).unwrap_or(self.rest().len());
        self.text.get(start..self.at).unwrap_or("")
    }

    fn key(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Some('"' | '\'')) {
            return self.string();
        }
        let word = self.word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-').to_owned();
        if word.is_empty() { Err("expected a key".to_owned()) } else { Ok(word) }
    }

    fn string(&mut self) -> Result<String, String> {
        let unended = || "string without an end".to_owned();
        let Some(quote) = self.peek() else { return Err(unended()) };
        self.at += 1;
        let mut out = String::new();
        loop {
            // Runs of plain text are copied whole; the bytes looked for are never part of a character.
            let stop = |b: &u8| matches!(*b, b'\n' | b'\\') || char::from(*b) == quote;
            let rest = self.rest();
            let plain = rest.as_bytes().iter().position(stop).ok_or_else(unended)?;
            out.push_str(rest.get(..plain).unwrap_or(""));
            self.at += plain;
            match self.peek() {
                Some(c) if c == quote => {
                    self.at += 1;
                    return Ok(out);
                }
                Some('\\') if quote == '"' => self.at += 1,
                Some('\\') => {
                    out.push('\\');
                    self.at += 1;
                    continue;
                }
                _ => return Err(unended()),
            }
            let escape = self.peek().ok_or_else(unended)?;
            self.at += 1;
            out.push(match escape {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '"' => '"',
                '\\' => '\\',
                'u' => {
                    let code = self.rest().get(..4).and_then(|h| u32::from_str_radix(h, 16).ok());
                    self.at += 4;
                    code.and_then(char::from_u32).ok_or("bad `\\u` escape")?
                }
                other => return Err(format!("unknown escape `\\{other}`")),
            });
        }
    }

    fn value(&mut self) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("nested too deeply".to_owned());
        }
        let value = match self.peek() {
            Some('"' | '\'') => Value::Str(self.string()?),
            Some('[') => {
                self.at += 1;
                let mut list = Vec::new();
                self.sequence(']', &mut |r| {
                    list.push(r.value()?);
                    Ok(())
                })?;
                Value::List(list)
            }
            Some('{') => {
                self.at += 1;
                let mut table = Table::default();
                self.sequence('}', &mut |r| r.entry(&mut table))?;
                Value::Table(table)
            }
            _ => self.bare()?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn sequence(
        &mut self,
        end: char,
        item: &mut dyn FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        loop {
            self.skip(true);
            if self.eat(end) {
                return Ok(());
            }
            item(self)?;
            self.skip(true);
            if !self.eat(',') {
                self.skip(true);
                return self.want(end);
            }
        }
    }

    fn bare(&mut self) -> Result<Value, String> {
        let word = self.word(|c| c.is_ascii_alphanumeric() || "+-._".contains(c));
        let number = word.replace('_', "");
        match word {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "" => Err("expected a value".to_owned()),
            _ if number.contains(['.', 'e', 'E', 'n', 'i']) => {
                let float = number.parse().map(Value::Float);
                float.map_err(|_| format!("`{word}` is not a value"))
            }
            _ => number.parse().map(Value::Int).map_err(|_| format!("`{word}` is not a value")),
        }
    }
}

impl Table {
    /// A table without entries.
    pub fn new() -> Table {
        Table::default()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Appends an entry.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.push((key.to_owned(), value.into()));
    }

    /// The entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn want<'t, T>(
        &'t self,
        key: &str,
        kind: &str,
        get: impl Fn(&'t Value) -> Option<T>,
    ) -> Result<T, String> {
        let value = self.get(key).ok_or_else(|| format!("`{key}` is missing"))?;
        get(value).ok_or_else(|| format!("`{key}` must be {kind}, not {value}"))
    }

    /// The string of a key.
    pub fn str(&self, key: &str) -> Result<&str, String> {
        self.want(key, "a string", Value::as_str)
    }

    /// The integer of a key.
    pub fn int(&self, key: &str) -> Result<i64, String> {
        self.want(key, "an integer", Value::as_int)
    }

    /// The number of a key: a float, or an integer made one.
    pub fn float(&self, key: &str) -> Result<f64, String> {
        self.want(key, "a number", Value::as_float)
    }

    /// The bool of a key; false when absent.
    pub fn flag(&self, key: &str) -> Result<bool, String> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(b)) => Ok(*b),
            Some(other) => Err(format!("`{key}` must be a bool, not {other}")),
        }
    }

    /// The list of a key; empty when absent.
    pub fn list(&self, key: &str) -> Result<&[Value], String> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Value::List(list)) => Ok(list),
            Some(other) => Err(format!("`{key}` must be a list, not {other}")),
        }
    }

    /// The table of a key.
    pub fn table(&self, key: &str) -> Result<&Table, String> {
        self.want(key, "a table", Value::as_table)
    }

    /// The list of tables of a key; empty when absent.
    pub fn tables(&self, key: &str) -> Result<Vec<&Table>, String> {
        let table = |v: &'_ Value| matches!(v, Value::Table(_));
        match self.list(key)?.iter().find(|v| !table(v)) {
            Some(other) => Err(format!("`{key}` must hold tables, not {other}")),
            None => Ok(self.list(key)?.iter().filter_map(Value::as_table).collect()),
        }
    }

    /// The list of strings of a key, each parsed; empty when absent.
    pub fn parsed<T>(&self, key: &str) -> Result<Vec<T>, String>
    where
        T: std::str::FromStr<Err: fmt::Display>,
    {
        let item = |v: &Value| match v {
            Value::Str(s) => s.parse::<T>().map_err(|e| format!("`{key}`: {e}")),
            other => Err(format!("`{key}` must hold strings, not {other}")),
        };
        self.list(key)?.iter().map(item).collect()
    }

    /// Writes the entries as lines.
    pub fn write_lines(&self, out: &mut String) {
        for (key, value) in &self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{} = {value}", Key(key));
        }
    }
}

impl Value {
    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(s) => Some(s),
            _ => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(i) => Some(*i),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(x) => Some(*x),
            Value::Int(i) => Some(*i as f64),
            _ => None,
        }
    }

    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match self {
            Value::Table(t) => Some(t),
            _ => None,
        }
    }

    /// A list of strings from things that print.
    pub fn strings<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> Value {
        Value::List(items.into_iter().map(|i| Value::Str(i.to_string())).collect())
    }
}

macro_rules! from {
    ($type:ty, $v:ident => $make:expr) => {
        impl From<$type> for Value {
            fn from($v: $type) -> Value {
                $make
            }
        }
    };
}
from!(&str, v => Value::Str(v.to_owned()));
from!(String, v => Value::Str(v));
from!(i64, v => Value::Int(v));
from!(u32, v => Value::Int(i64::from(v)));
from!(f64, v => Value::Float(v));
from!(bool, v => Value::Bool(v));
from!(Vec<Value>, v => Value::List(v));
from!(Table, v => Value::Table(v));

struct Key<'k>(&'k str);

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !self.0.is_empty() && self.0.chars().all(bare) {
            f.write_str(self.0)
        } else {
            write_string(f, self.0)
        }
    }
}

fn write_string(f: &mut fmt::Formatter<'_>, s: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in s.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Str(s) => write_string(f, s),
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) if x.is_nan() => f.write_str("nan"),
            Value::Float(x) if x.is_infinite() => {
                f.write_str(if *x > 0.0 { "inf" } else { "-inf" })
            }
            // Debug keeps a point or an exponent, so that it reads back as a float.
            Value::Float(x) => write!(f, "{x:?}"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::List(list) => {
                f.write_str("[")?;
                for (i, v) in list.iter().enumerate() {
                    write!(f, "{}{v}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Value::Table(table) => {
                f.write_str("{")?;
                for (i, (k, v)) in table.iter().enumerate() {
                    write!(f, "{} {} = {v}", if i == 0 { "" } else { "," }, Key(k))?;
                }
                f.write_str(" }")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let text =
            "a = 1\nb = \"x\\\"\\n\"\nc = [1.5, -2, true]\nd = { e = \"f\", \"g.h\" = [] }\n";
        let table = blocks(text)[0].parse().unwrap();
        let mut out = String::new();
        table.write_lines(&mut out);
        assert_eq!(out, text);
        assert_eq!(table.table("d").unwrap().str("e"), Ok("f"));
    }

    #[test]
    fn blocks_fail_alone() {
        let text =
            "# head\nv = 1\n[[record]] # one\na = \n[[record]]\na = [\n  1,\n  2, # two\n]\n";
        let b = blocks(text);
        assert_eq!(b.iter().map(|b| b.name).collect::<Vec<_>>(), ["", "record", "record"]);
        assert_eq!(b[1].parse().unwrap_err().to_string(), "line 4: expected a value");
        assert_eq!(b[2].parse().unwrap().list("a").unwrap().len(), 2);
    }

    #[test]
    fn bad_text_is_refused() {
        for text in
            ["a", "a =", "a = 1 2", "a = \"x", "a = [1", "a = {b}", "a = 1\na = 2", "= 1", "a = x"]
        {
            assert!(blocks(text)[0].parse().is_err(), "{text}");
        }
        assert!(blocks(&format!("a = {}", "[".repeat(1000)))[0].parse().is_err());
        let t = blocks("a = 'x'")[0].parse().unwrap();
        assert_eq!(t.int("a").unwrap_err(), "`a` must be an integer, not \"x\"");
        assert_eq!(t.int("b").unwrap_err(), "`b` is missing");
    }
}
