//! A real model on the command line: what the binary and its tests are made of.
//!
//! [`map`] opens a model file, [`gguf`] checks it, [`config`] and [`tokenizer`] read from its metadata.

pub mod config;
pub mod error;
pub mod gguf;
pub mod map;
pub mod tokenizer;
