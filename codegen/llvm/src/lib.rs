//! The only crate that links LLVM: .ll text to machine code, and the kc command.
