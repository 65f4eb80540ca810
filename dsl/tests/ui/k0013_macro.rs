use tilewright_dsl::prelude::*;

macro_rules! bump {
    ($v:ident) => {
        $v = $v + 1.0
    };
}

#[kernel]
fn k(x: View<F32, 1>) {
    let mut total = konst::<F32>(0.0);
    for i in range(0, x.dim(0), 1) {
        bump!(total);
    }
}

fn main() {}
