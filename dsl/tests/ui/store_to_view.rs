use tilewright_dsl::prelude::*;

fn k(x: View<F32, 1>) {
    let t = x.tile(0, [8]).load();
    x.tile(0, [8]).store(t);
}

fn main() {}
