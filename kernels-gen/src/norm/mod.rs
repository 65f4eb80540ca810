//! Norms over rows: RMSNorm, RMSNorm fused with the residual addition, LayerNorm, per-head RMSNorm.

pub mod spec;
pub mod reference;
