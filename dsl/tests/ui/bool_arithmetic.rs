use tilewright_dsl::prelude::*;

fn k(x: View<F32, 1>) {
    let mask = x.tile(0, [8]).load().gt(0.0);
    let _ = mask + mask;
    let _ = x.get(0) & x.get(1);
}

fn main() {}
