//! Ops that move elements, by the list of the positions they come from.

use super::tile::{Data, Tile};

/// Elements between neighbours of each axis, row-major.
pub(super) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut out = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        out[i - 1] = out[i] * shape[i];
    }
    out
}

/// Row-major positions of a block: `base` plus all sums of axis steps, the last axis fastest.
pub(super) fn positions(base: usize, axes: &[(usize, usize)]) -> Vec<usize> {
    let mut out = vec![base];
    for (extent, stride) in axes {
        out = out.iter().flat_map(|at| (0..*extent).map(move |i| at + i * stride)).collect();
    }
    out
}

pub(super) fn transpose(x: &Tile, perm: &[usize]) -> Tile {
    let strides = strides(&x.shape);
    let axes: Vec<(usize, usize)> = perm.iter().map(|p| (x.shape[*p], strides[*p])).collect();
    x.take(axes.iter().map(|a| a.0).collect(), &positions(0, &axes))
}

pub(super) fn broadcast(x: &Tile, shape: &[usize]) -> Tile {
    let step = |(extent, stride): (&usize, usize)| if *extent == 1 { 0 } else { stride };
    let steps = x.shape.iter().zip(strides(&x.shape)).map(step);
    let axes: Vec<(usize, usize)> = shape.iter().copied().zip(steps).collect();
    x.take(shape.to_vec(), &positions(0, &axes))
}

pub(super) fn slice(x: &Tile, starts: &[usize], shape: &[usize]) -> Tile {
    let strides = strides(&x.shape);
    let base = starts.iter().zip(&strides).map(|(start, stride)| start * stride).sum();
    let axes: Vec<(usize, usize)> = shape.iter().copied().zip(strides).collect();
    x.take(shape.to_vec(), &positions(base, &axes))
}

pub(super) fn join(a: &Tile, b: &Tile) -> Tile {
    let mut shape = a.shape.clone();
    shape.push(2);
    let pairs = (0..a.data.len()).flat_map(|i| [a.data.get(i), b.data.get(i)]);
    Tile { dtype: a.dtype, shape, data: Data::from_bits(a.dtype, pairs) }
}

pub(super) fn split(x: &Tile) -> [Tile; 2] {
    let mut shape = x.shape.clone();
    shape.pop();
    [0, 1].map(|first| {
        let at: Vec<usize> = (0..x.data.len() / 2).map(|i| i * 2 + first).collect();
        x.take(shape.clone(), &at)
    })
}

pub(super) fn splat(x: &Tile, shape: &[usize]) -> Tile {
    x.take(shape.to_vec(), &vec![0; shape.iter().product()])
}
