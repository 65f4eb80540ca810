//! Where an op stands in the kernel's source.

use std::sync::Arc;

/// A position in a kernel's source, with the call chain that led there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// File as rustc names it; empty when unknown (hand-written IR).
    pub file: Arc<str>,
    /// 1-based line; 0 when unknown.
    pub line: u32,
    /// 1-based column.
    pub col: u32,
    /// Text of that source line, so that a message can show it where the file is not at hand.
    pub text: Arc<str>,
    /// The call sites of the kernel helpers that led here, innermost first.
    pub called_from: Option<Arc<Span>>,
}

impl Span {
    /// Whether the position is known.
    pub fn is_known(&self) -> bool {
        self.line != 0
    }
}
