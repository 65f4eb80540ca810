use tilewright_dsl::prelude::*;

fn k(n: Index) {
    if n > 3 {}
}

fn main() {}
