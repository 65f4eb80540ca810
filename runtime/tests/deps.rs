//! The dependency tree that a server embeds stays small: no compiler, no LLVM, no `syn`.

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn the_default_tree_is_small() {
    let out = Command::new(env!("CARGO"))
        .args(["tree", "-e", "normal,build", "-p", "tilewright", "--prefix", "none", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    let crates: BTreeSet<&str> = text.lines().filter_map(|l| l.split(' ').next()).collect();
    assert!(crates.contains("tilewright-abi"), "{text}");
    assert!(crates.len() <= 20, "{} crates: {crates:?}", crates.len());
    for word in ["llvm", "inkwell", "syn", "codegen", "macros", "kernels", "dsl", "-ir", "pack"] {
        assert!(!crates.iter().any(|c| c.contains(word)), "`{word}` in {crates:?}");
    }
}
