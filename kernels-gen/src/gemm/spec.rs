//! Contracts of the weight packers and the GEMMs.
//!
//! A weight goes through two ops. `gemm.pack_<source>` turns the file's tensor into panels (see
//! [`crate::common::format`]) once, at load time; `gemm.<packed>` multiplies with them.
//!
//! # `gemm.pack_<source>` for f32 f16 bf16 f8e4m3 i8 q4_0 q4_1 q5_0 q8_0 q4_k q6_k
//!
//! axes `n`, `k`, `num_panels`; scalars `panel_start` (default 0) and `panel_step` (default 1),
//! i64. Panel `p` of the weight is written to panel `panel_start + panel_step * p`, so that several
//! weights (q, k and v; gate and up) can share one packed buffer: pack q with start 0, k with start
//! `n_q / 16` and so on (each `n` but the last a multiple of 16).
//!
//! | tensor | role | shape | dtype |
//! |---|---|---|---|
//! | `w` | in | `[n, k]`, or `[n, k / block * bytes]` of a block format | dtype of the source; u8 for blocks |
//! | `codes` | in-out | `[num_panels, codes_len]` | see the format table |
//! | `scales` | in-out, absent for floats and i8 | `[num_panels, scales_len]` | f16, u8 (q4_k), i8 (q6_k) |
//! | `mins` | in-out, q4_1 and q4_k only | `[num_panels, scales_len]` | f16, u8 |
//! | `supers` | in-out, q4_k and q6_k only | `[num_panels, supers_len]` | f16 |
//!
//! Elements in a panel's row:
//!
//! | packed | `codes_len` | `scales_len` | `supers_len` |
//! |---|---|---|---|
//! | f32, f16, bf16, f8e4m3, i8 | `ceil_div(k, 8) * 128` | | |
//! | q8_0 (also from q5_0) | `k * 16` i8 | `k / 32 * 16` | |
//! | q4_0, q4_1 | `k * 8` u8 | `k / 32 * 16` | |
//! | q4_k | `k * 8` u8 | `k / 32 * 16` | `k / 256 * 32` |
//! | q6_k | `k * 16` i8 | `k / 16 * 16` | `k / 256 * 16` |
//!
//! # `gemm.<packed>` for f32 f16 bf16 f8e4m3 q4_0 q4_1 q8_0 q4_k q6_k
//!
//! `c[m, n] = a[m, k] · w[n, k]ᵀ (+ bias) (+ residual)`, sums in f32. axes `m`, `n`, `k`.
//!
//! | tensor | role | shape | dtype |
//! |---|---|---|---|
//! | `a` | in | `[m, k]`, free row stride | f32, bf16, f16; i8 for the quantised formats |
//! | `scale_a`, `sum_a` | in, exactly when `a` is i8 | `[m, k / 32]` | f32 |
//! | `b`, `scale_b`, `min_b`, `super_b` | in | the `codes`, `scales`, `mins`, `supers` of the packed weight, `ceil_div(n, 16)` panels | as packed |
//! | `bias` | in, optional | `[n]` | f32 |
//! | `residual` | in, optional; may be the memory of `c` | `[m, n]`, free row stride | as `c` |
//! | `c` | out | `[m, n]`, free row stride | f32, bf16, f16 |
//!
//! The int8 activations, −127 to 127, come from `quant.i8_group`: `scale_a = amax / 127` of each 32
//! elements of a row and `sum_a = scale_a · Σ codes`.
//!
//! # `gemm.i8`: per token times per channel
//!
//! As above with `a` i8 `[m, k]`, `scale_a` f32 `[m]`, `b` i8 panels, `scale_b` f32 `[n]`.
//!
//! # `gemm.plain`: both operands as they are
//!
//! `c[m, n] = a[m, k] · b[n, k]ᵀ (+ bias) (+ residual)` with `b` f32, f16 or bf16 `[n, k]` and free
//! row strides: the form for operands that are used once. It packs `b` into its workspace.

use crate::common::format::{PANEL_N, Packed, Source};
use tilewright_abi::{
    AxisSpec, Cond, DType, OpSpec, Role, ScalarSpec, Strides, TensorSpec, Tolerance,
};

/// Float element types that activations and outputs may have.
pub const FLOATS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// Elements of one panel's row of codes, scales and super-scales, as expressions over `k`.
pub struct PanelLens {
    /// Elements of `codes`.
    pub codes: String,
    /// Elements of `scales`, and of `mins`.
    pub scales: String,
    /// Elements of `supers`.
    pub supers: String,
}

/// See [`PanelLens`].
pub fn panel_lens(p: Packed) -> PanelLens {
    let codes = match p.group() {
        None => format!("ceil_div(k, 8) * {}", 8 * PANEL_N),
        Some(_) if p.is_nibbles() => format!("k * {}", PANEL_N / 2),
        Some(_) => format!("k * {PANEL_N}"),
    };
    let scales = p.group().map_or(String::new(), |g| format!("k / {g} * {PANEL_N}"));
    let supers = format!("k / 256 * {}", p.supers() * PANEL_N);
    PanelLens { codes, scales, supers }
}

