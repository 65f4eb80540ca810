//! What rustc says about kernels that are refused, and kernels that must be accepted.
//!
//! After a change of messages: `TRYBUILD=overwrite cargo test -p tilewright-dsl --test ui`, then read
//! the difference.

#[test]
fn messages() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}
