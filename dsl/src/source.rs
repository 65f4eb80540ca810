//! Source positions: how an op gets a span that shows its line and its callers.
//!
//! Every operation of the DSL is `#[track_caller]`, so it knows file, line and column of the kernel
//! line that used it. The text of that line is known where the function is a `#[kernel]`, which
//! records its own source here when it is entered.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;
use tilewright_ir::Span;

/// A place in a kernel's source.
pub(crate) type Place = &'static Location<'static>;

/// The source text of one `#[kernel]` function, recorded by the macro.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// File as rustc names it.
    pub file: &'static str,
    /// Line of the first line of `text`, from 1.
    pub line: u32,
    /// Whole lines, from the function's first to its last.
    pub text: &'static str,
}

struct Call {
    source: Source,
    /// Where this kernel function was called, with the callers of that place.
    called_from: Option<Arc<Span>>,
}

#[derive(Default)]
struct Sources {
    /// The `#[kernel]` functions being run, outermost first.
    calls: Vec<Call>,
    /// Files and line texts, so that ops of one line share them.
    texts: HashMap<(&'static str, u32), (Arc<str>, Arc<str>)>,
}

thread_local! {
    static SOURCES: RefCell<Sources> = RefCell::default();
}

/// Ends the stay in a `#[kernel]` function when dropped.
#[derive(Debug)]
#[must_use = "the function is left when this is dropped"]
pub struct Entered(());

/// Called by a `#[kernel]` function with its own source and its caller.
pub fn enter(source: Source, caller: Place) -> Entered {
    SOURCES.with_borrow_mut(|s| {
        // The outermost call comes from the staging closure, which explains nothing.
        let called_from = (!s.calls.is_empty()).then(|| Arc::new(s.span(caller)));
        s.calls.push(Call { source, called_from });
    });
    Entered(())
}

impl Drop for Entered {
    fn drop(&mut self) {
        SOURCES.with_borrow_mut(|s| s.calls.pop());
    }
}

/// The span of a place, with the text of its line and the call chain that led to it.
pub(crate) fn span(place: Place) -> Span {
    SOURCES.with_borrow_mut(|s| s.span(place))
}

impl Sources {
    fn span(&mut self, place: Place) -> Span {
        let called_from = self.calls.last().and_then(|c| c.called_from.clone());
        let key = (place.file(), place.line());
        let (file, text) = match self.texts.get(&key) {
            Some(known) => known.clone(),
            None => {
                let text = self.calls.iter().rev().find_map(|c| c.source.line_text(place));
                let entry = (place.file().into(), text.unwrap_or_default().into());
                self.texts.entry(key).or_insert(entry).clone()
            }
        };
        Span { file, line: place.line(), col: place.column(), text, called_from }
    }
}

impl Source {
    fn line_text(&self, place: Place) -> Option<&'static str> {
        if place.file() != self.file {
            return None;
        }
        let n = place.line().checked_sub(self.line)?;
        self.text.lines().nth(n as usize)
    }
}
