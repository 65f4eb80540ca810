use tilewright_dsl::prelude::*;

trait Activation {
    #[kernel]
    fn apply(&self, x: Tile<F32>) -> Tile<F32>;
}

fn main() {}
