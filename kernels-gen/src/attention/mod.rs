//! Attention over paged and ragged keys and values, and the cache's upkeep.

mod append;
mod decode;
mod keys;
mod merge;
mod plan;
mod prefill;
pub mod reference;
pub mod space;
pub mod spec;
mod state;

pub use append::kv_append;
pub use decode::{Output, decode};
pub use keys::{Cache, PageTable, declare};
pub use merge::merge_states;
pub use prefill::{Lengths, prefill};
pub use state::{Scales, State};

use crate::OpEntry;

/// The ops of this family.
pub fn entries() -> Vec<OpEntry> {
    vec![
        OpEntry { spec: spec::kv_append(), impls: Box::new(plan::append_impls) },
        OpEntry { spec: spec::decode(), impls: Box::new(plan::decode_impls) },
        OpEntry { spec: spec::prefill(), impls: Box::new(plan::prefill_impls) },
        OpEntry { spec: spec::prefill_ragged(), impls: Box::new(plan::ragged_impls) },
        OpEntry { spec: spec::merge_states(), impls: Box::new(plan::merge_impls) },
    ]
}
