//! Analyses and rewrites, one a file. `pipeline.rs` says in which order they run.

pub(crate) mod assign_layouts;
pub(crate) mod axis_info;
pub(crate) mod canonicalize;
pub(crate) mod cse;
pub(crate) mod dce;
pub(crate) mod licm;
pub(crate) mod select_mma;
pub(crate) mod sink_loads;
mod subst;
