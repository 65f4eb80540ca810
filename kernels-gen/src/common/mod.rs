//! What several kernel families share: packed weight layouts, epilogues, spec helpers.

pub mod format;
