//! What the project's tests share: file tests, guarded memory, raw execution of compiled kernels,
//! comparison of the interpreter with compiled code.

pub mod differential;
pub mod filecheck;
pub mod filetest;
pub mod fuzz;
pub mod guard;
pub mod knobs;
pub mod launch_line;
