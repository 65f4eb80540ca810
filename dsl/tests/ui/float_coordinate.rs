use tilewright_dsl::prelude::*;

fn k(x: View<F32, 1>) {
    let at = x.get(0);
    x.tile(at, [8]).load();
    x.get((1.5,));
}

fn main() {}
