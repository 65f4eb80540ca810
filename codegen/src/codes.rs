//! The error codes of passes and lowering, each with its explanation.

const TABLE: &[(&str, &str)] = &[
    (
        "L0001",
        "The compiler knows the target but has no lowering for its family yet. `kc targets` lists the targets.",
    ),
    (
        "L0009",
        "The lowering met something that a verified kernel cannot contain. The kernel is not at fault: please report it with the kernel's text, which `kc --emit tile` prints.",
    ),
    ("P0001", "No pass has the name given to `--stop-after`. `kc passes` lists them in order."),
    (
        "P0002",
        "A pass left a kernel that does not verify. The kernel is not at fault: please report it with the kernel's text, which `kc --emit tile` prints.",
    ),
    (
        "P0003",
        "A tile needs more registers or memory than the target's limits allow one operation. Choose a smaller tile and loop over it in the kernel.",
    ),
];

/// The paragraph on a code of this crate.
pub fn explain(code: &str) -> Option<&'static str> {
    let here = TABLE.iter().find(|(c, _)| *c == code).map(|(_, text)| *text);
    here.or_else(|| crate::interp::codes::explain(code))
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_of_all_stages_are_explained() {
        for code in ["L0009", "P0003", "X0001"] {
            assert!(super::explain(code).is_some(), "{code}");
        }
        assert!(super::explain("L9999").is_none());
    }
}
