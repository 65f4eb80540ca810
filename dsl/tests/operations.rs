//! Operations of the DSL run on the interpreter: each means what its Rust counterpart does.

use tilewright_dsl::prelude::*;

mod execute;

use execute::{Data, execute};

const X: [f32; 8] = [1.5, -2.0, 0.25, 8.0, -0.5, 3.0, -7.25, 0.0];

/// Runs `op` on the tile of [`X`] and stores what it gives.
#[track_caller]
fn on_x(len: usize, op: impl FnOnce(Tile<F32>) -> Tile<F32>) -> Vec<f32> {
    execute(&[Data::F32(&X, &[8])], len, [1, 1, 1], |s| {
        let x: View<F32, 1> = s.view("x");
        let out: ViewMut<F32, 1> = s.view_mut("out");
        let t = op(x.tile(0, [8]).load());
        out.tile(0, [len]).store(t.reshape([len]));
    })
}

fn each(f: impl Fn(f32) -> f32) -> Vec<f32> {
    X.iter().map(|v| f(*v)).collect()
}

#[test]
fn arithmetic_with_operands_of_all_kinds() {
    let two = || konst::<F32>(2.0);
    assert_eq!(on_x(8, |t| 2.0 * t - 1.0), each(|v| 2.0 * v - 1.0));
    assert_eq!(on_x(8, |t| 1.0 - t / 4.0), each(|v| 1.0 - v / 4.0));
    assert_eq!(on_x(8, |t| two() / t.max(0.5)), each(|v| 2.0 / v.max(0.5)));
    assert_eq!(on_x(8, |t| t % two() - (two() - t)), each(|v| v % 2.0 - (2.0 - v)));
    assert_eq!(on_x(8, |t| -t.abs().clamp(0.5, two())), each(|v| -v.abs().clamp(0.5, 2.0)));
    assert_eq!(on_x(8, |t| fma(t, 3.0, two())), each(|v| v * 3.0 + 2.0));
    assert_eq!(
        on_x(8, |t| t.floor() + t.round() * t.trunc()),
        each(|v| { v.floor() + v.round_ties_even() * v.trunc() })
    );
    assert_eq!(
        on_x(8, |t| select(t.ge(0.25), t, -1.0)),
        each(|v| if v >= 0.25 { v } else { -1.0 })
    );
    assert_eq!(
        on_x(8, |t| {
            let mut t = t;
            t += 1.0;
            t *= t;
            t -= two();
            t
        }),
        each(|v| (v + 1.0) * (v + 1.0) - 2.0)
    );
}

#[test]
fn integers() {
    let ints = |t: Tile<F32>| t.cast::<I32>();
    let of = |f: fn(i32) -> i32| each(|v| f(v as i32) as f32);
    assert_eq!(on_x(8, |t| ((ints(t) << 2) ^ 5).cast()), of(|v| (v << 2) ^ 5));
    assert_eq!(on_x(8, |t| ((ints(t) & 6) | 1).cast()), of(|v| (v & 6) | 1));
    assert_eq!(on_x(8, |t| (!ints(t) >> 1).cast()), of(|v| !v >> 1));
    assert_eq!(on_x(8, |t| (7 - ints(t) / 2).cast()), of(|v| 7 - v / 2));
    assert_eq!(on_x(8, |t| t.cast_sat::<U8>().cast()), each(|v| f32::from(v as u8)));
    assert_eq!(on_x(8, |t| t.bitcast::<I32>().bitcast()), X);
    let index = |n: i64| konst::<I64>(n);
    let scalars = on_x(4, |_| {
        let (a, b) = (index(17).div_ceil(5), index(17).next_multiple_of(8));
        let (c, d) = (2 * index(21) % 8, 100 / index(7));
        let pair = |x: Index, y: Index| join(x.splat([1]), y.splat([1])).reshape([2]);
        join(pair(a, b), pair(c, d)).t().reshape([4]).cast()
    });
    assert_eq!(scalars, [4.0, 24.0, 2.0, 14.0]);
}

#[test]
fn shapes() {
    assert_eq!(on_x(8, |t| t.reshape([2, 4]).t()), [1.5, -0.5, -2.0, 3.0, 0.25, -7.25, 8.0, 0.0]);
    assert_eq!(
        on_x(8, |t| t.reshape([2, 2, 2]).permute([2, 0, 1])),
        [1.5, 0.25, -0.5, -7.25, -2.0, 8.0, 3.0, 0.0]
    );
    assert_eq!(on_x(4, |t| t.slice(0, 2, 4)), X[2..6]);
    let pair = |t: Tile<F32>| t.slice(0, 0, 2);
    assert_eq!(on_x(6, |t| pair(t).along(0, [2, 3])), [1.5, 1.5, 1.5, -2.0, -2.0, -2.0]);
    assert_eq!(on_x(6, |t| pair(t).along(1, [3, 2])), [1.5, -2.0, 1.5, -2.0, 1.5, -2.0]);
    assert_eq!(on_x(4, |t| pair(t).col_bcast([2, 2])), on_x(4, |t| pair(t).along(0, [2, 2])));
    assert_eq!(on_x(4, |t| pair(t).row_bcast([2, 2])), on_x(4, |t| pair(t).along(1, [2, 2])));
    assert_eq!(on_x(4, |t| pair(t).expand(1).broadcast([2, 2])), [1.5, 1.5, -2.0, -2.0]);
    assert_eq!(on_x(4, |t| t.reshape([4, 2]).split().1), [-2.0, 8.0, 3.0, 0.0]);
    assert_eq!(
        on_x(8, |t| {
            let (a, b) = t.reshape([4, 2]).split();
            join(b, a)
        }),
        [-2.0, 1.5, 8.0, 0.25, 3.0, -0.5, 0.0, -7.25]
    );
}

