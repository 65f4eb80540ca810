//! Runtime that servers embed: plans and launches compiled kernels.
