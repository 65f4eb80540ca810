//! Ops along an axis: reductions, scans, sorting; and the histogram.

use super::elements::{f32_binary, f64_binary, int_binary};
use super::shapes::{positions, strides};
use super::tile::{Data, Numbers, Tile};
use std::cmp::Ordering;
use tilewright_abi::{DType, Kind};
use tilewright_ir::{BinaryOp, ReduceOp};

/// The lines along an axis: where each starts, in row-major order of the other axes, and how it runs.
struct Lines {
    starts: Vec<usize>,
    step: usize,
    len: usize,
    /// Shape without the axis.
    rest: Vec<usize>,
}

impl Lines {
    fn of(x: &Tile, axis: usize) -> Lines {
        let mut axes: Vec<(usize, usize)> =
            x.shape.iter().copied().zip(strides(&x.shape)).collect();
        let (len, step) = axes.remove(axis);
        let rest = axes.iter().map(|a| a.0).collect();
        Lines { starts: positions(0, &axes), step, len, rest }
    }

    fn at(&self, start: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        let (step, len) = (self.step, self.len);
        (0..len).map(move |i| start + i * step)
    }
}

fn folds(op: ReduceOp) -> BinaryOp {
    match op {
        ReduceOp::Sum => BinaryOp::Add,
        ReduceOp::Prod => BinaryOp::Mul,
        ReduceOp::Max => BinaryOp::Max,
        ReduceOp::Min => BinaryOp::Min,
        ReduceOp::And => BinaryOp::And,
        ReduceOp::Or => BinaryOp::Or,
        ReduceOp::Xor => BinaryOp::Xor,
    }
}

/// `run` on the tile's numbers, with the op as a function on two of them.
macro_rules! with_numbers {
    ($op:expr, $x:expr, $run:expr) => {{
        let (op, d) = (folds($op), $x.dtype);
        match (d, d.kind()) {
            (DType::F64, _) => Tile::f64s_data($run($x.f64s(), f64_binary(op)).into_iter()),
            (_, Kind::Float) => Tile::f32s_data(d, $run($x.f32s(), f32_binary(op)).into_iter()),
            (_, Kind::Bool | Kind::Signed | Kind::Unsigned) => {
                Tile::ints_data(d, $run($x.ints(), int_binary(op, d)).into_iter())
            }
        }
    }};
}

pub(super) fn reduce(op: ReduceOp, x: &Tile, axis: usize) -> Tile {
    fn run<T: Copy>(lines: &Lines, v: Vec<T>, f: impl Fn(T, T) -> T) -> Vec<T> {
        let fold = |start: &usize| lines.at(*start).map(|i| v[i]).reduce(&f);
        lines.starts.iter().filter_map(fold).collect()
    }
    let lines = Lines::of(x, axis);
    let data = with_numbers!(op, x, |v, f| run(&lines, v, f));
    Tile { dtype: x.dtype, shape: lines.rest, data }
}

pub(super) fn scan(op: ReduceOp, x: &Tile, axis: usize) -> Tile {
    fn run<T: Copy>(lines: &Lines, mut v: Vec<T>, f: impl Fn(T, T) -> T) -> Vec<T> {
        for start in &lines.starts {
            for i in lines.at(*start).skip(1) {
                v[i] = f(v[i - lines.step], v[i]);
            }
        }
        v
    }
    let lines = Lines::of(x, axis);
    let data = with_numbers!(op, x, |v, f| run(&lines, v, f));
    x.with(x.dtype, data)
}

/// The order of two elements: NaN above all and equal to NaN, −0 equal to 0.
fn order<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    match a.partial_cmp(b) {
        Some(order) => order,
        // Only NaN is unordered with itself.
        None => (a.partial_cmp(a).is_none()).cmp(&b.partial_cmp(b).is_none()),
    }
}

pub(super) fn arg_reduce(max: bool, x: &Tile, axis: usize) -> [Tile; 2] {
    fn run<T: PartialOrd>(lines: &Lines, v: &[T], max: bool) -> Vec<usize> {
        let better = |a: &T, b: &T| {
            let nan = (a.partial_cmp(a).is_none(), b.partial_cmp(b).is_none());
            match nan {
                (true, _) => false,
                (false, true) => true,
                (false, false) if max => b > a,
                (false, false) => b < a,
            }
        };
        let best = |start: &usize| {
            lines.at(*start).reduce(|best, i| if better(&v[best], &v[i]) { i } else { best })
        };
        lines.starts.iter().filter_map(best).collect()
    }
    let lines = Lines::of(x, axis);
    let at = match x.numbers() {
        Numbers::Float(v) => run(&lines, &v, max),
        Numbers::Signed(v) => run(&lines, &v, max),
        Numbers::Unsigned(v) => run(&lines, &v, max),
    };
    let index = at.iter().zip(&lines.starts).map(|(i, start)| ((i - start) / lines.step) as u32);
    let index = Data::B4(index.collect());
    let value = x.take(lines.rest.clone(), &at);
    [value, Tile { dtype: DType::I32, shape: lines.rest, data: index }]
}

pub(super) fn sort(x: &Tile, axis: usize, descending: bool) -> [Tile; 2] {
    fn run<T: PartialOrd>(lines: &Lines, v: &[T], descending: bool, from: &mut [usize]) {
        for start in &lines.starts {
            let mut line: Vec<usize> = lines.at(*start).collect();
            if descending {
                line.sort_by(|a, b| order(&v[*b], &v[*a]));
            } else {
                line.sort_by(|a, b| order(&v[*a], &v[*b]));
            }
            for (to, i) in lines.at(*start).zip(line) {
                from[to] = i;
            }
        }
    }
    let lines = Lines::of(x, axis);
    let mut from = vec![0; x.data.len()];
    match x.numbers() {
        Numbers::Float(v) => run(&lines, &v, descending, &mut from),
        Numbers::Signed(v) => run(&lines, &v, descending, &mut from),
        Numbers::Unsigned(v) => run(&lines, &v, descending, &mut from),
    }
    let along = |i: &usize| (i / lines.step % lines.len) as u32;
    let index = Data::B4(from.iter().map(along).collect());
    [x.take(x.shape.clone(), &from), x.with(DType::I32, index)]
}

pub(super) fn histogram(x: &Tile, bins: usize) -> Tile {
    let mut counts = vec![0u32; bins];
    for v in x.ints() {
        // A negative value is a huge unsigned one.
        if let Some(count) = usize::try_from(v).ok().and_then(|v| counts.get_mut(v)) {
            *count += 1;
        }
    }
    Tile { dtype: DType::I32, shape: vec![bins], data: Data::B4(counts) }
}
