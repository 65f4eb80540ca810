//! Criterion benches, each beside its peers in one run.
