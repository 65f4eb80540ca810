//! Messages about a kernel, in the form of rustc's.

use crate::span::Span;
use std::fmt::Write;

/// One message. Lower case, no full stop, code in backticks; one message per cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// `V0012` and the like; `explain` has a paragraph on each code of this crate.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What stands at that place, beside the caret; may be empty.
    pub label: String,
    /// Further facts.
    pub notes: Vec<String>,
    /// What the user can do.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// A message with no place yet.
    pub fn new(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            message: message.into(),
            span: Span::default(),
            label: String::new(),
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// The same at a place.
    pub fn at(mut self, span: &Span) -> Diagnostic {
        self.span = span.clone();
        self
    }

    /// The same with a text beside the caret.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// The same with one more fact.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// The same with one more advice.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help.push(help.into());
        self
    }

    /// The message as rustc would print it, ending in a line break.
    pub fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).ok();
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "error[{}]: {}", self.code, self.message)?;
        let number = self.span.line.to_string();
        let margin = if self.span.is_known() { " ".repeat(number.len()) } else { String::new() };
        if self.span.is_known() {
            let Span { file, line, col, text, .. } = &self.span;
            writeln!(out, "{margin}--> {file}:{line}:{col}")?;
            if !text.is_empty() {
                let (pad, carets) = caret(text, *col);
                writeln!(out, "{margin} |\n{number} | {text}")?;
                let line = format!("{margin} | {pad}{carets} {}", self.label);
                writeln!(out, "{}", line.trim_end())?;
            } else if !self.label.is_empty() {
                writeln!(out, "{margin} = note: {}", self.label)?;
            }
        } else if !self.label.is_empty() {
            writeln!(out, "{margin} = note: {}", self.label)?;
        }
        let mut from = self.span.called_from.as_deref();
        while let Some(span) = from {
            write!(out, "{margin} = note: called from {}:{}:{}", span.file, span.line, span.col)?;
            match span.text.trim() {
                "" => writeln!(out)?,
                text => writeln!(out, ": `{text}`")?,
            }
            from = span.called_from.as_deref();
        }
        for note in &self.notes {
            writeln!(out, "{margin} = note: {note}")?;
        }
        for help in &self.help {
            writeln!(out, "{margin} = help: {help}")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.render().trim_end())
    }
}

impl std::error::Error for Diagnostic {}

/// The space before the caret (tabs kept, so that it lines up) and the carets: under the whole
/// identifier that starts at `col`, else under one character.
fn caret(text: &str, col: u32) -> (String, String) {
    let before = (col as usize).saturating_sub(1);
    let keep = |c: char| if c == '\t' { '\t' } else { ' ' };
    let mut pad: String = text.chars().take(before).map(keep).collect();
    let missing = before.saturating_sub(text.chars().count()).min(200);
    pad.extend(std::iter::repeat_n(' ', missing));
    let word = text.chars().skip(before).take_while(|c| c.is_alphanumeric() || *c == '_').count();
    (pad, "^".repeat(word.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn span(line: u32, col: u32, text: &str) -> Span {
        Span { file: "k.rs".into(), line, col, text: text.into(), called_from: None }
    }

    #[test]
    fn shows_line_caret_callers_notes_and_help() {
        let mut at = span(12, 13, "    let x = add(a, b);");
        at.called_from = Some(Arc::new(span(40, 5, "    helper(x);")));
        let d = Diagnostic::new("V0012", "operands differ")
            .at(&at)
            .label("`f32` and `i32`")
            .note("a fact")
            .help("cast one");
        let want = "\
error[V0012]: operands differ
  --> k.rs:12:13
   |
12 |     let x = add(a, b);
   |             ^^^ `f32` and `i32`
   = note: called from k.rs:40:5: `helper(x);`
   = note: a fact
   = help: cast one
";
        assert_eq!(d.render(), want);
    }

    #[test]
    fn an_unknown_place_and_a_column_past_the_end_are_fine() {
        assert_eq!(Diagnostic::new("V0001", "m").render(), "error[V0001]: m\n");
        let d = Diagnostic::new("V0001", "m").at(&span(1, 9, "ab"));
        assert!(d.render().ends_with("1 | ab\n  |         ^\n"), "{}", d.render());
        let d = Diagnostic::new("V0001", "m").at(&span(1, u32::MAX, "ab"));
        assert!(d.render().len() < 400);
    }
}
