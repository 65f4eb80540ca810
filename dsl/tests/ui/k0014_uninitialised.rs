use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>) {
    let first;
    if x.get(0) > 0.0 {
        first = x.get(0);
    } else {
        first = x.get(1);
    }
}

fn main() {}
