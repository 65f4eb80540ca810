//! The verifier: one refused function for each rule, and functions that are right.

use tilewright_ir::*;

/// Values that every body below may use.
const HEAD: &str = "\
func @k(%x: view<f32, 2>, %y: mut view<f32, 2>, %h: mut view<f16, 1>, %s: f32, %i: i64, %c: bool, %w: u64) {
  %0 = const 0 : i64
  %1 = load %x[span %0, span %0] bounds [dim, dim] : tile<4x8xf32>
  %2 = iota : tile<8xi32>
  %3 = cast %1 rne : tile<4x8xf16>
  %4 = cast %2 rne : tile<8xu8>
  %5 = cast %4 rne : tile<8xu4>
  %6 = cmp lt %1, %1 : tile<4x8xbool>
  %7 = cast %2 rne : tile<8xf32>
  %8 = iota : tile<2xi32>
";

fn body(lines: &str) -> Func {
    let text = format!("{HEAD}{lines}\n}}\n");
    parse_file("k.tile", &text).unwrap_or_else(|e| panic!("{}\n{text}", e[0]))
}

fn codes_of(f: &Func) -> Vec<&'static str> {
    verify(f).err().unwrap_or_default().iter().map(|d| d.code).collect()
}

#[track_caller]
fn refused(code: &'static str, lines: &str) {
    let f = body(lines);
    let errors = verify(&f).expect_err(lines);
    let rendered = errors.iter().map(Diagnostic::render).collect::<String>();
    assert_eq!(errors.iter().map(|d| d.code).collect::<Vec<_>>(), [code], "{lines}\n{rendered}");
    assert!(
        errors[0].span.line > 10 && *errors[0].span.text == *lines.lines().next().unwrap_or(""),
        "{rendered}"
    );
    assert!(explain(code).is_some());
    for word in ["TileOp", "DType", "Some(", "Value(", "illegal"] {
        assert!(!rendered.contains(word), "{rendered}");
    }
}

#[track_caller]
fn accepted(lines: &str) {
    let errors = verify(&body(lines)).err().unwrap_or_default();
    assert!(errors.is_empty(), "{lines}\n{}", errors[0]);
}

fn signature(params: &str, assume: &str) -> Vec<&'static str> {
    let text = format!("func @k({params}) {{\n{assume}\n}}\n");
    codes_of(&parse(&text).unwrap_or_else(|e| panic!("{}", e[0])))
}

#[test]
fn the_example_of_every_op_is_right() {
    let f = parse(include_str!("data/all_ops.tile")).expect("parses");
    let errors = verify(&f).err().unwrap_or_default();
    assert!(errors.is_empty(), "{}", errors.iter().map(Diagnostic::render).collect::<String>());
}

#[test]
fn parameters() {
    assert_eq!(signature("%a: f32, %b: view<bf16, 5>, %d: mut view<bool, 1>", ""), [""; 0]);
    assert_eq!(signature("%a: tile<4xf32>", ""), [codes::SIGNATURE]);
    assert_eq!(signature("%a: u4", ""), [codes::SIGNATURE]);
    assert_eq!(signature("%a: tf32", ""), [codes::SIGNATURE]);
    assert_eq!(signature("%\"a b\": f32", ""), [codes::SIGNATURE]);
    assert_eq!(signature("%a: view<u4, 1>", ""), [codes::VIEW_ELEMENT]);
    assert_eq!(signature("%a: view<f6e2m3, 1>", ""), [codes::VIEW_ELEMENT]);
    assert_eq!(signature("%a: view<tf32, 1>", ""), [codes::VIEW_ELEMENT]);
    assert_eq!(signature("%a: view<f32, 6>", ""), [codes::TILE_SIZE]);
    assert_eq!(signature("%a: view<f32, 0>", ""), [codes::TILE_SIZE]);
    let mut b = Builder::new("k");
    for _ in 0..2 {
        b.param("a", Type::Scalar(tilewright_abi::DType::F32));
    }
    assert_eq!(codes_of(&b.finish()), [codes::SIGNATURE]);
}

