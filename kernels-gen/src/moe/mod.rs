//! Mixture of experts: routing, alignment, grouped products, combination.

mod align;
pub mod reference;
mod route;
mod space;
pub mod spec;

use crate::OpEntry;
use crate::common::format::Packed;

/// The family's ops.
pub fn entries() -> Vec<OpEntry> {
    let mut ops = vec![
        OpEntry { spec: spec::route(), impls: Box::new(|_| space::route_impls()) },
        OpEntry { spec: spec::align(), impls: Box::new(|_| space::align_impls()) },
    ];
    for p in Packed::ALL {
        let impls = move |caps: &_| space::gemm_impls(p, caps);
        ops.push(OpEntry { spec: spec::grouped_gemm(p), impls: Box::new(impls) });
    }
    ops.push(OpEntry { spec: spec::combine(), impls: Box::new(space::combine_impls) });
    ops
}
