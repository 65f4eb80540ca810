//! The interpreter does what each op's documentation says.

use tilewright_abi::DType;
use tilewright_codegen::interp::{Arg, Options, codes, run, run_with};
use tilewright_ir::{Func, parse_file};

fn kernel(params: &str, body: &str) -> Func {
    let text = format!("func @k({params}) {{\n{body}\n}}\n");
    parse_file("k.tile", &text).unwrap_or_else(|e| panic!("{}", e[0]))
}

fn f32s(bytes: &[u8]) -> Vec<f32> {
    let words = bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]]));
    words.collect()
}

fn i32s(bytes: &[u8]) -> Vec<i32> {
    f32s(bytes).into_iter().map(|x| x.to_bits() as i32).collect()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Runs a body over input `%x: [n]` of f32 and `%y: [outputs]` of f32, `%z: [outputs]` of i32.
#[track_caller]
fn eval(x: &[f32], outputs: usize, body: &str) -> (Vec<f32>, Vec<i32>) {
    let f = kernel(
        "%x: view<f32, 1>, %y: mut view<f32, 1>, %z: mut view<i32, 1>",
        &format!("%zero = const 0 : i64\n{body}").replace("%zero", "%0"),
    );
    let (mut xs, mut ys) = (bytes(x), bytes(&vec![-99.0; outputs]));
    let mut zs = vec![0u8; outputs * 4];
    let n = [outputs as i64];
    let mut args = [
        Arg::dense(&mut xs, DType::F32, &[x.len() as i64]),
        Arg::dense(&mut ys, DType::F32, &n),
        Arg::dense(&mut zs, DType::I32, &n),
    ];
    run(&f, &mut args, [1, 1, 1]).unwrap_or_else(|e| panic!("{e}"));
    (f32s(&ys), i32s(&zs))
}

fn load(n: usize) -> String {
    format!("%1 = load %x[span %0] bounds [dim] : tile<{n}xf32>\n")
}

#[test]
fn saxpy_with_a_tail_and_canaries() {
    let f = kernel(
        "%x: view<f32, 1>, %y: mut view<f32, 1>, %a: f32",
        "%0 = program_id 0
         %1 = const 4 : i64
         %2 = mul %0, %1 : i64
         %3 = load %x[span %2] bounds [dim] : tile<4xf32>
         %4 = load %y[span %2] bounds [dim] : tile<4xf32>
         %5 = splat %a : tile<4xf32>
         %6 = fma %3, %5, %4 : tile<4xf32>
         store %y[span %2] bounds [dim], %6",
    );
    let mut x = bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let mut y = bytes(&[7.0, 0.5, 7.0, 0.5, 7.0, 0.5, 7.0, 0.5, 7.0, 0.5, 7.0, 0.5, 7.0]);
    let options = Options { check_races: true, max_steps: Some(1000) };
    let strided =
        Arg::View { data: &mut y, dtype: DType::F32, dims: vec![6], strides: vec![2], offset: 1 };
    let mut args = [Arg::dense(&mut x, DType::F32, &[6]), strided, Arg::float(DType::F32, 2.0)];
    run_with(&f, &mut args, [2, 1, 1], &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(f32s(&y), [7.0, 2.5, 7.0, 4.5, 7.0, 6.5, 7.0, 8.5, 7.0, 10.5, 7.0, 12.5, 7.0]);
}

#[test]
fn masks_other_limits_rows_and_gathers() {
    let x: Vec<f32> = (0..6).map(|i| i as f32).collect();
    let masked = "%2 = const -2 : i64
        %3 = const 9.0 : f32
        %4 = const 3 : i64
        %1 = load %x[span %2] bounds [limit %4] other %3 : tile<8xf32>
        store %y[span %0] bounds [dim], %1";
    assert_eq!(eval(&x, 8, masked).0, [9.0, 9.0, 0.0, 1.0, 2.0, 9.0, 9.0, 9.0]);
    let rows = "%1 = iota : tile<4xi32>
        %2 = const 1 : i32
        %3 = splat %2 : tile<4xi32>
        %4 = sub %3, %1 : tile<4xi32>
        %5 = load %x[rows %4] bounds [inside] : tile<4xf32>
        store %y[gather %4] bounds [dim], %5
        %6 = mul %1, %1 : tile<4xi32>
        %7 = load %x[gather %6] bounds [dim] : tile<4xf32>
        %8 = const 4 : i64
        store %y[span %8] bounds [dim], %7";
    assert_eq!(eval(&x, 8, rows).0, [0.0, 1.0, -99.0, -99.0, 0.0, 1.0, 4.0, 0.0]);
}

#[test]
fn gathers_and_spans_mix_over_two_axes() {
    let f = kernel(
        "%x: view<f32, 2>, %y: mut view<f32, 2>",
        "%0 = const 0 : i64
         %1 = const 1 : i64
         %2 = iota : tile<6xi64>
         %3 = reshape %2 : tile<2x3xi64>
         %4 = load %x[span %1, gather %3] bounds [dim, dim] : tile<2x3xf32>
         %5 = load %x[gather %3, span %1] bounds [dim, dim] : tile<2x3xf32>
         %6 = add %4, %5 : tile<2x3xf32>
         store %y[span %0, span %0] bounds [dim, dim], %6",
    );
    let mut x = bytes(&(0..16).map(|i| i as f32).collect::<Vec<_>>());
    let mut y = vec![0; 24];
    let mut args =
        [Arg::dense(&mut x, DType::F32, &[4, 4]), Arg::dense(&mut y, DType::F32, &[2, 3])];
    run(&f, &mut args, [1, 1, 1]).unwrap_or_else(|e| panic!("{e}"));
    // Row 1 at columns 0, 1, 2, and row 2 at column 3; column 1 + j of row i·3 + j.
    assert_eq!(f32s(&y), [4.0 + 1.0, 5.0 + 6.0, 6.0 + 11.0, 11.0 + 13.0, 0.0, 0.0]);
}

#[test]
fn broken_promises_point_at_the_source() {
    let f = kernel(
        "%x: view<f32, 1>",
        "%0 = const 5 : i64\n%1 = load %x[span %0] bounds [inside] : tile<4xf32>",
    );
    let mut x = bytes(&[0.0; 8]);
    let e = run(&f, &mut [Arg::dense(&mut x, DType::F32, &[8])], [1, 1, 1]).expect_err("outside");
    assert_eq!((e.code, e.span.line), (codes::INSIDE, 3));
    assert!(e.render().contains("coordinate 8 on axis 0 of extent 8"), "{e}");
    let lying =
        Arg::View { data: &mut x, dtype: DType::F32, dims: vec![9], strides: vec![1], offset: 0 };
    let e = run(&f, &mut [lying], [1, 1, 1]).expect_err("beyond the data");
    assert_eq!(e.code, codes::OUTSIDE_BUFFER);
    let e = run(&f, &mut [Arg::int(DType::I32, 3)], [1, 1, 1]).expect_err("a scalar");
    assert_eq!(e.code, codes::ARGUMENTS);
    let e = run(&f, &mut [], [1, 1, 1]).expect_err("no arguments");
    assert_eq!(e.code, codes::ARGUMENTS);
}

#[test]
fn integer_arithmetic() {
    let op = |op: &str, ty: &str, a: i64, b: i64| {
        let body = format!(
            "%1 = const {a} : {ty}\n%2 = const {b} : {ty}\n%3 = {op} %1, %2 : {ty}
             %4 = cast %3 rne : i32\nstore %z[span %0] bounds [dim], %4"
        );
        eval(&[], 1, &body).1[0]
    };
    assert_eq!(op("div", "i32", 7, 0), 0);
    assert_eq!(op("rem", "i32", 7, 0), 0);
    assert_eq!(op("div", "i32", -7, 2), -3);
    assert_eq!(op("rem", "i32", -7, 2), -1);
    assert_eq!(op("div", "i8", -128, -1), -128);
    assert_eq!(op("rem", "i8", -128, -1), 0);
    assert_eq!(op("div", "i32", i64::from(i32::MIN), -1), i32::MIN);
    assert_eq!(op("add", "u8", 200, 100), 44);
    assert_eq!(op("max", "i8", -1, 1), 1);
    assert_eq!(op("max", "u8", 255, 1), 255);
    assert_eq!(op("shl", "i32", 1, 31), i32::MIN);
    assert_eq!(op("shl", "i32", 1, 32), 0);
    assert_eq!(op("shl", "i8", 1, -1), 0);
    assert_eq!(op("shr", "i8", -128, 100), -1);
    assert_eq!(op("shr", "u8", 128, 7), 1);
    assert_eq!(op("shr", "u8", 128, 8), 0);
    assert_eq!(op("xor", "u16", 0xffff, 0xff), 0xff00);
}

#[test]
fn float_arithmetic() {
    let nan = f32::NAN;
    let pair = |op: &str, a: f32, b: f32| {
        let body = format!(
            "%1 = load %x[span %0] bounds [dim] : f32\n%2 = const 1 : i64
             %3 = load %x[span %2] bounds [dim] : f32\n%4 = {op} %1, %3 : f32
             store %y[span %0] bounds [dim], %4"
        );
        eval(&[a, b], 1, &body).0[0]
    };
    assert!(pair("max", nan, 1.0).is_nan() && pair("min", 1.0, nan).is_nan());
    assert_eq!(pair("max", -0.0, 0.0).to_bits(), 0);
    assert_eq!(pair("max", 0.0, -0.0).to_bits(), 0);
    assert_eq!(pair("min", 0.0, -0.0).to_bits(), 1 << 31);
    assert_eq!(pair("rem", -7.5, 2.0), -1.5);
    assert_eq!(pair("div", 1.0, 0.0), f32::INFINITY);
    let one = |op: &str, x: f32| {
        let body =
            format!("{}%2 = {op} %1 : tile<1xf32>\nstore %y[span %0] bounds [dim], %2", load(1));
        eval(&[x], 1, &body).0[0]
    };
    assert_eq!([one("exp", f32::NEG_INFINITY), one("exp", f32::INFINITY)], [0.0, f32::INFINITY]);
    assert_eq!(one("ln", 0.0), f32::NEG_INFINITY);
    assert!(one("ln", -1.0).is_nan() && one("sqrt", -1.0).is_nan());
    assert_eq!([one("round", 2.5), one("round", -3.5), one("trunc", -3.9)], [2.0, -4.0, -3.0]);
    assert_eq!([one("rsqrt", 4.0), one("recip", -4.0), one("abs", -0.0)], [0.5, -0.25, 0.0]);
    assert_eq!(one("neg", 0.0).to_bits(), 1 << 31);
    // Values of the error function to f32 accuracy (Abramowitz and Stegun, table 7.1).
    let table = [(0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3), (3.0, 0.999_977_9)];
    for (x, erf) in table {
        assert!((one("erf", x) - erf).abs() < 1e-6 && (one("erf", -x) + erf).abs() < 1e-6);
    }
    assert_eq!([one("erf", 5.0), one("erf", f32::NEG_INFINITY)], [1.0, -1.0]);
    assert!(one("erf", nan).is_nan());
}

#[test]
fn half_arithmetic_rounds_in_its_type() {
    let body = |ty: &str| {
        format!(
            "{}%2 = cast %1 rne : tile<2x{ty}>\n%3 = mul %2, %2 : tile<2x{ty}>
             %4 = cast %3 rne : tile<2xf32>\nstore %y[span %0] bounds [dim], %4",
            load(2)
        )
    };
    assert_eq!(eval(&[1.0078125, 300.0], 2, &body("f16")).0, [1.015625, f32::INFINITY]);
    assert_eq!(eval(&[1.0078125, 300.0], 2, &body("bf16")).0, [1.015625, 90112.0]);
}

#[test]
fn arg_reductions() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let arg = |max: &str, x: &[f32]| {
        let n = x.len();
        let body = format!(
            "{}%2, %3 = arg_reduce {max} %1 axis 0 : f32, i32
             store %y[span %0] bounds [dim], %2\nstore %z[span %0] bounds [dim], %3",
            load(n)
        );
        let (y, z) = eval(x, 1, &body);
        (y[0], z[0])
    };
    assert_eq!(arg("max", &[nan, 6.0, 8.0]).1, 0);
    assert_eq!(arg("max", &[inf, nan]).1, 1);
    assert_eq!(arg("min", &[-inf, nan, nan]).1, 1);
    assert_eq!(arg("max", &[3.0, 3.0]), (3.0, 0));
    assert_eq!(arg("max", &[-0.0, 0.0]).1, 0);
    assert_eq!(arg("max", &[-inf, -inf]).1, 0);
    assert_eq!(arg("min", &[2.0, -1.0, -1.0]), (-1.0, 1));
}

#[test]
fn folds_along_each_axis() {
    let x: Vec<f32> = (1..=6).map(|i| i as f32).collect();
    let body = |line: &str| format!("{}%2 = reshape %1 : tile<2x3xf32>\n{line}", load(6));
    let one = |op: &str, axis: usize, n: usize| {
        let line =
            format!("%3 = {op} %2 axis {axis} : tile<{n}xf32>\nstore %y[span %0] bounds [dim], %3");
        eval(&x, n, &body(&line)).0
    };
    assert_eq!(one("reduce sum", 0, 3), [5.0, 7.0, 9.0]);
    assert_eq!(one("reduce prod", 1, 2), [6.0, 120.0]);
    assert_eq!(one("reduce max", 1, 2), [3.0, 6.0]);
    let scan = "%3 = scan sum %2 axis 0 : tile<2x3xf32>\n%4 = reshape %3 : tile<6xf32>
        store %y[span %0] bounds [dim], %4";
    assert_eq!(eval(&x, 6, &body(scan)).0, [1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
    let total = "%3 = reduce sum %1 axis 0 : f32\nstore %y[span %0] bounds [dim], %3";
    assert_eq!(eval(&x, 1, &body(total)).0, [21.0]);
}

#[test]
fn sorting_is_stable_and_nan_is_largest() {
    let sort = |order: &str, x: &[f32]| {
        let n = x.len();
        let body = format!(
            "{}%2, %3 = sort %1 axis 0 {order} : tile<{n}xf32>, tile<{n}xi32>
             store %z[span %0] bounds [dim], %3\nstore %y[span %0] bounds [dim], %2",
            load(n)
        );
        eval(x, n, &body).1
    };
    let x = [1.0, f32::NAN, -0.0, 0.0, 1.0, f32::NAN];
    assert_eq!(sort("ascending", &x), [2, 3, 0, 4, 1, 5]);
    assert_eq!(sort("descending", &x), [1, 5, 0, 4, 2, 3]);
    assert_eq!(sort("descending", &[5.0, 4.0, 4.0, 4.0, 0.0]), [0, 1, 2, 3, 4]);
}

#[test]
fn shape_ops_move_elements() {
    let x: Vec<f32> = (0..6).map(|i| i as f32).collect();
    let body = format!(
        "{}%2 = reshape %1 : tile<2x3xf32>
         %3 = transpose %2 [1, 0] : tile<3x2xf32>
         %4, %5 = split %3 : tile<3xf32>, tile<3xf32>
         %6 = join %5, %4 : tile<3x2xf32>
         %7 = slice %6 [1, 0] : tile<2x1xf32>
         %8 = broadcast %7 : tile<2x3xf32>
         %9 = reshape %8 : tile<6xf32>
         store %y[span %0] bounds [dim], %9",
        load(6)
    );
    assert_eq!(eval(&x, 6, &body).0, [4.0, 4.0, 4.0, 5.0, 5.0, 5.0]);
}

#[test]
fn histograms_ignore_what_is_outside() {
    let body = format!(
        "{}%2 = cast %1 rtz : tile<6xi32>\n%3 = histogram %2 : tile<3xi32>
         store %z[span %0] bounds [dim], %3",
        load(6)
    );
    assert_eq!(eval(&[0.0, 2.0, 2.0, -1.0, 3.0, 1e9], 3, &body).1, [1, 0, 2]);
}

#[test]
fn products() {
    let x: Vec<f32> = (1..=6).map(|i| i as f32).collect();
    let body = |line: &str| {
        format!(
            "{}%2 = reshape %1 : tile<2x3xf32>
             %3 = reshape %1 : tile<3x2xf32>
             %4 = const 100.0 : f32
             %5 = splat %4 : tile<2x2xf32>
             {line}
             %30 = reshape %20 : tile<4xf32>
             store %y[span %0] bounds [dim], %30",
            load(6)
        )
    };
    let want = [122.0, 128.0, 149.0, 164.0];
    assert_eq!(eval(&x, 4, &body("%20 = mma %2, %3, %5 : tile<2x2xf32>")).0, want);
    let narrow = "%6 = cast %2 rne sat : tile<2x3xf8e4m3>
        %7 = cast %3 rne : tile<3x2xbf16>
        %20 = mma %6, %7, %5 : tile<2x2xf32>";
    assert_eq!(eval(&x, 4, &body(narrow)).0, want);
    let ints = "%6 = cast %2 rtz : tile<2x3xi8>
        %7 = neg %6 : tile<2x3xi8>
        %8 = cast %3 rtz : tile<3x2xu4>
        %9 = cast %5 rtz : tile<2x2xi32>
        %10 = mma %7, %8, %9 : tile<2x2xi32>
        %20 = cast %10 rne : tile<2x2xf32>";
    assert_eq!(eval(&x, 4, &body(ints)).0, [78.0, 72.0, 51.0, 36.0]);
    let scaled = "%6 = const 2.0 : e8m0
        %7 = splat %6 : tile<2x1xe8m0>
        %8 = const 0.5 : f8e4m3
        %9 = splat %8 : tile<1x2xf8e4m3>
        %20 = mma_scaled %2, %7, %3, %9, %5 group 3 : tile<2x2xf32>";
    assert_eq!(eval(&x, 4, &body(scaled)).0, want);
}

#[test]
fn control_flow_carries_values() {
    let body = "%1 = const 1 : i64
        %2 = const 10 : i64
        %3 = const 3 : i64
        %4, %5 = for %6 = %1 to %2 step %3 carry (%7 = %0, %8 = %1) : (i64, i64) {
          %9 = add %7, %6 : i64
          yield %8, %9
        }
        %10 = while (%11 = %5) : (i64) {
          %12 = const 100 : i64
          %13 = cmp lt %11, %12 : bool
          yield %13
        } do (%14) {
          %15 = add %14, %14 : i64
          yield %15
        }
        %16 = cmp gt %10, %4 : bool
        %17 = if %16 : (i64) {
          yield %10
        } else {
          yield %4
        }
        %18 = for %19 = %2 to %1 step %1 carry (%20 = %17) : (i64) {
          yield %0
        }
        %21 = cast %18 rne : i32
        store %z[span %0] bounds [dim], %21";
    // (0, 1) → (1, 1) → (1, 5) → (5, 8), then 8, 16 … 128.
    assert_eq!(eval(&[], 1, body).1, [128]);
}

#[test]
fn programs_atomics_and_races() {
    let params = "%z: mut view<i32, 1>, %n: i64";
    let counted = "%0 = const 0 : i64
        %1 = program_id 0\n%2 = program_id 1\n%3 = num_programs 0
        %4 = mul %2, %3 : i64\n%5 = add %1, %4 : i64\n%6 = cast %5 rne : i32";
    let options = Options { check_races: true, max_steps: None };
    let go = |line: &str| {
        let f = kernel(params, &format!("{counted}\n{line}"));
        let mut z = vec![0; 24];
        let mut args = [Arg::dense(&mut z, DType::I32, &[6]), Arg::int(DType::I64, 6)];
        run_with(&f, &mut args, [3, 2, 1], &options).map(|()| i32s(&z)).map_err(|e| e.code)
    };
    assert_eq!(go("store %z[span %5] bounds [dim], %6"), Ok(vec![0, 1, 2, 3, 4, 5]));
    assert_eq!(go("atomic add %z[span %0] bounds [dim], %6"), Ok(vec![15, 0, 0, 0, 0, 0]));
    assert_eq!(go("atomic max %z[span %0] bounds [limit %n], %6"), Ok(vec![5, 0, 0, 0, 0, 0]));
    assert_eq!(go("store %z[span %0] bounds [dim], %6"), Err(codes::RACE));
    let twice = "%7 = splat %6 : tile<2xi32>\nstore %z[rows %7] bounds [dim], %7";
    assert_eq!(go(twice), Err(codes::RACE));
    let reads = "store %z[span %5] bounds [dim], %6
        %7 = load %z[span %0] bounds [dim] : i32";
    assert_eq!(go(reads), Err(codes::RACE));
}

#[test]
fn steps_are_limited_and_loops_count_upwards() {
    let forever = "while () : () {\n%1 = const true : bool\nyield %1\n} do () {\n}";
    let f = kernel("%n: i64", forever);
    let options = Options { check_races: false, max_steps: Some(10_000) };
    let mut args = [Arg::int(DType::I64, 0)];
    let e = run_with(&f, &mut args, [1, 1, 1], &options).expect_err("endless");
    assert_eq!(e.code, codes::STOPPED);
    let f = kernel("%n: i64", "for %0 = %n to %n step %n {\n}");
    assert_eq!(run(&f, &mut args, [1, 1, 1]).expect_err("step 0").code, codes::STEP);
}

#[test]
fn bools_in_memory_and_bit_casts() {
    let f = kernel(
        "%b: mut view<bool, 1>, %x: view<f16, 1>, %y: mut view<u16, 1>",
        "%0 = const 0 : i64
         %1 = load %b[span %0] bounds [dim] : tile<4xbool>
         %2 = not %1 : tile<4xbool>
         store %b[span %0] bounds [dim], %2
         %3 = load %x[span %0] bounds [dim] : tile<2xf16>
         %4 = neg %3 : tile<2xf16>
         %5 = bitcast %4 : tile<2xu16>
         store %y[span %0] bounds [dim], %5",
    );
    let (mut b, mut x, mut y) = (vec![0, 1, 2, 255], vec![0x01, 0x7d, 0, 0], vec![0; 4]);
    let mut args = [
        Arg::dense(&mut b, DType::Bool, &[4]),
        Arg::dense(&mut x, DType::F16, &[2]),
        Arg::dense(&mut y, DType::U16, &[2]),
    ];
    run(&f, &mut args, [1, 1, 1]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(b, [1, 0, 0, 0]);
    // A signalling NaN keeps its payload through a sign change.
    assert_eq!(y, [0x01, 0xfd, 0, 0x80]);
}
