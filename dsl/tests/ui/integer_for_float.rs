use tilewright_dsl::prelude::*;

fn k(x: View<F32, 1>) {
    let t = x.tile(0, [8]).load();
    let _ = t * 2;
    let _ = t.max(0);
}

fn main() {}
