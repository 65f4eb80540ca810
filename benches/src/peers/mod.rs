//! What ours is measured against: the machine itself and other libraries, called from this binary.
#![allow(unsafe_code, reason = "peers are C libraries, and the machine's limits need vector intrinsics")]

pub mod machine;
