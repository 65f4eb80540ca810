//! Dynamic quantisers and dequantisers.

mod group;
pub mod reference;
mod space;
pub mod spec;
mod token;

use crate::OpEntry;

/// The family's ops.
pub fn entries() -> Vec<OpEntry> {
    let mut ops = Vec::new();
    for code in spec::Code::ALL {
        for grouping in code.groupings() {
            ops.push(OpEntry {
                spec: spec::quantise(code, grouping),
                impls: Box::new(move |caps| space::quant_impls(code, grouping, caps)),
            });
            ops.push(OpEntry {
                spec: spec::dequantise(code, grouping),
                impls: Box::new(move |caps| space::dequant_impls(code, grouping, caps)),
            });
        }
    }
    ops
}
