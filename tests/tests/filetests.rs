//! Every file below `filetests/`, one test a folder.

use std::path::Path;

use tilewright_tests::{filetest, knobs};

fn folder(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests").join(name);
    match filetest::run_folder(&path, knobs::bless()) {
        Ok(n) => assert!(n > 0, "no file in {}", path.display()),
        Err(failures) => panic!("{failures}"),
    }
}

#[test]
fn parse() {
    folder("parse");
}

#[test]
fn verify() {
    folder("verify");
}

#[test]
fn passes() {
    folder("passes");
}

#[test]
fn lower() {
    folder("lower");
}

#[test]
fn asm() {
    folder("asm");
}

#[test]
fn diag() {
    folder("diag");
}

#[test]
fn exec() {
    folder("exec");
}
