use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>) {
    let block = if x.dim(0) > 100 { 16 } else { 8 };
    x.tile(0, [block]).load();
}

fn main() {}
