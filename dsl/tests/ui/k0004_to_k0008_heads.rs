use tilewright_dsl::prelude::*;

#[kernel]
async fn waits(x: View<F32, 1>) {}

#[kernel]
const fn constant(x: usize) -> usize {
    x
}

#[kernel]
extern "C" fn foreign(x: View<F32, 1>) {}

fn main() {}
