//! Tile IR to LIR, one folder for each family.

pub(crate) mod cpu;
