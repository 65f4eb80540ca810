//! `#[kernel]`: what its loops and branches become in tile IR.

use tilewright_dsl::prelude::*;

/// Stages a kernel over `x` and `y` and prints it; the messages if it is wrong.
fn text(kernel: impl FnOnce(View<F32, 1>, ViewMut<F32, 1>)) -> String {
    let func = stage("k", |s| kernel(s.view("x"), s.view_mut("y")));
    match func {
        Ok(func) => tilewright_ir::print(&func),
        Err(d) => d.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

#[track_caller]
fn assert_text(kernel: impl FnOnce(View<F32, 1>, ViewMut<F32, 1>), expected: &str) {
    let actual = text(kernel);
    let strip =
        |s: &str| s.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_string();
    assert!(strip(&actual) == strip(expected), "expected:\n{expected}\nactual:\n{actual}");
}

#[kernel]
fn sum_of_squares(x: View<F32, 1>, y: ViewMut<F32, 1>) {
    let mut acc = zeros::<F32>([8]);
    for k in range(0, x.dim(0), 8) {
        let t = x.tile(k, [8]).load();
        acc += t * t;
    }
    y.tile(0, [8]).store(acc);
}

#[kernel]
fn nested(x: View<F32, 1>, y: ViewMut<F32, 1>) {
    let mut acc = konst::<F32>(0.0);
    let mut n = konst::<I32>(0);
    for k in range(0, x.dim(0), 8) {
        for j in range(0, 8, 1) {
            let v = x.get(k + j);
            if v > 0.5 && j != 3 {
                acc += v;
            } else {
                n += 1;
            }
        }
    }
    y.set(0, acc + n.cast::<F32>());
}

#[kernel]
fn early_out(x: View<F32, 1>, y: ViewMut<F32, 1>) {
    let mut i = konst::<I64>(0);
    let mut acc = konst::<F32>(0.0);
    while i < x.dim(0) && acc < 3.0 {
        acc += x.get(i);
        i += 1;
    }
    let last = if acc > 3.0 { i - 1 } else { i };
    y.set(last, acc);
}

#[test]
fn show() {
    println!("{}", text(sum_of_squares));
    println!("{}", text(nested));
    println!("{}", text(early_out));
}
