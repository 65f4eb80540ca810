//! Answers prompts with a Llama-architecture model from a GGUF file.

fn main() {}
