//! Executes tile IR on the host: the meaning of every op, and the oracle for every backend.

pub mod convert;
