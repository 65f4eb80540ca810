//! Operands by name, and the problem that follows from them.

use crate::error::fail;
use crate::{Result, Tensor};
use std::collections::BTreeMap;
use tilewright_abi::{DType, Expr, OpSpec, Problem};

/// Operands of an op by name, with axes and attributes that do not follow from them.
#[derive(Clone, Debug, Default)]
pub struct Args {
    pub(crate) tensors: BTreeMap<String, Tensor>,
    pub(crate) scalars: BTreeMap<String, Number>,
    axes: BTreeMap<String, i64>,
    attrs: BTreeMap<String, String>,
}

/// A scalar operand's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A number for a float operand, or a whole one for an integer operand.
    Float(f64),
    /// An integer; also for a float operand.
    Int(i128),
}

macro_rules! number {
    ($make:ident: $($type:ty),*) => {
        $(impl From<$type> for Number {
            fn from(v: $type) -> Number {
                Number::$make(v.into())
            }
        })*
    };
}
number!(Float: f32, f64);
number!(Int: i8, u8, i16, u16, i32, u32, i64, u64);

impl From<usize> for Number {
    fn from(v: usize) -> Number {
        Number::Int(v as i128)
    }
}

impl Args {
    /// No operand yet.
    pub fn new() -> Args {
        Args::default()
    }

    /// With a tensor.
    #[must_use]
    pub fn tensor(mut self, name: &str, tensor: &Tensor) -> Args {
        self.tensors.insert(name.to_owned(), tensor.clone());
        self
    }

    /// With a scalar.
    #[must_use]
    pub fn scalar(mut self, name: &str, value: impl Into<Number>) -> Args {
        self.scalars.insert(name.to_owned(), value.into());
        self
    }

    /// With the extent of an axis that no tensor's shape gives.
    #[must_use]
    pub fn axis(mut self, name: &str, extent: usize) -> Args {
        self.axes.insert(name.to_owned(), i64::try_from(extent).unwrap_or(i64::MAX));
        self
    }

    /// With an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: &str) -> Args {
        self.attrs.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The problem these operands pose: axes from shapes, dtypes and layouts from the tensors.
    pub fn problem(&self, spec: &OpSpec) -> Result<Problem> {
        let op = &spec.name;
        let mut p = Problem::new(op.clone());
        p.axes = self.axes.clone();
        p.attrs = self.attrs.clone();
        for (name, t) in &self.tensors {
            let Some(s) = spec.tensor(name) else {
                let known: Vec<&str> = spec.tensors.iter().map(|t| t.name.as_str()).collect();
                return fail!(
                    InvalidArgument,
                    "{op}: no tensor `{name}`; the op has {}",
                    known.join(", ")
                );
            };
            if s.shape.len() != t.shape().len() {
                return fail!(
                    InvalidArgument,
                    "{op}: tensor `{name}` has shape {:?}, the op takes {}",
                    t.shape(),
                    shape_text(&s.shape)
                );
            }
            for (e, &d) in s.shape.iter().zip(t.shape()) {
                let Expr::Sym(axis) = e else { continue };
                let d = i64::try_from(d).unwrap_or(i64::MAX);
                match p.axes.insert(axis.clone(), d) {
                    Some(old) if old != d => {
                        return fail!(
                            InvalidArgument,
                            "{op}: axis `{axis}` is {d} in tensor `{name}` of shape {:?}, but {old} \
                             elsewhere",
                            t.shape()
                        );
                    }
                    _ => {}
                }
            }
            p.dtypes.insert(name.clone(), t.dtype());
            let layout = t.layout();
            if !t.is_packed() || layout.align < 64 {
                p.layouts.insert(name.clone(), layout);
            }
        }
        self.solve(spec, &mut p.axes);
        Ok(p)
    }