#[test]
fn assumptions() {
    let one = |fact: &str| signature("%v: view<f32, 2>, %n: i32, %f: f32", fact);
    for good in [
        "assume %v dim 1 multiple 8",
        "assume %v dim 0 equals 0",
        "assume %v stride 1 equals 1",
        "assume %v stride 0 multiple 4",
        "assume %v aligned 64",
        "assume %n multiple 16",
    ] {
        assert_eq!(one(good), [""; 0], "{good}");
    }
    for bad in [
        "assume %v dim 2 multiple 8",
        "assume %v dim 1 multiple 0",
        "assume %v stride 2 equals 1",
        "assume %v aligned 48",
        "assume %v aligned 0",
        "assume %v multiple 4",
        "assume %n multiple 0",
        "assume %f multiple 2",
        "assume %n aligned 8",
    ] {
        assert_eq!(one(bad), [codes::ASSUME], "{bad}");
    }
    let mut b = Builder::new("k");
    b.assume(3, Fact::Aligned(8));
    assert_eq!(codes_of(&b.finish()), [codes::ASSUME]);
}

#[test]
fn values_of_closed_regions() {
    let closed = "  for %9 = %0 to %i step %i {\n  %10 = add %s, %s : f32\n  }\n";
    let f = body(&format!("{closed}  %11 = neg %10 : f32"));
    assert_eq!(codes_of(&f), [codes::VISIBILITY]);
    let errors = verify(&f).expect_err("closed");
    assert!(errors[0].notes.iter().any(|n| n.contains("k.tile:12:3")), "{}", errors[0]);
    let f = body(&format!("{closed}  store %y[span %9, span %0] bounds [dim, dim], %s"));
    assert_eq!(codes_of(&f), [codes::VISIBILITY]);
    let arms = "  if %c {\n  %10 = neg %s : f32\n  } else {\n  %11 = neg %10 : f32\n  }";
    assert_eq!(codes_of(&body(arms)), [codes::VISIBILITY]);
    accepted("  for %9 = %0 to %i step %i {\n  %10 = neg %s : f32\n  %11 = neg %10 : f32\n  }");
}

#[test]
fn forms() {
    refused(codes::FORM, "  %9 = neg %x : view<f32, 2>");
    refused(codes::FORM, "  %9 = dim %1 0");
    refused(codes::FORM, "  %9 = load %1[span %0] bounds [dim] : tile<4xf32>");
    refused(codes::FORM, "  %9 = reshape %s : tile<1xf32>");
    refused(codes::FORM, "  %9 = reduce sum %s axis 0 : f32");
    refused(codes::FORM, "  %9 = splat %1 : tile<4xf32>");
    refused(codes::FORM, "  store %y[span %0, span %0] bounds [dim, dim], %x");
    refused(codes::FORM, "  %9 = select %6, %x, %x : view<f32, 2>");
    refused(codes::FORM, "  %9 = mma %s, %1, %1 : tile<4x8xf32>");
}

