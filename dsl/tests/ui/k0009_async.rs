use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>) {
    let later = async { x.get(0) };
}

fn main() {}
