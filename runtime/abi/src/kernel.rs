//! Compiled kernels: what a launch of one needs and nothing else.

use crate::DType;
use std::fmt;
use std::str::FromStr;

/// One compiled kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelDesc {
    /// Unique within a manifest: `<op>.<algorithm>.<variant>`.
    pub name: String,
    /// Symbol in the artifact.
    pub symbol: String,
    /// Content hash (SHA-256, lower-case hex) of the artifact's bytes; also its file name.
    pub artifact: String,
    /// What the artifact is.
    pub kind: ArtifactKind,
    /// Launch signature, in ABI order.
    pub params: Vec<ParamDesc>,
    /// What the launcher must guarantee.
    pub assumes: Vec<AssumeDesc>,
    /// Block, cluster and shared memory; meaningless on a CPU.
    pub launch: LaunchDesc,
    /// Hash of the kernel's source text.
    pub source_hash: String,
    /// Hash of the tile IR it was compiled from.
    pub ir_hash: String,
    /// What compiled it.
    pub toolchain: String,
}

/// The form of an artifact's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ArtifactKind {
    /// An ELF shared object for this machine's processor.
    #[default]
    SharedObject,
    /// PTX text.
    Ptx,
    /// A CUDA binary.
    Cubin,
    /// An AMD GCN code object.
    Hsaco,
}

/// One launch parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamDesc {
    /// Name in the kernel's source.
    pub name: String,
    /// What it is.
    pub kind: ParamKind,
}

/// What a launch parameter is. A view takes `1 + 2 * rank` words (base, dims, strides in elements), a
/// scalar one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// Memory with dims and strides.
    View {
        /// Element type.
        dtype: DType,
        /// Number of axes.
        rank: usize,
        /// Whether the kernel writes it.
        mutable: bool,
    },
    /// A value.
    Scalar(DType),
}

impl ParamKind {
    /// 8-byte words this parameter takes in a launch's argument block.
    pub fn words(self) -> usize {
        match self {
            ParamKind::View { rank, .. } => 1 + 2 * rank,
            ParamKind::Scalar(_) => 1,
        }
    }
}

/// A fact about a parameter that the compiled code relies on. Printed `a: dim 0 multiple 8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumeDesc {
    /// The parameter's name.
    pub param: String,
    /// The fact.
    pub fact: Fact,
}

/// See [`AssumeDesc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The extent of an axis is a multiple of this.
    DimMultiple(usize, u64),
    /// The extent of an axis is exactly this.
    DimEquals(usize, u64),
    /// The stride of an axis, in elements, is exactly this.
    StrideEquals(usize, u64),
    /// The stride of an axis, in elements, is a multiple of this.
    StrideMultiple(usize, u64),
    /// The base address is a multiple of this many bytes.
    Aligned(u64),
    /// A scalar is a multiple of this.
    ScalarMultiple(u64),
}

/// How a kernel is launched on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDesc {
    /// Threads of a block, by axis.
    pub block: [u32; 3],
    /// Blocks of a cluster, by axis.
    pub cluster: [u32; 3],
    /// Shared memory that the code declares.
    pub static_smem: u32,
    /// Shared memory that the launch must add.
    pub dynamic_smem: u32,
}

impl Default for LaunchDesc {
    fn default() -> Self {
        LaunchDesc { block: [1; 3], cluster: [1; 3], static_smem: 0, dynamic_smem: 0 }
    }
}

impl ArtifactKind {
    const ALL: [ArtifactKind; 4] =
        [ArtifactKind::SharedObject, ArtifactKind::Ptx, ArtifactKind::Cubin, ArtifactKind::Hsaco];

    /// The text form, which is also the file extension.
    pub fn name(self) -> &'static str {
        match self {
            ArtifactKind::SharedObject => "so",
            ArtifactKind::Ptx => "ptx",
            ArtifactKind::Cubin => "cubin",
            ArtifactKind::Hsaco => "hsaco",
        }
    }

    /// The kind of a text form.
    pub fn from_name(name: &str) -> Option<ArtifactKind> {
        Self::ALL.into_iter().find(|k| k.name() == name)
    }
}