#[test]
fn element_types() {
    refused(codes::ELEMENT, "  %9 = exp %3 : tile<4x8xf16>");
    refused(codes::ELEMENT, "  %9 = sqrt %2 : tile<8xi32>");
    refused(codes::ELEMENT, "  %9 = not %s : f32");
    refused(codes::ELEMENT, "  %9 = neg %c : bool");
    refused(codes::ELEMENT, "  %9 = add %5, %5 : tile<8xu4>");
    refused(codes::ELEMENT, "  %9 = shl %s, %s : f32");
    refused(codes::ELEMENT, "  %9 = and %s, %s : f32");
    refused(codes::ELEMENT, "  %9 = cmp lt %c, %c : bool");
    refused(codes::ELEMENT, "  %9 = fma %2, %2, %2 : tile<8xi32>");
    refused(codes::ELEMENT, "  %9 = fma %3, %3, %3 : tile<4x8xf16>");
    refused(codes::ELEMENT, "  %9 = iota : tile<8xf32>");
    refused(codes::ELEMENT, "  %9 = reduce sum %3 axis 0 : tile<8xf16>");
    refused(codes::ELEMENT, "  %9 = reduce or %1 axis 0 : tile<8xf32>");
    refused(codes::ELEMENT, "  %9 = scan max %6 axis 0 : tile<4x8xbool>");
    refused(codes::ELEMENT, "  %9, %10 = sort %5 axis 0 ascending : tile<8xu4>, tile<8xi32>");
    refused(codes::ELEMENT, "  %9, %10 = arg_reduce max %6 axis 0 : tile<8xbool>, tile<8xi32>");
    refused(codes::ELEMENT, "  %9 = histogram %4 : tile<8xi32>");
    refused(codes::ELEMENT, "  %9 = philox %i [%2, %2, %2, %2] : tile<8xi32>");
    refused(codes::ELEMENT, "  %9 = philox %w [%2, %2, %2, %2] : tile<8xi32>");
    accepted("  %9 = cmp eq %c, %c : bool");
    accepted("  %9 = reduce max %3 axis 0 : tile<8xf16>");
    accepted("  %9 = reduce or %6 axis 0 : tile<8xbool>");
    accepted("  %9 = not %c : bool");
    accepted("  %9 = rem %3, %3 : tile<4x8xf16>");
    accepted("  %9 = select %c, %s, %s : f32");
}

#[test]
fn operands() {
    refused(codes::OPERANDS, "  %9 = add %1, %3 : tile<4x8xf32>");
    refused(codes::OPERANDS, "  %9 = add %1, %s : tile<4x8xf32>");
    refused(codes::OPERANDS, "  %9 = cmp eq %1, %7 : tile<4x8xbool>");
    refused(codes::OPERANDS, "  %9 = fma %1, %1, %3 : tile<4x8xf32>");
    refused(codes::OPERANDS, "  %9 = select %c, %1, %1 : tile<4x8xf32>");
    refused(codes::OPERANDS, "  %9 = select %6, %1, %3 : tile<4x8xf32>");
    refused(codes::OPERANDS, "  %9 = join %1, %3 : tile<4x8x2xf32>");
    refused(codes::OPERANDS, "  %9 = philox %w [%2, %4, %2, %2] : tile<8xi32>");
}

#[test]
fn shapes() {
    refused(codes::SHAPE, "  %9 = reshape %1 : tile<4x4xf32>");
    refused(codes::SHAPE, "  %9 = transpose %1 [0, 0] : tile<4x4xf32>");
    refused(codes::SHAPE, "  %9 = transpose %1 [0] : tile<4xf32>");
    refused(codes::SHAPE, "  %9 = transpose %1 [0, 2] : tile<4x1xf32>");
    refused(codes::SHAPE, "  %9 = broadcast %1 : tile<8x8xf32>");
    refused(codes::SHAPE, "  %9 = broadcast %7 : tile<4x8xf32>");
    refused(codes::SHAPE, "  %9 = slice %1 [2, 0] : tile<4x8xf32>");
    refused(codes::SHAPE, "  %9 = slice %1 [0] : tile<4x8xf32>");
    refused(codes::SHAPE, "  %9 = slice %1 [0, 18446744073709551615] : tile<4x8xf32>");
    refused(codes::SHAPE, "  %9, %10 = split %1 : tile<4xf32>, tile<4xf32>");
    refused(codes::SHAPE, "  %9, %10 = split %8 : i32, i32");
    refused(codes::SHAPE, "  %9 = histogram %6 : tile<4xi32>");
    refused(codes::AXIS, "  %9 = reduce sum %1 axis 2 : tile<4xf32>");
    refused(codes::AXIS, "  %9 = scan sum %1 axis 2 : tile<4x8xf32>");
    refused(codes::AXIS, "  %9, %10 = sort %1 axis 9 ascending : tile<4x8xf32>, tile<4x8xi32>");
    refused(codes::AXIS, "  %9 = dim %x 2");
    accepted("  %9 = slice %1 [3, 7] : tile<1x1xf32>\n  %10 = broadcast %9 : tile<4x1xf32>");
    accepted("  %9 = reduce sum %7 axis 0 : f32");
}

