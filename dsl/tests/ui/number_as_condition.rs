use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<I32, 1>) {
    let mut t = x.get(0);
    if t {
        t = t + 1;
    }
}

fn main() {}