    /// Finds axes that occur in sums and products only, as in `batch + 1`.
    fn solve(&self, spec: &OpSpec, axes: &mut BTreeMap<String, i64>) {
        for (name, t) in &self.tensors {
            let shape = spec.tensor(name).map_or(&[][..], |s| &s.shape);
            for (e, &d) in shape.iter().zip(t.shape()) {
                let mut unknown = Vec::new();
                e.for_each_sym(&mut |s| {
                    if !axes.contains_key(s) {
                        unknown.push(s);
                    }
                });
                unknown.dedup();
                let [axis] = unknown.as_slice() else { continue };
                let at =
                    |x: i64| e.eval(&|s| if s == *axis { Some(x) } else { axes.get(s).copied() });
                // A straight line through the first two values, proved at the point found and past it:
                // a rounded quotient is no line, and has several solutions.
                let solved = (|| {
                    let (first, d) = (at(0)?, i64::try_from(d).ok()?);
                    let slope = at(1)?.checked_sub(first)?;
                    let x = d.checked_sub(first)?.checked_div(slope)?;
                    let next = at(x.checked_add(1)?)?.checked_sub(d)?;
                    (x >= 0 && at(x)? == d && next == slope).then_some(x)
                })();
                if let Some(x) = solved {
                    axes.insert((*axis).to_owned(), x);
                }
            }
        }
    }
}

/// `[m, ceil_div(k, 32)]`.
pub(crate) fn shape_text(shape: &[Expr]) -> String {
    let dims: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", dims.join(", "))
}

/// A scalar's bits in an argument word, if the dtype can hold the value.
pub(crate) fn word(value: Number, dtype: DType) -> Option<u64> {
    if dtype.is_float() {
        let x = match value {
            Number::Float(x) => x,
            Number::Int(i) => i as f64,
        };
        return match dtype {
            DType::F64 => Some(x.to_bits()),
            DType::F32 => Some(u64::from((x as f32).to_bits())),
            DType::BF16 => Some(u64::from(bf16_bits(x as f32))),
            _ => None,
        };
    }
    let i = match value {
        Number::Int(i) => i,
        Number::Float(x) if x.fract() == 0.0 && x.abs() < 9.1e18 => x as i128,
        Number::Float(_) => return None,
    };
    let bits = dtype.bits();
    let (low, high) = match dtype.kind() {
        tilewright_abi::Kind::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        tilewright_abi::Kind::Bool => (0, 1),
        _ => (0, (1i128 << bits) - 1),
    };
    // The low bits of a negative number are its two's complement, zero extended from the dtype.
    let mask = (1u128 << bits) - 1;
    (low <= i && i <= high).then_some((i as u128 & mask) as u64)
}

/// Rounds to nearest, ties to even; a NaN stays one.
fn bf16_bits(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    let round = 0x7fff + (bits >> 16 & 1);
    ((bits.wrapping_add(round)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_follow_from_shapes() {
        use tilewright_abi::{AxisSpec, Role, TensorSpec};
        let rt = crate::common::runtime(1);
        let t = |shape: &[usize]| Tensor::zeros(&rt, DType::U8, shape).unwrap();
        let shapes: [(&str, &[&str]); 3] =
            [("a", &["m + 1", "m * k"]), ("b", &["k / 32 * 18"]), ("c", &["ceil_div(q, 2)"])];
        let spec = OpSpec {
            axes: ["m", "k", "q"].map(|n| AxisSpec::new(n, "")).to_vec(),
            tensors: shapes.map(|(n, s)| TensorSpec::new(n, Role::In, &[DType::U8], s)).to_vec(),
            ..OpSpec::default()
        };
        let args =
            Args::new().tensor("a", &t(&[4, 192])).tensor("b", &t(&[36])).tensor("c", &t(&[1]));
        let problem = args.problem(&spec).unwrap();
        // `q` could be 1 or 2, so it must be given.
        assert_eq!(problem.axes, [("m".to_owned(), 3), ("k".to_owned(), 64)].into());
        let given = args.axis("q", 2).problem(&spec).unwrap();
        assert_eq!(given.axes.get("q"), Some(&2));
    }

    #[test]
    fn words() {
        assert_eq!(word(1.0.into(), DType::F32), Some(0x3f80_0000));
        assert_eq!(word(1.into(), DType::F32), Some(0x3f80_0000));
        assert_eq!(word((-1).into(), DType::I32), Some(0xffff_ffff));
        assert_eq!(word((-1i64).into(), DType::I64), Some(u64::MAX));
        assert_eq!(word(u64::MAX.into(), DType::U64), Some(u64::MAX));
        assert_eq!(word(300.into(), DType::U8), None);
        assert_eq!(word(1.5.into(), DType::I32), None);
        assert_eq!(word(2.0.into(), DType::I32), Some(2));
        assert_eq!(word(1.0.into(), DType::BF16), Some(0x3f80));
        assert_eq!(word(f64::NAN.into(), DType::I32), None);
    }
}
