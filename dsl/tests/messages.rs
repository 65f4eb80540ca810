//! What staging says about wrong kernels: place, caret, callers.

use tilewright_dsl::prelude::*;

mod common;

/// The messages about a kernel over a view, one after the other.
fn messages(kernel: impl FnOnce(View<F32, 1>)) -> String {
    match stage("k", |s| kernel(s.view("x"))) {
        Ok(_) => "accepted".into(),
        Err(all) => all.iter().map(|d| d.render()).collect::<Vec<_>>().join("\n"),
    }
}

#[kernel]
fn shapes(x: View<F32, 1>) {
    let t = x.tile(0, [8]).load();
    let u = x.tile(0, [16]).load();
    for k in range(0, x.dim(0), 8) {
        let s = t * t + u;
        let _ = s * x.get(k);
    }
}

#[test]
fn shapes_must_agree() {
    common::golden("shapes", &messages(shapes));
}

#[kernel]
fn helper(a: Tile<F32>, f: impl Fn(Tile<F32>) -> Tile<F32>) -> Tile<F32> {
    f(a) + a.slice(0, 4, 4)
}
#[kernel]
fn calls(x: View<F32, 1>) {
    let t = x.tile(0, [8]).load();
    let _ = helper(t, |t| t * 2.0);
}

#[test]
fn helpers_show_their_callers() {
    common::golden("callers", &messages(calls));
}

fn add(a: &std::cell::Cell<Scalar<F32>>, v: Scalar<F32>) {
    a.set(a.get() + v);
}
#[kernel]
fn hidden(x: View<F32, 1>) {
    let a = std::cell::Cell::new(konst(0.0));
    for k in range(0, x.dim(0), 8) {
        add(&a, x.get(k));
    }
    let _ = a.get() * 2.0;
}

#[test]
fn hidden_state_is_found() {
    common::golden("hidden_state", &messages(hidden));
}

#[kernel]
fn escapes(x: View<F32, 1>) {
    let kept = std::cell::Cell::new(None);
    if x.get(0) > 0.0 {
        kept.set(Some(x.get(1)));
    }
    let _ = kept.get().map(|t| t + 1.0);
}

#[test]
fn an_escaped_value_is_found() {
    common::golden("escape", &messages(escapes));
}

#[kernel]
fn leaves_branch(x: View<F32, 1>) {
    for i in 0..4 {
        if x.get(i) > 0.0 {
            break;
        }
    }
    if x.get(0) > 1.0 {
        return;
    }
    let _ = x.get(1);
}

#[test]
fn jumps_out_of_kernel_branches_are_found() {
    common::golden("leaves_branch", &messages(leaves_branch));
}

#[kernel]
fn leaves_loops(x: View<F32, 1>, steps: Option<i64>) -> Option<()> {
    let over = range(0, x.dim(0), 1);
    for i in over {
        let _ = x.get(i);
        break;
    }
    for i in over {
        let _ = x.get(i);
        continue;
    }
    let mut i = konst::<I64>(0);
    while i < x.dim(0) {
        i += 1;
        continue;
    }
    while i > 0 {
        i -= steps?;
    }
    Some(())
}

#[test]
fn jumps_out_of_kernel_loops_are_found() {
    common::golden("leaves_loops", &messages(|x| _ = leaves_loops(x, None)));
}

#[kernel]
fn changes_type(x: View<F32, 1>) {
    let mut a = zeros::<F32>([8]);
    for k in range(0, x.dim(0), 8) {
        a = x.tile(k, [16]).load();
    }
    let b = if a.sum_all() > 0.0 { a } else { a.slice(0, 0, 4) };
    let mut v = vec![a];
    while b.sum_all() > 0.0 {
        v.push(b);
    }
}

#[test]
fn carried_values_keep_their_type() {
    common::golden("types", &messages(changes_type));
}

#[derive(Clone, Copy, Carry)]
struct Counter {
    sum: Scalar<F32>,
    #[carry(host)]
    count: usize,
}
#[kernel]
fn counts(x: View<F32, 1>) {
    let mut c = Counter { sum: konst(0.0), count: 0 };
    for k in range(0, x.dim(0), 8) {
        c.sum += x.get(k);
        c.count += 1;
    }
}

#[test]
fn host_fields_do_not_change() {
    common::golden("host_fields", &messages(counts));
}

#[test]
fn misuse_of_operations() {
    let text = messages(|x| {
        let t = x.tile(0, [8]).load();
        t.sum(0);
        t.along(1, [8, 4]);
        t.reshape([3, 3]);
        t.broadcast([8, 2]);
        t.slice(0, 4, 8);
        x.dim(1);
        x.tile(0, [8]).limit(2, 5).load();
        konst::<I8>(300);
        let _ = range(0, 8, 0);
        fma(konst::<F32>(1.0), t, 0.0);
        t.t();
    });
    common::golden("misuse", &text);
}

#[test]
fn handles_belong_to_their_kernel() {
    let mut kept = None;
    stage("first", |s| kept = Some(s.view::<F32, 1>("x").get(0))).expect("stages");
    let text = messages(|_| {
        kept.map(|v| v + 1.0);
    });
    common::golden("foreign_handle", &text);
}

#[test]
fn facts_name_parameters() {
    let result = stage("k", |s| {
        let _: View<F32, 1> = s.view("x");
        let _: View<F32, 1> = s.view("x");
        s.assume_aligned("y", 64);
    });
    let text = result.map_or_else(|d| d.iter().map(|d| d.render()).collect(), |_| String::new());
    common::golden("facts", &text);
}
