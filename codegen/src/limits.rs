//! Tiles and products that a target cannot hold, found before anything is unrolled.

use crate::target::TargetDesc;
use tilewright_ir::{Diagnostic, Func, InstData, TileOp};

/// An error for each operation whose result or whose product is larger than the target's limits.
pub(crate) fn check(func: &Func, target: &TargetDesc) -> Result<(), Vec<Diagnostic>> {
    let limit = target.limits.tile_bytes;
    let mut errors = Vec::new();
    for inst in &func.insts {
        errors.extend(product(func, inst, target));
        for &value in &inst.results {
            let ty = func.ty(value);
            // In registers a sub-byte element takes a byte.
            let element = (ty.elem().bits() as usize).div_ceil(8);
            let bytes = ty.shape().iter().fold(element, |n, &d| n.saturating_mul(d));
            if bytes > limit {
                let text = format!("a tile of {bytes} bytes is more than `{}` can hold", target.id);
                errors.push(
                    Diagnostic::new("P0003", text)
                        .at(&inst.span)
                        .label(format!("{:?} elements of {}", ty.shape(), ty.elem()))
                        .note(format!("the limit is {limit} bytes"))
                        .help("choose a smaller tile and loop over it"),
                );
                break;
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// An error if a product unrolls to more multiply-adds than the target allows.
fn product(func: &Func, inst: &InstData, target: &TargetDesc) -> Option<Diagnostic> {
    let (TileOp::Mma { a, b, .. } | TileOp::MmaScaled { a, b, .. }) = &inst.op else { return None };
    let sizes = [func.ty(*a).shape(), func.ty(*b).shape().get(1..).unwrap_or(&[])];
    let steps = sizes.iter().flat_map(|s| s.iter()).fold(1usize, |n, &d| n.saturating_mul(d));
    let vectors = steps / (target.vector_bytes as usize / 4).max(1);
    let limit = target.limits.product_vectors;
    (vectors > limit).then(|| {
        let text = format!("a product of {vectors} vectors is more than `{}` can hold", target.id);
        Diagnostic::new("P0003", text)
            .at(&inst.span)
            .label(format!("[M, K] is {:?}, [K, N] is {:?}", sizes[0], func.ty(*b).shape()))
            .note(format!("the limit is {limit} vector multiply-adds"))
            .help("choose a smaller tile and loop over it")
    })
}