#[test]
fn folds_and_orders() {
    let square = |t: Tile<F32>| t.reshape([2, 4]);
    assert_eq!(on_x(4, |t| square(t).sum(0)), [1.0, 1.0, -7.0, 8.0]);
    assert_eq!(on_x(2, |t| square(t).max_axis(1)), [8.0, 3.0]);
    assert_eq!(on_x(2, |t| square(t).min_axis(1)), [-2.0, -7.25]);
    assert_eq!(on_x(1, |t| square(t).sum_all().splat([1])), [3.0]);
    assert_eq!(on_x(2, |t| square(t).argmax(1).1.cast()), [3.0, 1.0]);
    assert_eq!(on_x(1, |t| square(t).argmin_all().1.splat([1]).cast()), [6.0]);
    assert_eq!(on_x(8, |t| square(t).cumsum(1)), [1.5, -0.5, -0.25, 7.75, -0.5, 2.5, -4.75, -4.75]);
    assert_eq!(on_x(8, |t| t.scan_max(0)), [1.5, 1.5, 1.5, 8.0, 8.0, 8.0, 8.0, 8.0]);
    assert_eq!(on_x(8, |t| t.sort(0, true).0), [8.0, 3.0, 1.5, 0.25, 0.0, -0.5, -2.0, -7.25]);
    assert_eq!(on_x(8, |t| t.sort(0, false).1.cast()), [6.0, 1.0, 4.0, 7.0, 2.0, 0.0, 5.0, 3.0]);
    assert_eq!(on_x(4, |t| t.abs().cast::<I32>().histogram(4).cast()), [3.0, 1.0, 1.0, 1.0]);
    let flags = |t: Tile<F32>| square(t).gt(0.0);
    let number = |s: Scalar<Bool>| select(s, 1.0, 0.0);
    assert_eq!(on_x(2, |t| select(flags(t).all(1), 1.0, 0.0)), [0.0, 0.0]);
    assert_eq!(on_x(1, |t| number(flags(t).any_all()).splat([1])), [1.0]);
}

#[test]
fn memory() {
    let x = [Data::F32(&X, &[2, 4])];
    let run = |len: usize, kernel: fn(View<F32, 2>, ViewMut<F32, 1>)| {
        execute(&x, len, [1, 1, 1], |s| kernel(s.view("x"), s.view_mut("out")))
    };
    assert_eq!(
        run(8, |x, out| out.tile(0, [8]).store(x.tile((1, 2), [2, 4]).load_or(9.0).reshape([8]))),
        [-7.25, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0]
    );
    assert_eq!(
        run(4, |x, out| {
            let row = x.tile((0, 0), [1, 4]).limit(1, 3).inside_axis(0).load_or(-1.0);
            out.tile(0, [4]).store(row.reshape([4]));
        }),
        [1.5, -2.0, 0.25, -1.0]
    );
    assert_eq!(
        run(4, |x, out| {
            let columns = iota::<I32>(4) * 2 - 1;
            out.tile(0, [4]).store(x.tile((1, columns), [1, 4]).load().reshape([4]));
        }),
        [0.0, 3.0, 0.0, 0.0]
    );
    assert_eq!(
        run(4, |x, out| {
            let (i, j) = (iota::<I64>(4).along(1, [1, 4]) % 2, iota::<I32>(4).along(1, [1, 4]));
            out.tile(0, [4]).store(x.gather((i, j), [1, 4]).load().reshape([4]));
        }),
        [1.5, 3.0, 0.25, 0.0]
    );
    assert_eq!(
        run(3, |x, out| {
            out.tile(0, [2]).store(2.0);
            out.atomic_add(1, x.get((0, 0)));
            out.tile(1, [2]).atomic(AtomicOp::Add, x.get_inside((1, 1)));
            out.set(7, 1.0);
        }),
        [2.0, 6.5, 3.0]
    );
}

#[test]
fn products() {
    let actual = on_x(4, |t| {
        let a = t.reshape([2, 4]);
        mma(a, a.t(), full([2, 2], 0.5))
    });
    let row = |i: usize| &X[4 * i..4 * i + 4];
    let dot = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f32>();
    assert_eq!(actual, [dot(0, 0) + 0.5, dot(0, 1) + 0.5, dot(1, 0) + 0.5, dot(1, 1) + 0.5]);
}

/// Known answers of Philox4x32-10 from its authors' test vectors.
#[test]
fn random_words() {
    let word = |key: u64, c: [u32; 4]| {
        let bits = on_x(2, |_| {
            let c2 = konst::<U32>(c[2]).splat([2]);
            let word = philox(konst(key), c[0], c[1], c2, c[3]);
            // 16 bits each, which f32 holds exactly.
            let parts = select(iota::<I32>(2).eq(0), word >> 16, word & 0xffff_u32);
            parts.cast()
        });
        (bits[0] as u32) << 16 | bits[1] as u32
    };
    assert_eq!(word(0, [0; 4]), 0x6627_e8d5);
    assert_eq!(word(u64::MAX, [u32::MAX; 4]), 0x408f_276d);
}
