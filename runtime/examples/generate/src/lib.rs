//! A real model on the command line: what the binary and its tests are made of.
//!
//! The way of the data: [`map`] opens a model file and [`gguf`] checks it; [`config`] and [`tokenizer`]
//! read its metadata; [`model`] packs its weights and answers through sessions; [`run`] ties them to the
//! command line of [`args`].

pub mod args;
pub mod chat;
pub mod config;
pub mod error;
pub mod gguf;
pub mod interrupt;
pub mod map;
pub mod model;
pub mod output;
pub mod report;
pub mod run;
pub mod sampling;
pub mod tokenizer;
