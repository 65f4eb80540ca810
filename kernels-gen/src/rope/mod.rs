//! Rotary position embedding: the table of angles, and its application to q and k.

pub mod spec;
pub mod reference;
