//! One kernel, run by the interpreter and as compiled code on guarded memory; the results compared.

use std::sync::OnceLock;

use tilewright::device::Device;
use tilewright::device::cpu::{CpuConfig, CpuDevice};
use tilewright_abi::{DType, Kind};
use tilewright_codegen::interp::{self, convert};
use tilewright_codegen::target::{self, TargetDesc};
use tilewright_ir::{Diagnostic, Func, Literal, Rounding};
use tilewright_llvm::compile_kernel;

use crate::guard::{Guarded, Kernel, Touch};

/// One argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A row-major view.
    View {
        /// Element type.
        dtype: DType,
        /// Extents.
        dims: Vec<i64>,
        /// Elements, little-endian.
        bytes: Vec<u8>,
    },
    /// A scalar.
    Scalar(Literal),
}

/// How far compiled floats may be from the interpreter's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Times the larger magnitude, on top of one unit in the last place of the element type.
    pub rel: f64,
    /// Added.
    pub abs: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { rel: 1e-5, abs: 1e-6 }
    }
}

/// The targets whose code this machine can run.
pub fn runnable() -> &'static [&'static TargetDesc] {
    static TARGETS: OnceLock<Vec<&TargetDesc>> = OnceLock::new();
    TARGETS.get_or_init(|| {
        let Ok(device) = CpuDevice::new(&CpuConfig::default()) else { return Vec::new() };
        let there = |f: &&str| device.info().features.iter().any(|g| g == f);
        target::ALL.iter().copied().filter(|t| t.cpuid.iter().all(there)).collect()
    })
}

/// Runs a kernel both ways for a target; an error names the first element that differs.
pub fn compare(
    func: &Func,
    args: &[Value],
    grid: [i64; 3],
    target: &TargetDesc,
    tolerance: Tolerance,
) -> Result<(), String> {
    let want = interpret(func, args, grid).map_err(|d| d.render())?;
    let artifact = compile_kernel(&func.name, func, target).map_err(|e| e.to_string())?;
    let kernel = Kernel::load(&artifact.bytes, &artifact.kernel.symbol)?;
    for touch in [Touch::End, Touch::Start] {
        let got = execute(&kernel, args, grid, touch)?;
        for (i, (want, got)) in want.iter().zip(&got).enumerate() {
            let name = func.params.get(i).map_or("?", |p| p.name.as_str());
            same(want, got, tolerance).map_err(|e| format!("`{name}`{e}"))?;
        }
    }
    Ok(())
}

/// The arguments after the interpreter has run.
pub fn interpret(func: &Func, args: &[Value], grid: [i64; 3]) -> Result<Vec<Value>, Diagnostic> {
    let mut values = args.to_vec();
    let mut views: Vec<interp::Arg<'_>> = values
        .iter_mut()
        .map(|v| match v {
            Value::View { dtype, dims, bytes } => interp::Arg::dense(bytes, *dtype, dims),
            Value::Scalar(literal) => interp::Arg::Scalar(*literal),
        })
        .collect();
    interp::run(func, &mut views, grid)?;
    drop(views);
    Ok(values)
}

/// The arguments after compiled code has run on copies that touch guard pages.
pub fn execute(
    kernel: &Kernel,
    args: &[Value],
    grid: [i64; 3],
    touch: Touch,
) -> Result<Vec<Value>, String> {
    let mut memory = Vec::new();
    let mut words = Vec::new();
    for arg in args {
        match arg {
            Value::View { dims, bytes, .. } => {
                let guarded = Guarded::from_bytes(bytes, touch).map_err(|e| e.to_string())?;
                words.push(guarded.address());
                words.extend(dims.iter().map(|&d| d as u64));
                words.extend(row_major(dims).iter().map(|&s| s as u64));
                memory.push(Some(guarded));
            }
            Value::Scalar(literal) => {
                words.push(scalar_bits(*literal));
                memory.push(None);
            }
        }
    }
    // In two parts, as two threads would take them.
    let programs: i64 = grid.iter().product();
    kernel.run(&words, grid, programs / 2, programs);
    kernel.run(&words, grid, 0, programs / 2);
    let after = |(arg, memory): (&Value, &Option<Guarded>)| match (arg, memory) {
        (Value::View { dtype, dims, .. }, Some(m)) => {
            Value::View { dtype: *dtype, dims: dims.clone(), bytes: m.bytes().to_vec() }
        }
        (other, _) => other.clone(),
    };
    Ok(args.iter().zip(&memory).map(after).collect())
}

