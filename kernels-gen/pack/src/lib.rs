//! Compiled kernels of the enabled targets, embedded.
