//! Compiled kernels of the enabled targets, embedded.
//!
//! The build script compiles every kernel of the registry for each target feature that is on, and
//! [`PACK`] is the result: one file in the form of [`tilewright_abi::Pack`].
//!
//! ```
//! let pack = tilewright_abi::Pack::read(tilewright_pack::PACK)?;
//! assert!(pack.toolchain().starts_with("llvm-"));
//! # Ok::<(), tilewright_abi::PackError>(())
//! ```

/// The pack file's bytes.
pub static PACK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.pack"));
