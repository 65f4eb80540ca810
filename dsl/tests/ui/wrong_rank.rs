use tilewright_dsl::prelude::*;

fn k(x: View<F32, 2>) {
    x.tile(0, [8, 8]).load();
    x.tile((0, 0, 0), [8, 8]).load();
    x.tile((0, 0), [8]).load();
}

fn main() {}
