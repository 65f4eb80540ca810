use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>, n: Index) {
    let t = x.tile(0, [8]).load();
    if n > 3 && n {}
    let _ = n > 3 && t > 0.0;
}

fn main() {}
