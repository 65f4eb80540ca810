//! Host Rust in a kernel stays host Rust.

use std::collections::BTreeMap;
use tilewright_dsl::prelude::*;

#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Nhd,
    Hnd,
}

struct Variant {
    layout: Layout,
    block: usize,
    unroll: usize,
    bias: Option<f64>,
    name: String,
}

#[kernel]
fn early<E: Elem>(x: View<E, 1>, n: Option<usize>) -> Option<Tile<E>> {
    let n = n?;
    for i in 0..n {
        if i == 2 {
            return None;
        }
    }
    Some(x.tile(0, [n]).load())
}

#[kernel]
fn host<'a>(x: View<F32, 1>, y: ViewMut<F32, 1>, v: &'a Variant, names: &[&'a str]) -> &'a str {
    let mut counts = BTreeMap::new();
    'outer: for (i, name) in names.iter().enumerate() {
        if *name == "stop" || i > 10 {
            break 'outer;
        }
        if name.len() < 2 {
            continue;
        }
        *counts.entry(name.len()).or_insert(0) += 1;
    }
    let mut n = v.block;
    while n > 1 {
        n /= 2;
        if n == 7 {
            break;
        }
    }
    let axis = if v.layout == Layout::Hnd { 1 } else { 0 };
    let bias = match v.bias {
        Some(b) if b > 0.0 => b,
        Some(_) | None => 0.0,
    };
    if let Some(b) = v.bias
        && b >= 1.0
        && v.name == "biased"
    {
        counts.insert(axis, 1);
    }
    let Some(first) = names.first() else { return "" };
    let label = loop {
        if first.is_empty() {
            break "empty";
        }
        break first;
    };
    let sizes: Vec<usize> = (0..v.unroll).map(|u| u * v.block).filter(|u| *u >= 8).collect();
    assert!(sizes.len() <= v.unroll, "{}", sizes.len());
    let offsets = vec![if v.unroll > 2 { 1 } else { 0 }; 2];
    for at in sizes {
        let t = x.tile(at + offsets[0], [8]).load();
        y.tile(at, [8]).store(t + bias);
    }
    let mut last = None;
    for tile in [x.tile(0, [8]).load(), x.tile(8, [8]).load()] {
        last = Some(tile);
    }
    if let Some(tile) = last.filter(|_| v.unroll != 0) {
        y.tile(0, [8]).store(tile);
    }
    label
}

fn main() {
    let v = Variant {
        layout: Layout::Nhd,
        block: 16,
        unroll: 2,
        bias: Some(1.0),
        name: "plain".into(),
    };
    let func = stage("host", |s| {
        let x = s.view("x");
        let y = s.view_mut("y");
        assert_eq!(host(x, y, &v, &["abc", "stop"]), "abc");
        assert!(early(x, Some(2)).is_some());
        assert!(early(x, Some(8)).is_none());
        assert!(early(x, None).is_none());
    });
    assert!(func.is_ok());
}
