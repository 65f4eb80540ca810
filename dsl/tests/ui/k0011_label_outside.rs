use tilewright_dsl::prelude::*;

#[kernel]
fn k(x: View<F32, 1>) {
    'rows: for r in 0..4 {
        for i in range(0, x.dim(0), 1) {
            x.get(i + r);
            continue 'rows;
        }
    }
}

fn main() {}
