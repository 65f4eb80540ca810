use tilewright_dsl::prelude::*;

#[kernel]
fn find(x: View<F32, 1>, threshold: Option<f64>) -> Option<Index> {
    for i in range(0, x.dim(0), 1) {
        if x.get(i) > threshold? {
            return Some(i);
        }
        if x.get(i) < 0.0 {
            continue;
        }
        for j in 0..4 {
            if j == 2 {
                break;
            }
        }
        break;
    }
    None
}

fn main() {}