#[test]
fn sizes() {
    refused(codes::TILE_SIZE, "  %9 = splat %s : tile<1048577xf32>");
    refused(codes::TILE_SIZE, "  %9 = splat %s : tile<1x1x1x1x1x1xf32>");
    refused(codes::TILE_SIZE, "  %9 = splat %s : tile<4x0xf32>");
    refused(codes::TILE_SIZE, "  %9 = iota : tile<0xi32>");
    let huge = "4294967296x4294967296x4294967296";
    refused(codes::TILE_SIZE, &format!("  %9 = splat %s : tile<{huge}xf32>"));
    refused(
        codes::TILE_SIZE,
        &format!("  %9 = load %x[span %0, span %0] bounds [dim, dim] : tile<4x{}xf32>", 1u64 << 40),
    );
    accepted("  %9 = splat %s : tile<1024x1024xf32>");
}

#[test]
fn constants() {
    for bad in [
        "300 : u8",
        "-129 : i8",
        "8 : i4",
        "16 : u4",
        "2 : bool",
        "0.1 : f32",
        "449.0 : f8e4m3",
        "1e39 : f32",
        "65520.0 : f16",
        "inf : f8e4m3",
        "nan : f4e2m1",
        "-0.0 : f8e4m3fnuz",
        "3.0 : e8m0",
        "0.0 : e8m0",
        "-1.0 : e8m0",
        "7.0 : f4e2m1",
        "0.25 : f4e2m1",
        "1e-46 : f32",
        "5e-324 : f32",
        "1.0009765625 : bf16",
        "512.0 : f8e4m3",
        "61440.0 : f8e5m2fnuz",
    ] {
        refused(codes::LITERAL, &format!("  %9 = const {bad}"));
    }
    for good in [
        "255 : u8",
        "-128 : i8",
        "-8 : i4",
        "true : bool",
        "0.1 : f64",
        "448.0 : f8e4m3",
        "65504.0 : f16",
        "5.960464477539063e-8 : f16",
        "-inf : f8e5m2",
        "nan : f8e4m3",
        "0.5 : f4e2m1",
        "1.401298464324817e-45 : f32",
        "7.5 : f6e2m3",
        "28.0 : f6e3m2",
        "0.0625 : f6e3m2",
        "240.0 : f8e4m3fnuz",
        "5.877471754111438e-39 : e8m0",
        "9.183549615799121e-41 : bf16",
        "18446744073709551615 : u64",
    ] {
        accepted(&format!("  %9 = const {good}"));
    }
}

#[test]
fn result_types_follow() {
    refused(codes::RESULT, "  %9 = add %1, %1 : tile<4x8xf16>");
    refused(codes::RESULT, "  %9 = cmp lt %1, %1 : tile<4x8xf32>");
    refused(codes::RESULT, "  %9 = reduce sum %1 axis 0 : tile<4xf32>");
    refused(codes::RESULT, "  %9 = splat %s : tile<4xf16>");
    refused(codes::RESULT, "  %9, %10 = sort %7 axis 0 ascending : tile<8xf32>, tile<8xi64>");
}

#[test]
fn bitcasts() {
    refused(codes::BITCAST, "  %9 = bitcast %s : f16");
    refused(codes::BITCAST, "  %9 = bitcast %c : u8");
    refused(codes::BITCAST, "  %9 = bitcast %4 : tile<8xbool>");
    refused(codes::BITCAST, "  %9 = bitcast %s : tf32");
    accepted("  %9 = bitcast %5 : tile<8xf4e2m1>");
    accepted("  %9 = bitcast %4 : tile<8xe8m0>");
}

