use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>, n: View<I32, 1>) {
    let _ = x.get(0) + n.get(0);
    if x.get(0) > n.get(0) {}
}

fn main() {}
