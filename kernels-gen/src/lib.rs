//! The kernels, their specs, variant spaces and references.
