use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>) {
    let mut total = konst::<F32>(0.0);
    let mut add = |v: Scalar<F32>| total += v;
    for i in range(0, x.dim(0), 1) {
        add(x.get(i));
    }
}

fn main() {}
