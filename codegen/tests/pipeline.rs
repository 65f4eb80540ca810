//! The pipeline as its users see it: pages, dumps, stops, errors, determinism, and text that LLVM takes.
#![allow(missing_docs, reason = "a test")]

use std::process::Command;
use tilewright_codegen::interp::random::{Config, random_program};
use tilewright_codegen::target::{self, Family, TargetDesc};
use tilewright_codegen::{Options, Stage, compile, pass_names};
use tilewright_ir::{Func, parse};

const GEMM: &str = "
func @gemm(%a: view<f32, 2>, %b: view<f32, 2>, %c: mut view<f32, 2>) {
  assume %a stride 1 equals 1
  assume %a dim 1 multiple 8
  assume %b stride 1 equals 1
  assume %c stride 1 equals 1
  %pid = program_id 0
  %six = const 6 : i64
  %row = mul %pid, %six : i64
  %zero = const 0 : i64
  %step = const 8 : i64
  %k = dim %a 1
  %z = const 0.0 : f32
  %init = splat %z : tile<6x16xf32>
  %sum = for %i = %zero to %k step %step carry (%acc = %init) : (tile<6x16xf32>) {
    %at = load %a[span %row, span %i] bounds [inside, dim] : tile<6x8xf32>
    %bt = load %b[span %i, span %zero] bounds [inside, inside] : tile<8x16xf32>
    %next = mma %at, %bt, %acc : tile<6x16xf32>
    yield %next
  }
  store %c[span %row, span %zero] bounds [dim, dim], %sum
}
";

fn func(text: &str) -> Func {
    match parse(text) {
        Ok(f) => f,
        Err(d) => panic!("{}", d.iter().map(|d| d.render()).collect::<String>()),
    }
}

fn v3() -> &'static TargetDesc {
    target::find("cpu/x86-64-v3").expect("a row of the table")
}

fn checked() -> Options {
    Options { verify: true, dump: true, ..Options::default() }
}

#[test]
fn the_page_lists_the_passes() {
    let page = include_str!("../README.md");
    let listed: Vec<&str> = page
        .lines()
        .skip_while(|l| *l != "<!-- passes -->")
        .take_while(|l| *l != "<!-- end -->")
        .filter_map(|l| l.strip_prefix("| `")?.split('`').next())
        .collect();
    assert_eq!(listed, pass_names(Family::Cpu));
}

#[test]
fn every_pass_can_be_stopped_after_and_unknown_ones_are_named() {
    for name in pass_names(Family::Cpu) {
        let options = Options { stop_after: Some(name.into()), ..checked() };
        let out = compile(&func(GEMM), v3(), &options).expect("compiles");
        assert_eq!(out.ll.is_empty(), name != "print", "{name}");
    }
    let options = Options { stop_after: Some("nothing".into()), ..checked() };
    let errors = compile(&func(GEMM), v3(), &options).expect_err("no such pass");
    assert_eq!(errors[0].code, "P0001");
    assert!(errors[0].help[0].contains("assign_layouts"), "{:?}", errors[0].help);
}

#[test]
fn stages_leave_their_text() {
    let out = compile(&func(GEMM), v3(), &checked()).expect("compiles");
    assert!(out.stage(Stage::Tile).expect("tile").contains("func @gemm"));
    assert!(out.stage(Stage::Layout).expect("layout").contains("#layout<register"));
    assert!(out.stage(Stage::Lir).expect("lir").contains("define void @gemm"));
    assert_eq!(out.stage(Stage::Ll), Some(out.ll.as_str()));
}

#[test]
fn an_access_proved_inside_has_no_slow_path() {
    let inside = compile(&func(GEMM), v3(), &checked()).expect("compiles").ll;
    let loads = |ll: &str| ll.matches("call preserve_allcc void @tw.fill").count();
    assert_eq!(loads(&inside), 0);
    let unproved = GEMM.replace("  assume %a dim 1 multiple 8\n", "");
    let ll = compile(&func(&unproved), v3(), &checked()).expect("compiles").ll;
    assert_eq!(loads(&ll), 1);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for seed in 0..12 {
        let p = random_program(seed, &Config::default());
        for t in target::ALL {
            let one = compile(&p.func, t, &Options::default()).expect("compiles");
            let two = compile(&p.func, t, &Options::default()).expect("compiles");
            assert_eq!(one.ll, two.ll, "seed {seed}");
        }
    }
}

#[test]
fn random_programs_keep_the_rules_of_every_stage() {
    for seed in 100..160 {
        let p = random_program(seed, &Config::default());
        for t in target::ALL {
            if let Err(d) = compile(&p.func, t, &checked()) {
                panic!("seed {seed} on {}: {}", t.id, d[0].render());
            }
        }
    }
}

#[test]
fn a_tile_beyond_the_limit_is_refused() {
    let text = "
func @large(%x: view<f32, 1>, %y: mut view<f32, 1>) {
  %0 = const 0 : i64
  %1 = load %x[span %0] bounds [dim] : tile<131072xf32>
  store %y[span %0] bounds [dim], %1
}
";
    let errors = compile(&func(text), v3(), &Options::default()).expect_err("too large");
    assert_eq!(errors[0].code, "P0003");
}

/// Runs LLVM's verifier and code generator where they are installed.
#[test]
fn llvm_takes_the_text() {
    let dir = env!("CARGO_TARGET_TMPDIR");
    for (n, t) in target::ALL.iter().enumerate() {
        let mut texts = vec![compile(&func(GEMM), t, &checked()).expect("compiles").ll];
        let small = Config { statements: 8, ..Config::default() };
        let p = random_program(n as u64, &small);
        texts.push(compile(&p.func, t, &checked()).expect("compiles").ll);
        for (i, ll) in texts.iter().enumerate() {
            let path = format!("{dir}/tilewright-{}-{n}-{i}.ll", std::process::id());
            std::fs::write(&path, ll).expect("writable");
            let run = Command::new("llc-22").args(["-O1", "-filetype=null", &path]).output();
            std::fs::remove_file(&path).ok();
            let Ok(run) = run else { return };
            assert!(run.status.success(), "{}: {}", t.id, String::from_utf8_lossy(&run.stderr));
        }
    }
}
