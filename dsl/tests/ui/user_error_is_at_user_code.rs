use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>, y: ViewMut<F32, 1>) {
    let mut acc = zeros::<F32>([8]);
    for i in range(0, x.dim(0), 8) {
        acc = acc + y.dim(0);
        acc.no_such_method();
        if i > 8 {
            acc = konst(1.0);
        }
    }
}

fn main() {}
