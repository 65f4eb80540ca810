//! Embedding look-ups, from float tables and from the blocks of a GGUF file.

pub mod spec;
