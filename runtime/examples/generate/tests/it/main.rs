//! Tests of the example as a whole, in one binary: the file reader, the tokenizer, the model.

mod formats;
mod gguf;
mod model;
mod oracle;
mod support;
mod tokenizer;
