use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>, y: ViewMut<F32, 1>) {
    let mut n = 0usize;
    for i in range(0, x.dim(0), 8) {
        y.tile(i, [8]).store(x.tile(i, [8]).load());
        n += 1;
    }
}

fn main() {}
