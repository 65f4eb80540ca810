//! The data contract between compiler, tuner and runtime.
//!
//! Data only: no behaviour beyond parsing, printing and checking itself. The text form of manifests and
//! config records is a small subset of TOML with a reader and writer here: a store of ten thousand
//! records must load in a blink of a server's start (ADR 0012).

mod check;
mod config;
mod dtype;
mod expr;
mod kernel;
mod manifest;
mod manifest_text;
mod op_impl;
mod op_spec;
mod pack;
mod sha256;
mod target;
pub mod text;
mod variant;

pub use config::{
    CONFIG_VERSION, ConfigError, ConfigFile, ConfigKey, ConfigRecord, KeyField, Provenance, bucket,
    device_key, layout_class,
};
pub use dtype::{DType, Kind};
pub use expr::{CmpOp, Cond, Expr, ParseError};
pub use kernel::{ArtifactKind, AssumeDesc, Fact, KernelDesc, LaunchDesc, ParamDesc, ParamKind};
pub use manifest::{MANIFEST_VERSION, Manifest};
pub use manifest_text::{ManifestError, ManifestHead};
pub use op_impl::{Arg, Launch, OpImpl, Workspace};
pub use op_spec::{
    AttrSpec, AxisKey, AxisSpec, OpSpec, Problem, Role, ScalarSpec, Strides, TensorLayout,
    TensorSpec, Tolerance,
};
pub use pack::{MANIFEST_FILE, PACK_ALIGN, PACK_MAGIC, PACK_VERSION, Pack, PackError, PackWriter};
pub use sha256::sha256_hex;
pub use target::{Family, MmaCap, TargetCaps, TargetId};
pub use variant::Variant;