#[test]
fn accesses() {
    let load =
        |access: &str, ty: &str| format!("  %9 = load %x[{access}] bounds [dim, dim] : {ty}");
    refused(codes::ACCESS, "  %9 = load %x[span %0] bounds [dim] : tile<4xf32>");
    refused(codes::ACCESS, "  %9 = load %x[span %0, span %0] bounds [dim] : tile<4x8xf32>");
    refused(codes::ACCESS, &load("span %0, span %0", "tile<4xf32>"));
    refused(codes::ACCESS, &load("span %2, span %0", "tile<4x8xf32>"));
    refused(codes::ACCESS, &load("span %s, span %0", "tile<4x8xf32>"));
    refused(codes::ACCESS, &load("rows %2, span %0", "tile<4x8xf32>"));
    refused(codes::ACCESS, &load("rows %7, span %0", "tile<8x8xf32>"));
    refused(codes::ACCESS, &load("rows %2, span %0", "f32"));
    refused(codes::ACCESS, &load("gather %2, span %0", "tile<4x8xf32>"));
    refused(codes::ACCESS, &load("gather %i, span %0", "f32"));
    refused(
        codes::ACCESS,
        "  %9 = load %x[span %0, span %0] bounds [limit %s, dim] : tile<4x8xf32>",
    );
    accepted(&load("rows %2, span %0", "tile<8x4xf32>"));
    accepted(&load("span %0, rows %2", "tile<4x8xf32>"));
    accepted(&load("span %0, span %0", "f32"));
    accepted("  %9 = load %x[span %0, span %0] bounds [limit %i, inside] : tile<4x8xf32>");
}

#[test]
fn memory() {
    refused(codes::READ_ONLY, "  store %x[span %0, span %0] bounds [dim, dim], %1");
    refused(codes::READ_ONLY, "  atomic add %x[span %0, span %0] bounds [dim, dim], %1");
    refused(codes::MEMORY_TYPE, "  store %y[span %0, span %0] bounds [dim, dim], %3");
    refused(
        codes::MEMORY_TYPE,
        "  %9 = load %x[span %0, span %0] bounds [dim, dim] other %i : tile<4x8xf32>",
    );
    refused(codes::ATOMIC, "  atomic max %y[span %0, span %0] bounds [dim, dim], %1");
    let half = "  %9 = reshape %3 : tile<32xf16>\n  atomic add %h[span %0] bounds [dim], %9";
    assert_eq!(codes_of(&body(half)), [codes::ATOMIC]);
    accepted("  atomic exchange %y[span %0, span %0] bounds [dim, dim], %s");
    refused(codes::GRID_AXIS, "  %9 = program_id 3");
    refused(codes::GRID_AXIS, "  %9 = num_programs 7");
}

#[test]
fn products() {
    let with = |line: &str| {
        format!(
            "{line}
  %20 = transpose %1 [1, 0] : tile<8x4xf32>
  %21 = splat %s : tile<4x4xf32>
  %22 = splat %s : tile<4x2xf32>
  %23 = splat %s : tile<2x4xf32>
  %24 = cast %1 rtz : tile<4x8xi8>
  %25 = cast %20 rtz : tile<8x4xu4>
  %26 = cast %21 rtz : tile<4x4xi32>
  %27 = cast %1 rne : tile<4x8xf64>
  %28 = cast %22 rne : tile<4x2xf16>
  %29 = cast %1 rne sat : tile<4x8xf8e4m3>"
        )
    };
    let check = |line: &str| codes_of(&body(&format!("{}\n{line}", with(""))));
    assert_eq!(check("%30 = mma %1, %20, %21 : tile<4x4xf32>"), [""; 0]);
    assert_eq!(check("%30 = mma %29, %20, %21 : tile<4x4xf32>"), [""; 0]);
    assert_eq!(check("%30 = mma %24, %25, %26 : tile<4x4xi32>"), [""; 0]);
    assert_eq!(check("%30 = mma %24, %25, %21 : tile<4x4xf32>"), [codes::MMA_TYPES]);
    assert_eq!(check("%30 = mma %1, %20, %26 : tile<4x4xi32>"), [codes::MMA_TYPES]);
    assert_eq!(check("%30 = mma %27, %20, %21 : tile<4x4xf32>"), [codes::MMA_TYPES]);
    assert_eq!(check("%30 = mma %1, %1, %21 : tile<4x4xf32>"), [codes::MMA_SHAPE]);
    assert_eq!(check("%30 = mma %1, %20, %1 : tile<4x8xf32>"), [codes::MMA_SHAPE]);
    let scaled = |sa: &str, sb: &str, group: u32| {
        check(&format!("%30 = mma_scaled %1, {sa}, %20, {sb}, %21 group {group} : tile<4x4xf32>"))
    };
    assert_eq!(scaled("%22", "%23", 4), [""; 0]);
    assert_eq!(scaled("%22", "%23", 3), [codes::MMA_SCALES]);
    assert_eq!(scaled("%22", "%23", 0), [codes::MMA_SCALES]);
    assert_eq!(scaled("%22", "%23", 8), [codes::MMA_SCALES]);
    assert_eq!(scaled("%28", "%23", 4), [codes::MMA_SCALES]);
}

