//! Attention over paged and ragged keys and values, and the cache's upkeep.

pub mod spec;
pub mod reference;
