//! What several kernel families share: packed weight layouts, quantisation of a group, exact maths.

pub(crate) mod dispatch;
pub mod exact_math;
pub mod format;
pub mod quantise;
