//! Notices to the operator, each said once: what falls back to a default, and how to change that.

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

/// Keys remembered; after that many, further notices are not given.
const MAX_KEYS: usize = 4096;

/// Where notices go, and which were given.
pub(crate) struct Notices {
    sink: Box<dyn Fn(&str) + Send + Sync>,
    said: Mutex<HashSet<String>>,
}

impl Notices {
    pub(crate) fn new(sink: impl Fn(&str) + Send + Sync + 'static) -> Notices {
        Notices { sink: Box::new(sink), said: Mutex::default() }
    }

    /// Gives a notice unless one of the same key was given before.
    pub(crate) fn say(&self, key: &str, text: impl FnOnce() -> String) {
        {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            if said.len() >= MAX_KEYS || !said.insert(key.to_owned()) {
                return;
            }
        }
        (self.sink)(&text());
    }
}

impl Default for Notices {
    fn default() -> Self {
        Notices::new(|text| {
            // There is no one to tell when standard error is gone.
            let _ = writeln!(std::io::stderr(), "tilewright: {text}");
        })
    }
}
