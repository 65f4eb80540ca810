use tilewright_dsl::prelude::*;

struct Store;

#[kernel]
impl Store {
    fn go(&self) {}
}

#[kernel]
struct Config {
    block: usize,
}

fn main() {}
