//! Compilations that end or outlast the child process, and the `kc` program as users see it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tilewright_llvm::Step;
use tilewright_llvm::isolated::{Isolation, compile_isolated};

const TARGET: &str = "cpu/x86-64-v3";

fn how(limit: Duration) -> Isolation {
    Isolation { kc: PathBuf::from(env!("CARGO_BIN_EXE_kc")), limit }
}

#[test]
fn text_comes_back_as_machine_code() {
    let text = "define i64 @one() {\n  ret i64 1\n}\n";
    let object = compile_isolated(text, TARGET, "so", &how(Duration::from_secs(60)));
    assert!(object.is_ok_and(|o| o.starts_with(b"\x7fELF")));
}

#[test]
fn an_abort_of_llvm_is_an_error_with_its_reason() {
    // The instruction does not exist on this target: LLVM cannot select it and ends the process.
    let text = "define void @f() {
  call void @llvm.x86.tilezero(i8 0)
  ret void
}
declare void @llvm.x86.tilezero(i8 immarg)
";
    let error = compile_isolated(text, TARGET, "obj", &how(Duration::from_secs(60))).err();
    assert_eq!(error.as_ref().map(|e| e.step()), Some(Step::Child));
    let said = error.map(|e| e.to_string()).unwrap_or_default();
    assert!(said.contains("LLVM gave up while compiling"), "{said}");
}

#[test]
fn a_child_that_takes_too_long_is_ended() {
    let text = "define i64 @one() {\n  ret i64 1\n}\n";
    let error = compile_isolated(text, TARGET, "so", &how(Duration::ZERO)).err();
    // A very fast child may still have finished.
    if let Some(error) = error {
        assert!(error.to_string().contains("limit"), "{error}");
    }
}

#[test]
fn a_missing_kc_is_named() {
    let how = Isolation { kc: "no/such/kc".into(), limit: Duration::from_secs(1) };
    let error = compile_isolated("", TARGET, "so", &how).err();
    assert!(error.is_some_and(|e| e.to_string().contains("no/such/kc")));
}

#[test]
fn kc_explains_lists_and_refuses() {
    let run = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_kc")).args(args).output();
        out.map(|o| (o.status.success(), [o.stdout, o.stderr].concat())).ok()
    };
    for (args, ok, part) in [
        (&["targets"][..], true, "cpu/x86-64-v3"),
        (&["passes"], true, "assign_layouts"),
        (&["explain", "V0012"], true, "element type and shape"),
        (&["explain", "P0003"], true, "smaller tile"),
        (&["explain", "Z1"], false, "no explanation"),
        (&["no-such-file", "--target", TARGET], false, "no-such-file"),
    ] {
        let (succeeded, said) = run(args).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        assert!(succeeded == ok && said.contains(part), "{args:?}: {said}");
    }
}
