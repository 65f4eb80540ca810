//! Shared parts of the benches: the machine's limits, peers, and one line a result.

pub mod knobs;
pub mod peers;