fn row_major(dims: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i] * dims[i];
    }
    strides
}

/// The argument word of a scalar: its own format's bits.
pub fn scalar_bits(literal: Literal) -> u64 {
    if literal.dtype.is_float() {
        let x = f64::from_bits(literal.bits);
        return convert::encode(literal.dtype, x, Rounding::NearestEven, false);
    }
    match literal.dtype.bits() {
        64 => literal.bits,
        bits => literal.bits & ((1 << bits) - 1),
    }
}

fn same(want: &Value, got: &Value, tolerance: Tolerance) -> Result<(), String> {
    let (Value::View { dtype, dims, bytes: w }, Value::View { bytes: g, .. }) = (want, got) else {
        return Ok(());
    };
    let size = (dtype.bits() as usize).div_ceil(8).max(1);
    for (i, (w, g)) in w.chunks(size).zip(g.chunks(size)).enumerate() {
        if w != g && !close(*dtype, word(w), word(g), tolerance) {
            let show = |bits: u64| match dtype.kind() {
                Kind::Float => format!("{} ({bits:#x})", convert::decode(*dtype, bits)),
                _ => format!("{bits:#x}"),
            };
            let at = position(i as i64, dims);
            return Err(format!(
                "{at:?}: compiled code gives {}, the interpreter {}",
                show(word(g)),
                show(word(w))
            ));
        }
    }
    Ok(())
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |x, &b| (x << 8) | u64::from(b))
}

fn position(mut i: i64, dims: &[i64]) -> Vec<i64> {
    let mut at: Vec<i64> = dims
        .iter()
        .rev()
        .map(|&d| {
            let here = i % d.max(1);
            i /= d.max(1);
            here
        })
        .collect();
    at.reverse();
    at
}

fn close(dtype: DType, want: u64, got: u64, tolerance: Tolerance) -> bool {
    if dtype.kind() != Kind::Float {
        return false;
    }
    let (w, g) = (convert::decode(dtype, want), convert::decode(dtype, got));
    if w.is_nan() || g.is_nan() {
        return w.is_nan() && g.is_nan();
    }
    if w.is_infinite() || g.is_infinite() {
        return w == g;
    }
    // One unit in the last place of narrow formats: sums that round the other way.
    let ulp = match dtype {
        DType::F64 | DType::F32 => 0.0,
        DType::F16 => 1.0 / 1024.0,
        DType::BF16 => 1.0 / 128.0,
        _ => 1.0 / 4.0,
    };
    (w - g).abs() <= tolerance.abs + (tolerance.rel + ulp) * w.abs().max(g.abs())
}

/// Deterministic values of a type: mostly small, some special.
pub fn fill(dtype: DType, elements: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let size = (dtype.bits() as usize).div_ceil(8).max(1);
    let mut bytes = Vec::with_capacity(elements * size);
    for _ in 0..elements {
        let r = random.next();
        let bits = match dtype.kind() {
            Kind::Bool => r & 1,
            Kind::Float => {
                let x = (r >> 11) as f64 / (1u64 << 53) as f64 * 4.0 - 2.0;
                convert::encode(dtype, x, Rounding::NearestEven, true)
            }
            _ => r >> 7,
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
    }
    bytes
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "it never ends, so it is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_can_find_every_feature_that_a_target_needs() {
        let known = tilewright::device::cpu::known_features();
        for t in target::ALL {
            let missing: Vec<_> = t.cpuid.iter().filter(|f| !known.contains(f)).collect();
            assert!(missing.is_empty(), "`{}` needs {missing:?}: never picked", t.id);
        }
    }
}
