//! Host processors.

use super::desc::{Family, Limits, LlvmTarget, MmaForm, MmaShape, Rates, TargetDesc};
use tilewright_abi::DType::{self, *};

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

const LIMITS: Limits = Limits { tile_bytes: 1 << 18, product_vectors: 1 << 16 };

const fn row(a: DType, b: DType, acc: DType, k_group: u32, form: MmaForm) -> MmaShape {
    MmaShape { a, b, acc, k_group, form }
}

/// Operands that are converted to f32, or f64, one step of K at a time.
const FMA_F32: MmaShape = row(F32, F32, F32, 1, MmaForm::Fma);
const FMA_F64: MmaShape = row(F64, F64, F64, 1, MmaForm::Fma);
const FMA_TF32: MmaShape = row(TF32, TF32, F32, 1, MmaForm::Fma);
const FMA_F16: MmaShape = row(F16, F16, F32, 1, MmaForm::Fma);

/// AVX2, FMA, F16C.
const MMA_V3: &[MmaShape] = &[
    FMA_F32,
    FMA_F64,
    FMA_TF32,
    FMA_F16,
    row(BF16, BF16, F32, 2, MmaForm::PairFma),
    row(U8, I8, I32, 4, MmaForm::Maddubs),
    row(I8, U8, I32, 4, MmaForm::Maddubs),
    row(I8, I8, I32, 4, MmaForm::Maddubs),
    row(U8, U8, I32, 4, MmaForm::Maddubs),
];

/// With `vpdpbusd` and `vdpbf16ps`.
const MMA_DOT: &[MmaShape] = &[
    FMA_F32,
    FMA_F64,
    FMA_TF32,
    FMA_F16,
    row(BF16, BF16, F32, 2, MmaForm::DotBf16),
    row(U8, I8, I32, 4, MmaForm::DotU8I8),
    row(I8, U8, I32, 4, MmaForm::DotU8I8),
    row(I8, I8, I32, 4, MmaForm::DotU8I8),
    row(U8, U8, I32, 4, MmaForm::DotU8I8),
];

const CPUID_V3: &[&str] = &["avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe"];
const CPUID_V4: &[&str] = &[
    "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe", "avx512f", "avx512bw", "avx512cd",
    "avx512dq", "avx512vl",
];
const CPUID_V4_BF16: &[&str] = &[
    "avx2",
    "bmi1",
    "bmi2",
    "f16c",
    "fma",
    "lzcnt",
    "movbe",
    "avx512f",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512vl",
    "avx512vnni",
    "avx512bf16",
];
const CPUID_ZNVER4: &[&str] = &[
    "avx2",
    "bmi1",
    "bmi2",
    "f16c",
    "fma",
    "lzcnt",
    "movbe",
    "avx512f",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512vl",
    "avx512vnni",
    "avx512bf16",
    "avx512vbmi",
    "avx512vbmi2",
    "avx512ifma",
    "avx512bitalg",
    "avx512vpopcntdq",
    "gfni",
    "vaes",
    "vpclmulqdq",
    "sha",
];
const CPUID_SPR: &[&str] = &[
    "avx2",
    "bmi1",
    "bmi2",
    "f16c",
    "fma",
    "lzcnt",
    "movbe",
    "avx512f",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512vl",
    "avx512vnni",
    "avx512bf16",
    "avx512vbmi",
    "avx512vbmi2",
    "avx512ifma",
    "avx512bitalg",
    "avx512vpopcntdq",
    "gfni",
    "vaes",
    "vpclmulqdq",
    "avxvnni",
    "avx512fp16",
    "amx-tile",
    "amx-int8",
    "amx-bf16",
];

const RATES_256: Rates = Rates { fma_f32: 16.0, fma_bf16: 12.0, dot_i8: 32.0, l1_bytes: 64.0 };
const RATES_512: Rates = Rates { fma_f32: 32.0, fma_bf16: 24.0, dot_i8: 64.0, l1_bytes: 128.0 };
const RATES_DOT: Rates = Rates { fma_f32: 32.0, fma_bf16: 64.0, dot_i8: 128.0, l1_bytes: 128.0 };

/// AVX2 machines from 2013 on.
pub(super) const X86_64_V3: TargetDesc = TargetDesc {
    id: "cpu/x86-64-v3",
    family: Family::Cpu,
    llvm: LlvmTarget { triple: TRIPLE, cpu: "x86-64-v3", features: &[] },
    cpuid: CPUID_V3,
    vector_bytes: 32,
    vector_regs: 16,
    limits: LIMITS,
    mma: MMA_V3,
    rates: RATES_256,
};

/// AVX-512 without dot products.
pub(super) const X86_64_V4: TargetDesc = TargetDesc {
    id: "cpu/x86-64-v4",
    llvm: LlvmTarget { triple: TRIPLE, cpu: "x86-64-v4", features: &[] },
    cpuid: CPUID_V4,
    vector_bytes: 64,
    vector_regs: 32,
    rates: RATES_512,
    ..X86_64_V3
};

/// AVX-512 with the 8-bit and bf16 dot products.
pub(super) const X86_64_V4_BF16: TargetDesc = TargetDesc {
    id: "cpu/x86-64-v4-bf16",
    llvm: LlvmTarget {
        triple: TRIPLE,
        cpu: "x86-64-v4",
        features: &["+avx512vnni", "+avx512bf16"],
    },
    cpuid: CPUID_V4_BF16,
    mma: MMA_DOT,
    rates: RATES_DOT,
    ..X86_64_V4
};

/// Zen 4.
pub(super) const ZNVER4: TargetDesc = TargetDesc {
    id: "cpu/znver4",
    llvm: LlvmTarget { triple: TRIPLE, cpu: "znver4", features: &[] },
    cpuid: CPUID_ZNVER4,
    ..X86_64_V4_BF16
};

/// Sapphire Rapids. Its matrix extension is part of the row; products are emitted through the
/// 512-bit dot products, which the same machines have.
pub(super) const SAPPHIRERAPIDS: TargetDesc = TargetDesc {
    id: "cpu/sapphirerapids",
    llvm: LlvmTarget { triple: TRIPLE, cpu: "sapphirerapids", features: &[] },
    cpuid: CPUID_SPR,
    ..X86_64_V4_BF16
};
