use tilewright_dsl::prelude::*;

fn k(x: View<F32, 1>, causal: bool) {
    let t = x.tile(0, [8]).load();
    let _ = select(causal, t, 0.0);
}

fn main() {}
