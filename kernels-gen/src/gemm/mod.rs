//! Matrix products with weights packed once into panels.

mod channel;
mod dense;
mod epilogue;
mod form;
mod pack;
mod quantised;
pub mod reference;
mod rows;
pub(crate) mod space;
pub mod spec;
mod weight;

use crate::OpEntry;
use crate::common::format::{Packed, Source};

/// The family's ops.
pub fn entries() -> Vec<OpEntry> {
    let mut ops = Vec::new();
    for s in Source::ALL {
        ops.push(OpEntry { spec: spec::pack(s), impls: Box::new(move |_| pack::impls(s)) });
    }
    for p in Packed::ALL {
        let impls = move |caps: &_| space::packed_impls(p, caps);
        ops.push(OpEntry { spec: spec::gemm_packed(p), impls: Box::new(impls) });
    }
    ops.push(OpEntry { spec: spec::gemm(), impls: Box::new(space::plain_impls) });
    ops
}
