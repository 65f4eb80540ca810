//! What ours is measured against: the machine itself and other libraries, called from this binary.
//!
//! C libraries are opened at run time, so that the benches build and run where a peer is missing: its rows are then
//! absent. Crates come with the feature `peers`.
#![allow(
    unsafe_code,
    reason = "peers are C libraries, and the machine's limits need vector intrinsics"
)]

#[cfg(feature = "peers")]
mod crates;
mod ggml;
pub mod machine;
mod onednn;

/// How a weight matrix is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named by the format")]
pub enum Format {
    F32,
    Bf16,
    F16,
    I8,
    Q4_0,
    Q4_1,
    Q5_0,
    Q8_0,
    Q4K,
    Q6K,
}

/// One problem: `c[m, n] = a[m, k] · w[n, k]ᵀ`, the weights in `copies` copies that are used in turn, so that
/// they stream from memory as a model's do.
#[derive(Clone, Debug)]
pub struct Gemm {
    /// Weight format.
    pub format: Format,
    /// Rows of `a`.
    pub m: usize,
    /// Rows of `w`.
    pub n: usize,
    /// Columns of both.
    pub k: usize,
    /// Copies of the weights.
    pub copies: usize,
    /// Threads to use.
    pub threads: usize,
    /// `w`, row-major, before conversion to `format`.
    pub weights: Vec<f32>,
    /// `a`, row-major.
    pub activations: Vec<f32>,
}

/// A prepared run: weights are converted and packed already; the argument chooses the copy.
pub type Run = Box<dyn FnMut(usize)>;

/// Every peer that can do `problem` here, by name.
pub fn gemm(problem: &Gemm) -> Vec<(String, Run)> {
    let mut out = Vec::new();
    out.extend(onednn::gemm(problem));
    out.extend(ggml::gemm(problem));
    #[cfg(feature = "peers")]
    out.extend(crates::gemm(problem));
    out
}

/// bf16 bits of `v`, rounded to nearest even.
fn bf16_bits(v: &[f32]) -> Vec<u16> {
    v.iter().map(|&x| half::bf16::from_f32(x).to_bits()).collect()
}
