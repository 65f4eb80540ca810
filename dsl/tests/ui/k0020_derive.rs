use tilewright_dsl::prelude::*;

#[derive(Carry)]
enum State {
    Empty,
    Full(Tile<F32>),
}

#[derive(Carry)]
struct Marked {
    #[carry(skip)]
    block: usize,
}

#[derive(Carry)]
struct Unmarked {
    acc: Tile<F32>,
    block: usize,
}

fn main() {}
