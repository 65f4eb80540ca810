//! Matrix products with weights packed once into panels.

pub mod reference;
pub mod spec;

use crate::OpEntry;
use crate::common::format::{Packed, Source};

/// The family's ops.
pub fn entries() -> Vec<OpEntry> {
    let mut ops = Vec::new();
    for s in Source::ALL {
        ops.push(OpEntry { spec: spec::pack(s), impls: Box::new(move |_| Vec::new()) });
    }
    for p in Packed::ALL {
        ops.push(OpEntry { spec: spec::gemm_packed(p), impls: Box::new(move |_| Vec::new()) });
    }
    ops.push(OpEntry { spec: spec::gemm(), impls: Box::new(|_| Vec::new()) });
    ops
}