/// `a: view<f32, 2>`, `c: mut view<f32, 2>`, `eps: f32`.
impl fmt::Display for ParamDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ParamKind::View { dtype, rank, mutable } => {
                let m = if mutable { "mut " } else { "" };
                write!(f, "{}: {m}view<{dtype}, {rank}>", self.name)
            }
            ParamKind::Scalar(dtype) => write!(f, "{}: {dtype}", self.name),
        }
    }
}

impl FromStr for ParamDesc {
    type Err = String;
    fn from_str(text: &str) -> Result<ParamDesc, String> {
        let bad =
            || format!("`{text}` is not a parameter such as `a: mut view<f32, 2>` or `eps: f32`");
        let (name, kind) = text.split_once(": ").ok_or_else(bad)?;
        let (mutable, rest) = match kind.strip_prefix("mut ") {
            Some(rest) => (true, rest),
            None => (false, kind),
        };
        let kind = match rest.strip_prefix("view<").and_then(|r| r.strip_suffix('>')) {
            Some(inner) => {
                let (dtype, rank) = inner.split_once(", ").ok_or_else(bad)?;
                let dtype = DType::from_name(dtype).ok_or_else(bad)?;
                ParamKind::View { dtype, rank: rank.parse().map_err(|_| bad())?, mutable }
            }
            None if mutable => return Err(bad()),
            None => ParamKind::Scalar(DType::from_name(rest).ok_or_else(bad)?),
        };
        Ok(ParamDesc { name: name.to_owned(), kind })
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::DimMultiple(axis, n) => write!(f, "dim {axis} multiple {n}"),
            Fact::DimEquals(axis, n) => write!(f, "dim {axis} equals {n}"),
            Fact::StrideEquals(axis, n) => write!(f, "stride {axis} equals {n}"),
            Fact::StrideMultiple(axis, n) => write!(f, "stride {axis} multiple {n}"),
            Fact::Aligned(n) => write!(f, "aligned {n}"),
            Fact::ScalarMultiple(n) => write!(f, "multiple {n}"),
        }
    }
}

impl fmt::Display for AssumeDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.param, self.fact)
    }
}

impl FromStr for AssumeDesc {
    type Err = String;
    fn from_str(text: &str) -> Result<AssumeDesc, String> {
        let bad = || format!("`{text}` is not a fact such as `a: dim 0 multiple 8`");
        let (param, fact) = text.split_once(": ").ok_or_else(bad)?;
        let words: Vec<&str> = fact.split(' ').collect();
        let number = |s: &str| s.parse::<u64>().map_err(|_| bad());
        let axis = |s: &str| s.parse::<usize>().map_err(|_| bad());
        let fact = match words.as_slice() {
            ["dim", a, "multiple", n] => Fact::DimMultiple(axis(a)?, number(n)?),
            ["dim", a, "equals", n] => Fact::DimEquals(axis(a)?, number(n)?),
            ["stride", a, "equals", n] => Fact::StrideEquals(axis(a)?, number(n)?),
            ["stride", a, "multiple", n] => Fact::StrideMultiple(axis(a)?, number(n)?),
            ["aligned", n] => Fact::Aligned(number(n)?),
            ["multiple", n] => Fact::ScalarMultiple(number(n)?),
            _ => return Err(bad()),
        };
        Ok(AssumeDesc { param: param.to_owned(), fact })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms() {
        for text in ["a: view<f32, 2>", "c: mut view<bf16, 3>", "eps: f32"] {
            assert_eq!(text.parse::<ParamDesc>().unwrap().to_string(), text);
        }
        for text in ["a", "a: view<f33, 2>", "a: mut f32", "a: view<f32>"] {
            assert!(text.parse::<ParamDesc>().is_err(), "{text}");
        }
        for text in [
            "a: dim 0 multiple 8",
            "a: dim 1 equals 128",
            "a: stride 1 equals 1",
            "a: stride 0 multiple 16",
            "a: aligned 64",
            "n: multiple 4",
        ] {
            assert_eq!(text.parse::<AssumeDesc>().unwrap().to_string(), text);
        }
        assert!("a: dim x equals 3".parse::<AssumeDesc>().is_err());
    }
}
