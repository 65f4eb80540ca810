//! Tile IR to LIR, one folder for each family.

pub(crate) mod cpu;
mod support;

pub use support::{Support, support_table};