#[test]
fn control_flow() {
    refused(codes::CONTROL, "  for %9 = %s to %i step %i {\n  }");
    refused(codes::CONTROL, "  if %i {\n  } else {\n  }");
    refused(codes::CONTROL, "  for %9 = %0 to %i step %0 {\n  }");
    refused(codes::CONTROL, "  while () : () {\n  } do () {\n  }");
    refused(codes::CONTROL, "  while () : () {\n  yield %i\n  } do () {\n  }");
    refused(
        codes::CONTROL,
        "  %9 = for %10 = %0 to %i step %i carry (%11 = %x) : (view<f32, 2>) {\n  yield %11\n  }",
    );
    refused(
        codes::CARRIED,
        "  %9 = for %10 = %0 to %i step %i carry (%11 = %s) : (f32) {\n  yield %10\n  }",
    );
    refused(codes::CARRIED, "  %9 = for %10 = %0 to %i step %i carry (%11 = %s) : (f32) {\n  }");
    refused(
        codes::CARRIED,
        "  %9 = for %10 = %0 to %i step %i carry (%11 = %s) : (f16) {\n  yield %11\n  }",
    );
    refused(
        codes::CARRIED,
        "  %9 = while (%10 = %s) : (f32) {\n  yield %c\n  } do (%11) {\n  yield %i\n  }",
    );
    refused(codes::CARRIED, "  %9 = if %c : (f32) {\n  yield %s\n  } else {\n  yield %i\n  }");
    refused(codes::CARRIED, "  %9 = if %c : (f32) {\n  yield %s\n  } else {\n  }");
    let f = body("  for %9 = %0 to %i step %i {\n  yield\n  %10 = neg %s : f32\n  }");
    assert!(codes_of(&f).contains(&codes::REGION_END));
    assert_eq!(codes_of(&body("  yield %s")), [codes::REGION_END]);
}

#[test]
fn broken_tables() {
    let good = body("  if %c {\n  %9 = neg %s : f32\n  } else {\n  }");
    let broken = |change: &dyn Fn(&mut Func)| {
        let mut f = good.clone();
        change(&mut f);
        let found = codes_of(&f);
        assert!(found.contains(&codes::STRUCTURE), "{found:?}");
        drop(print(&f));
        drop(print_with_spans(&f));
    };
    broken(&|f| f.regions.clear());
    broken(&|f| f.values.truncate(3));
    broken(&|f| f.insts.truncate(3));
    broken(&|f| f.regions.truncate(1));
    broken(&|f| f.regions[1].insts = f.regions[0].insts.clone());
    broken(&|f| {
        for i in &mut f.insts {
            if let TileOp::If { then_region, .. } = &mut i.op {
                *then_region = RegionId(0);
            }
        }
    });
    broken(&|f| f.values[9].def = Def::Param(0));
    broken(&|f| f.insts[3].op = TileOp::Unary { op: UnaryOp::Neg, x: Value(u32::MAX) });
    let mut f = good.clone();
    f.regions[1].insts.clear();
    assert_eq!(codes_of(&f), [codes::REGION_END]);
}

#[test]
fn all_faults_are_reported() {
    let f = body(
        "  %9 = exp %3 : tile<4x8xf16>\n  %10 = add %1, %3 : tile<4x8xf32>\n  %11 = program_id 4",
    );
    assert_eq!(codes_of(&f), [codes::ELEMENT, codes::OPERANDS, codes::GRID_AXIS]);
}
