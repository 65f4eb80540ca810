use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>) {
    let mut i = konst::<I64>(0);
    while {
        i += 1;
        i < x.dim(0)
    } {}
}

fn main() {}
