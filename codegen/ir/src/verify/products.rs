//! Rules 22 and 23: matrix products.

use super::{Rule, Verifier};
use crate::codes;
use crate::diag::Diagnostic;
use crate::func::Value;
use crate::op::TileOp;
use tilewright_abi::DType;

/// A factor whose products are summed in f32.
fn short_float(d: DType) -> bool {
    d.is_float() && d.bits() <= 32 && d != DType::E8M0
}

fn accumulates(a: DType, b: DType, acc: DType) -> bool {
    let short_int = |d: DType| d.is_int() && d.bits() <= 8;
    match acc {
        DType::F32 => short_float(a) && short_float(b),
        DType::F64 => a == DType::F64 && b == DType::F64,
        DType::I32 => short_int(a) && short_int(b),
        _ => false,
    }
}

impl Verifier<'_> {
    pub(super) fn products(&self, op: &TileOp) -> Rule {
        match op {
            TileOp::Mma { a, b, acc } => self.mma(op, *a, *b, *acc).map(drop),
            TileOp::MmaScaled { a, scale_a, b, scale_b, acc, group } => {
                let [m, n, k] = self.mma(op, *a, *b, *acc)?;
                let fault = |what: &str| Err(Diagnostic::new(codes::MMA_SCALES, what));
                if self.ty(*acc).elem() != DType::F32 {
                    return fault("`mma_scaled` accumulates in `f32`");
                }
                if *group == 0 || k % group != 0 {
                    let message = format!("a group of {group} does not divide K = {k}");
                    return Err(Diagnostic::new(codes::MMA_SCALES, message));
                }
                let (sa, sb) = (self.tile(op, *scale_a)?, self.tile(op, *scale_b)?);
                if *sa != [m, k / group] || *sb != [k / group, n] {
                    let label = format!("{sa:?} and {sb:?}, K/group is {}", k / group);
                    return fault("the scales do not fit the operands").map_err(|d| d.label(label));
                }
                let scale = |v: Value| {
                    matches!(self.ty(v).elem(), DType::F32 | DType::E8M0 | DType::F8E4M3)
                };
                if !(scale(*scale_a) && scale(*scale_b)) {
                    return fault("scales are of `f32`, `e8m0` or `f8e4m3`");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// [M, N, K].
    fn mma(&self, op: &TileOp, a: Value, b: Value, acc: Value) -> Result<[usize; 3], Diagnostic> {
        let (sa, sb, sc) = (self.tile(op, a)?, self.tile(op, b)?, self.tile(op, acc)?);
        let (ta, tb, tc) = (self.ty(a).elem(), self.ty(b).elem(), self.ty(acc).elem());
        if !accumulates(ta, tb, tc) {
            let message = format!("`{}` does not multiply {ta} × {tb} into {tc}", op.name());
            let note = "floats give `f32`, `f64` gives `f64`, 4- and 8-bit integers give `i32`";
            return Err(Diagnostic::new(codes::MMA_TYPES, message).note(note));
        }
        match (sa, sb, sc) {
            (&[m, k], &[k2, n], &[m2, n2]) if k == k2 && m == m2 && n == n2 => Ok([m, n, k]),
            _ => {
                let message = format!("the shapes of this `{}` do not fit", op.name());
                let label = format!("{sa:?} × {sb:?} + {sc:?}");
                let note = "they are [M, K] × [K, N] + [M, N]";
                Err(Diagnostic::new(codes::MMA_SHAPE, message).label(label).note(note))
            }
        }
    }
}
