//! Passes, target tables, lowering and the reference interpreter; no LLVM.
