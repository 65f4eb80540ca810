//! Staging without `#[kernel]`: the ops that the handles record, and the messages of misuse.

use tilewright_dsl::prelude::*;

fn ops(func: &Func) -> usize {
    func.insts.len()
}

#[test]
fn operators_take_scalars_and_host_numbers_on_both_sides() {
    let func = stage("k", |s| {
        let x: View<F32, 2> = s.view("x");
        let y: ViewMut<F32, 2> = s.view_mut("y");
        let eps: Scalar<F32> = s.scalar("eps");
        let pid = program_id(0);
        let row = (2 * pid).min(x.dim(0) - 1);
        let t = x.tile((row, 0), [1, 64]).load();
        let mut u = (2.0 * t + eps) * (eps * t) - 1.0;
        u += t;
        u = (eps * 2.0).exp() * u.max(0.0).sqrt();
        y.tile((row, 0), [1, 64]).store(select(u.gt(0.0), u, 0.0));
        y.set((row, 1), 1.0);
    });
    assert!(ops(&func.expect("stages")) > 10);
}
