use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>) {
    let mut names = Vec::new();
    let mut i = konst::<I64>(0);
    while i < x.dim(0) {
        i += 1;
        names.push("row");
    }
}

fn main() {}
