//! A C program, compiled against the header and the static library, and run.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use tilewright::abi::{MANIFEST_FILE, sha256_hex};

/// Builds the C library with the profile and folder of this test and returns its path.
fn static_library() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let profile_dir = exe.parent().and_then(Path::parent).unwrap();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "-q", "--offline", "-p", "tilewright", "--example", "tilewright_c"]);
    build.arg("--target-dir").arg(profile_dir.parent().unwrap());
    if profile_dir.ends_with("release") {
        build.arg("--release");
    }
    let out = build.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    profile_dir.join("examples/libtilewright_c.a")
}

#[test]
fn a_c_program_uses_the_runtime() {
    let dir = common::TempDir::new();
    let so = common::compile_c(common::SOURCE);
    let m = common::manifest(&sha256_hex(&so));
    let target = dir.0.join("pack").join(m.target.folder());
    std::fs::create_dir_all(&target).unwrap();
    std::fs::write(target.join(MANIFEST_FILE), m.to_text()).unwrap();
    std::fs::write(target.join(format!("{}.so", sha256_hex(&so))), &so).unwrap();
    // A folder without a manifest, as during a publish, is passed over.
    std::fs::create_dir_all(dir.0.join("pack/half.part")).unwrap();

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let exe = dir.0.join("smoke");
    let out = Command::new("cc")
        .args(["-std=c99", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("include"))
        .arg(root.join("tests/c/smoke.c"))
        .arg(static_library())
        .args(["-lpthread", "-ldl", "-lm", "-lgcc_s", "-o"])
        .arg(&exe)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let out = Command::new(&exe).arg(dir.0.join("pack")).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(String::from_utf8_lossy(&out.stdout), "ok\n");
}

#[test]
fn the_header_lists_every_function() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = std::fs::read_to_string(root.join("include/tilewright.h")).unwrap();
    let source = std::fs::read_to_string(root.join("src/capi.rs")).unwrap();
    let words = |text: &str| -> std::collections::BTreeSet<String> {
        let split = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        split.filter(|w| w.starts_with("tw_")).map(str::to_owned).collect()
    };
    let types = ["tw_runtime", "tw_stream", "tw_tensor", "tw_args", "tw_call", "tw_graph"];
    let mut listed = words(&header);
    listed.retain(|w| !types.contains(&w.as_str()) && w != "tw_status");
    // Comments name groups of functions by their common beginning.
    listed.retain(|w| !w.ends_with('_'));
    let mut exported = words(&source);
    exported.retain(|w| w != "tw_status");
    assert_eq!(listed, exported);
}