/// `gemm.pack_<source>`.
pub fn pack(s: Source) -> OpSpec {
    let p = s.packed();
    let lens = panel_lens(p);
    let row = s.block().map_or("k".to_owned(), |b| format!("k / {} * {}", b.len, b.bytes));
    let panels = |name: &str, dtype: DType, len: &str| {
        TensorSpec::new(name, Role::InOut, &[dtype], &["num_panels", len]).strides(Strides::Packed)
    };
    let mut tensors = vec![
        TensorSpec::new("w", Role::In, &[s.dtype()], &["n", &row]),
        panels("codes", p.codes(), &lens.codes),
    ];
    if let (Some(d), Some(_)) = (p.scales(), p.group()) {
        tensors.push(panels("scales", d, &lens.scales));
    }
    if let Some(d) = p.mins() {
        tensors.push(panels("mins", d, &lens.scales));
    }
    if p.supers() > 0 {
        tensors.push(panels("supers", DType::F16, &lens.supers));
    }
    OpSpec {
        name: format!("gemm.pack_{}", s.name()),
        doc: format!(
            "Packs a {} weight [n, k] into panels of {PANEL_N} output columns for `gemm.{}`.",
            s.name(),
            p.name()
        ),
        axes: vec![
            AxisSpec::new("n", "output columns of the weight"),
            AxisSpec::new("k", "inputs of the weight"),
            AxisSpec::new("num_panels", "panels of the packed buffer").ignored(),
        ],
        tensors,
        scalars: vec![
            ScalarSpec::new("panel_start", DType::I64).range(0.0, 1e12).default_value(0.0),
            ScalarSpec::new("panel_step", DType::I64).range(1.0, 1e6).default_value(1.0),
        ],
        attrs: Vec::new(),
        constraints: k_constraint(p),
        tolerance: Tolerance::default(),
    }
}

/// `gemm.<packed>`.
pub fn gemm_packed(p: Packed) -> OpSpec {
    let lens = panel_lens(p);
    let panels = format!("ceil_div(n, {PANEL_N})");
    let weight = |name: &str, dtype: DType, len: &str| {
        TensorSpec::new(name, Role::In, &[dtype], &[&panels, len]).strides(Strides::Packed)
    };
    let mut tensors = Vec::new();
    if p == Packed::I8 {
        tensors.push(TensorSpec::new("a", Role::In, &[DType::I8], &["m", "k"]));
        tensors.push(TensorSpec::new("scale_a", Role::In, &[DType::F32], &["m"]));
    } else if p.group().is_some() {
        let dtypes = [DType::F32, DType::BF16, DType::F16, DType::I8];
        tensors.push(TensorSpec::new("a", Role::In, &dtypes, &["m", "k"]));
        for name in ["scale_a", "sum_a"] {
            let t = TensorSpec::new(name, Role::In, &[DType::F32], &["m", "k / 32"]);
            tensors.push(t.optional());
        }
    } else {
        tensors.push(TensorSpec::new("a", Role::In, &FLOATS, &["m", "k"]));
    }
    tensors.push(weight("b", p.codes(), &lens.codes));
    match (p.scales(), p.group()) {
        (Some(d), Some(_)) => tensors.push(weight("scale_b", d, &lens.scales)),
        (Some(d), None) => tensors.push(TensorSpec::new("scale_b", Role::In, &[d], &["n"])),
        (None, _) => {}
    }
    if let Some(d) = p.mins() {
        tensors.push(weight("min_b", d, &lens.scales));
    }
    if p.supers() > 0 {
        tensors.push(weight("super_b", DType::F16, &lens.supers));
    }
    tensors.extend(epilogue_tensors());
    OpSpec {
        name: format!("gemm.{}", p.name()),
        doc: format!(
            "c = a · wᵀ (+ bias) (+ residual) with a weight packed as {}; sums in f32.",
            p.name()
        ),
        axes: mnk(),
        tensors,
        scalars: Vec::new(),
        attrs: Vec::new(),
        constraints: k_constraint(p),
        tolerance: tolerance(),
    }
}

/// `gemm.plain`.
pub fn gemm() -> OpSpec {
    let mut tensors = vec![
        TensorSpec::new("a", Role::In, &FLOATS, &["m", "k"]),
        TensorSpec::new("b", Role::In, &FLOATS, &["n", "k"]),
    ];
    tensors.extend(epilogue_tensors());
    OpSpec {
        name: "gemm.plain".to_owned(),
        doc: "c = a · bᵀ (+ bias) (+ residual); sums in f32.".to_owned(),
        axes: mnk(),
        tensors,
        scalars: Vec::new(),
        attrs: Vec::new(),
        constraints: Vec::new(),
        tolerance: tolerance(),
    }
}

fn mnk() -> Vec<AxisSpec> {
    vec![
        AxisSpec::new("m", "rows of a and c").bucketed(),
        AxisSpec::new("n", "columns of c"),
        AxisSpec::new("k", "length of each dot product"),
    ]
}

fn epilogue_tensors() -> [TensorSpec; 3] {
    [
        TensorSpec::new("bias", Role::In, &[DType::F32], &["n"]).optional(),
        TensorSpec::new("residual", Role::In, &FLOATS, &["m", "n"]).optional(),
        TensorSpec::new("c", Role::Out, &FLOATS, &["m", "n"]),
    ]
}

fn k_constraint(p: Packed) -> Vec<Cond> {
    match p.k_multiple() {
        1 => Vec::new(),
        multiple => vec![Cond::from(format!("k % {multiple} == 0").as_str())],
    }
}

/// Of one element; the corpus also checks the norm of the whole against `4e-7 · √k`.
fn tolerance() -> Tolerance {
    Tolerance { abs: 1e-4, rel: 1e-4, ulp: 2 }
}
