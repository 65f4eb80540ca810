use tilewright_dsl::prelude::*;

#[kernel(fast)]
fn k(x: View<F32, 1>) {
    x.get(0);
}

fn main() {}
