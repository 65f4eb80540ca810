//! Dynamic quantisers and dequantisers.

pub mod reference;
pub mod spec;

use crate::OpEntry;

/// The family's ops.
pub fn entries() -> Vec<OpEntry> {
    let mut ops = Vec::new();
    for code in spec::Code::ALL {
        for grouping in code.groupings() {
            let spec = spec::quantise(code, grouping);
            ops.push(OpEntry { spec, impls: Box::new(|_| Vec::new()) });
            let spec = spec::dequantise(code, grouping);
            ops.push(OpEntry { spec, impls: Box::new(|_| Vec::new()) });
        }
    }
    ops
}
