//! Tiles that a target cannot hold, found before anything is unrolled over their registers.

use crate::target::TargetDesc;
use tilewright_ir::{Diagnostic, Func};

/// An error for each operation whose result is larger than the target's limit.
pub(crate) fn check(func: &Func, target: &TargetDesc) -> Result<(), Vec<Diagnostic>> {
    let limit = target.limits.tile_bytes;
    let mut errors = Vec::new();
    for inst in &func.insts {
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
