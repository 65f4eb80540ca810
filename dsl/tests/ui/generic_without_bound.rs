use tilewright_dsl::prelude::*;

fn half<E: Elem>(t: Tile<E>) -> Tile<E> {
    t * 0.5
}

fn root<E: Int>(t: Tile<E>) -> Tile<E> {
    t.sqrt()
}

fn main() {}
