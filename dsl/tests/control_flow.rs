//! `#[kernel]`: what its loops and branches become in tile IR.

use tilewright_dsl::prelude::*;

mod common;

/// Stages a kernel over `x` and `y` and compares its text.
#[track_caller]
fn check(name: &str, kernel: impl FnOnce(View<F32, 1>, ViewMut<F32, 1>)) {
    let func = stage(name, |s| kernel(s.view("x"), s.view_mut("y")));
    let text = match func {
        Ok(func) => {
            let text = tilewright_ir::print(&func);
            // Nothing is left of discarded passes: a function read from the text has equal tables.
            let read = tilewright_ir::parse(&text).expect("parses");
            assert_eq!(
                (read.insts.len(), read.values.len()),
                (func.insts.len(), func.values.len())
            );
            assert_eq!(read.regions.len(), func.regions.len());
            text
        }
        Err(d) => d.iter().map(|d| d.render()).collect::<Vec<_>>().join("\n"),
    };
    common::golden(name, &text);
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

#[kernel]
fn bump(total: &mut Scalar<F32>, x: View<F32, 1>, by: impl Fn(Index) -> Index) {
    for k in range(0, 4, 1) {
        *total += x.get(by(k));
    }
}

/// What does not change is not carried; host loops and branches leave no trace.
#[kernel]
fn mixed(x: View<F32, 1>, y: ViewMut<F32, 1>) {
    let mut total = konst::<F32>(0.0);
    let mut unchanged = konst::<F32>(1.0);
    let mut parts = vec![konst::<F32>(0.0); 2];
    for k in konst::<I64>(0)..x.dim(0) {
        for i in 0..2 {
            if i == 1 {
                parts[i] += x.get(k);
            }
        }
        unchanged.exp();
        bump(&mut total, x, |j| j * 2 + k);
        if k > 3 {
            unchanged *= 1.0;
        }
    }
    y.set(0, total + parts[1] + unchanged);
}

#[kernel]
fn pairs(x: View<F32, 1>, y: ViewMut<F32, 1>) {
    let mut pair = (konst::<F32>(0.0), [zeros::<F32>([4]); 2]);
    for k in range(0, 8, 4) {
        let t = x.tile(k, [4]).load();
        if t.max_all() > 1.0 {
            pair.1[0] += t;
        } else if t.min_all() < -1.0 {
            (pair.0, pair.1[1]) = (pair.0 + 1.0, t);
        }
    }
    y.tile(0, [4]).store(pair.1[0] + pair.1[1] * pair.0);
}

#[test]
fn a_loop_carries_what_it_changes() {
    check("sum_of_squares", sum_of_squares);
}

#[test]
fn loops_and_branches_nest() {
    check("nested", nested);
}

#[test]
fn a_while_has_a_region_for_its_condition() {
    check("early_out", early_out);
}

#[test]
fn structures_are_carried_by_parts() {
    check("pairs", pairs);
}

#[test]
fn host_control_flow_is_decided_while_staging() {
    check("mixed", mixed);
}
