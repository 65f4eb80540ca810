use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>) {
    let mut t = x.tile(0, [8]).load();
    if t > 0.0 {
        t = t + 1.0;
    }
    while t < 3.0 {
        t = t * 2.0;
    }
}

fn main() {}
