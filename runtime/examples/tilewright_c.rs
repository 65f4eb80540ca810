//! The library for C programs, static and shared; its header is `runtime/include/tilewright.h`.

pub use tilewright::capi::*;
