//! Staged kernels run on the interpreter and compared with the same computation in Rust.

use tilewright_dsl::prelude::*;
use tilewright_dsl::views::*;

mod execute;

use execute::{Data, execute};

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 37 + 11) % 64) as f32 / 8.0 - 4.0).collect()
}

#[kernel]
fn collatz(x: View<I32, 1>, out: ViewMut<F32, 1>) {
    let i = program_id(0);
    let mut n = x.get(i);
    let mut steps = konst::<I32>(0);
    let mut peak = n;
    while n > 1 && steps < 40 {
        n = if n % 2 == 0 { n / 2 } else { n * 3 + 1 };
        if n > peak {
            peak = n;
        }
        steps += 1;
    }
    out.set(2 * i, steps.cast());
    out.set(2 * i + 1, peak.cast());
}

#[test]
fn while_with_nested_branches() {
    let starts: Vec<i32> = (1..20).collect();
    let mut expected = Vec::new();
    for &start in &starts {
        let (mut n, mut steps, mut peak) = (start, 0, start);
        while n > 1 && steps < 40 {
            n = if n % 2 == 0 { n / 2 } else { n * 3 + 1 };
            peak = peak.max(n);
            steps += 1;
        }
        expected.extend([steps as f32, peak as f32]);
    }
    let n = starts.len();
    let actual = execute(&[Data::I32(&starts, &[n as i64])], 2 * n, [n as i64, 1, 1], |s| {
        collatz(s.view("x"), s.view_mut("out"));
    });
    assert_eq!(actual, expected);
}

#[derive(Clone, Copy, Carry)]
struct Welford {
    count: Scalar<F32>,
    mean: Scalar<F32>,
    m2: Scalar<F32>,
    #[carry(host)]
    skip_negative: bool,
}

impl Welford {
    #[kernel]
    fn add(&mut self, v: Scalar<F32>) {
        if self.skip_negative && v < 0.0 {
        } else {
            self.count += 1.0;
            let d = v - self.mean;
            self.mean += d / self.count;
            self.m2 += d * (v - self.mean);
        }
    }
}

#[kernel]
fn variance(x: View<F32, 1>, out: ViewMut<F32, 1>, skip_negative: bool) {
    let zero = konst::<F32>(0.0);
    let mut w = Welford { count: zero, mean: zero, m2: zero, skip_negative };
    for i in range(0, x.dim(0), 1) {
        w.add(x.get(i));
    }
    out.set(0, w.count);
    out.set(1, w.mean);
    out.set(2, w.m2);
}

#[test]
fn a_struct_is_carried_through_a_helper() {
    let x = numbers(30);
    for skip in [false, true] {
        let (mut count, mut mean, mut m2) = (0f32, 0f32, 0f32);
        for &v in x.iter().filter(|v| !skip || **v >= 0.0) {
            count += 1.0;
            let d = v - mean;
            mean += d / count;
            m2 += d * (v - mean);
        }
        let actual = execute(&[Data::F32(&x, &[30])], 3, [1, 1, 1], |s| {
            variance(s.view("x"), s.view_mut("out"), skip);
        });
        assert_eq!(actual, [count, mean, m2]);
    }
}

#[kernel]
fn logic(x: View<F32, 1>, out: ViewMut<F32, 1>, flag: bool) {
    for i in range(0, x.dim(0), 1) {
        let v = x.get(i);
        let a = v > 0.0 && v < 2.0 || v == 3.0;
        let b = flag || !(v >= -1.0);
        let c = flag && v != 0.5;
        let mut code = konst::<F32>(0.0);
        if a {
            code += 1.0;
        }
        if b {
            code += 2.0;
        }
        if c {
            code += 4.0;
        } else if a && !b {
            code *= 10.0;
        }
        out.set(i, code);
    }
    let t = x.tile(0, [16]).load();
    let inside = t > -1.0 && t <= 1.0;
    out.tile(32, [16]).store(select(inside || t > 3.0, t, -9.0));
}

#[test]
fn logic_of_host_and_kernel_values() {
    let x = numbers(32);
    for flag in [false, true] {
        let mut expected = Vec::new();
        for &v in &x {
            let a = v > 0.0 && v < 2.0 || v == 3.0;
            let b = flag || v < -1.0;
            let c = flag && v != 0.5;
            let mut code = f32::from(a) + 2.0 * f32::from(b);
            if c {
                code += 4.0;
            } else if a && !b {
                code *= 10.0;
            }
            expected.push(code);
        }
        let keep = |v: &f32| if (*v > -1.0 && *v <= 1.0) || *v > 3.0 { *v } else { -9.0 };
        expected.extend(x[..16].iter().map(keep));
        let actual = execute(&[Data::F32(&x, &[32])], 48, [1, 1, 1], |s| {
            logic(s.view("x"), s.view_mut("out"), flag);
        });
        assert_eq!(actual, expected);
    }
}

#[kernel]
fn triangle(x: View<F32, 1>, out: ViewMut<F32, 1>) {
    let n = x.dim(0);
    let (mut a, mut b) = (konst::<F32>(0.0), konst::<F32>(1.0));
    let mut at = konst::<I64>(0);
    for i in konst::<I64>(0)..n {
        for j in range(i, n, 3) {
            (a, b) = (b, a * 0.5 + x.get(j));
        }
        if i % 2 == 0 {
            out.set(at, a);
            at += 1;
        }
    }
    out.set(at, b);
}

#[test]
fn nested_loops_with_swapped_variables() {
    let x = numbers(9);
    let mut expected = Vec::new();
    let (mut a, mut b) = (0f32, 1f32);
    for i in 0..9 {
        for j in (i..9).step_by(3) {
            (a, b) = (b, a * 0.5 + x[j]);
        }
        if i % 2 == 0 {
            expected.push(a);
        }
    }
    expected.push(b);
    let actual = execute(&[Data::F32(&x, &[9])], expected.len(), [1, 1, 1], |s| {
        triangle(s.view("x"), s.view_mut("out"));
    });
    assert_eq!(actual, expected);
}

#[kernel]
fn parts(out: ViewMut<F32, 1>) {
    let part = program_id(0);
    for k in range_part(22, 4, part, num_programs(0)) {
        for j in range(k, (k + 4).min(22), 1) {
            out.set(j, part.cast::<F32>() + 1.0);
        }
    }
}

#[test]
fn range_parts_cover_everything_once() {
    let actual = execute(&[], 22, [3, 1, 1], |s| parts(s.view_mut("out")));
    let expected: Vec<f32> = (0..22).map(|i| (i / 8) as f32 + 1.0).collect();
    assert_eq!(actual, expected);
}

/// Pages of 4 tokens, one head of 2 elements: page 2 then 0 for the first sequence, page 1 for the
/// second.
fn paged(s: &mut Stage) -> PagedView<F32> {
    let pages = s.view("pages");
    let table = PageTable {
        indptr: s.view("indptr"),
        indices: s.view("indices"),
        last_page_len: s.view("last_page_len"),
    };
    PagedView::new(pages, table)
}

#[test]
fn pages_are_found() {
    let pages: Vec<f32> = (0..3 * 2 * 4 * 2).map(|i| i as f32).collect();
    let inputs = [
        Data::F32(&pages, &[3, 2, 4, 1, 2]),
        Data::I32(&[0, 2, 3], &[3]),
        Data::I32(&[2, 0, 1], &[3]),
        Data::I32(&[3, 1], &[2]),
    ];
    let value = |page: usize, part: usize, slot: usize, d: usize| {
        pages[((page * 2 + part) * 4 + slot) * 2 + d]
    };
    // Tokens 4 to 7 of the values of sequence 0: page 0, of which 3 tokens are valid.
    let blocks = execute(&inputs, 8, [1, 1, 1], |s| {
        let kv = paged(s).with_page_size(4);
        let out: ViewMut<F32, 1> = s.view_mut("out");
        out.tile(0, [8]).store(kv.v(0, 0).tile((4, 0), [4, 2]).load().reshape([8]));
    });
    let expected: Vec<f32> =
        (0..8).map(|i| if i / 2 < 3 { value(0, 1, i / 2, i % 2) } else { 0.0 }).collect();
    assert_eq!(blocks, expected);
    // Tokens 2 to 5 of its keys, and two that do not exist.
    let rows = execute(&inputs, 16, [1, 1, 1], |s| {
        let kv = paged(s);
        let out: ViewMut<F32, 1> = s.view_mut("out");
        let tokens = iota::<I32>(8) + 2 - select(iota::<I32>(8).gt(6), 10, 0);
        out.tile(0, [16]).store(kv.k(0, 0).tile((tokens, 0), [8, 2]).load_or(-1.0).reshape([16]));
    });
    let expected: Vec<f32> = (0..16)
        .map(|i| match i / 2 + 2 {
            t @ 2..4 => value(2, 0, t, i % 2),
            t @ 4..7 => value(0, 0, t - 4, i % 2),
            _ => -1.0,
        })
        .collect();
    assert_eq!(rows, expected);
    let lens = execute(&inputs, 2, [2, 1, 1], |s| {
        let kv = paged(s);
        let out: ViewMut<F32, 1> = s.view_mut("out");
        out.set(program_id(0), kv.len(program_id(0)).cast());
    });
    assert_eq!(lens, [7.0, 1.0]);
}

#[test]
fn routed_and_strided_rows() {
    let x = numbers(16);
    let inputs = [Data::F32(&x, &[8, 2]), Data::I32(&[7, -1, 3], &[3])];
    let actual = execute(&inputs, 16, [1, 1, 1], |s| {
        let x = s.view("x");
        let routed = RoutedView::<F32> { data: x, rows: s.view("ids"), copies: 2 };
        let strided = StridedView::new(x, 0, 1, 3);
        let out: ViewMut<F32, 1> = s.view_mut("out");
        out.tile(0, [8]).store(routed.tile((0, 0), [4, 2]).load_or(9.0).reshape([8]));
        out.tile(8, [8]).store(strided.tile((0, 0), [4, 2]).load_or(9.0).reshape([8]));
    });
    let row = |r: usize| [x[2 * r], x[2 * r + 1]];
    let expected = [row(3), [9.0; 2], row(1), [9.0; 2], row(1), row(4), row(7), [9.0; 2]];
    assert_eq!(actual, expected.concat());
}

#[test]
fn quantised_values() {
    let codes: Vec<u8> = (0..64u32).map(|i| (i * 73 + 5) as u8).collect();
    let high: Vec<u8> = (0..32u32).map(|i| (i * 57 + 3) as u8).collect();
    let (scales, mins) = ([0.5, -0.25, 2.0, 1.0], [0.0, 1.0, -3.0, 0.5]);
    for code in [QuantCode::U4, QuantCode::U5, QuantCode::U6, QuantCode::U8, QuantCode::I8] {
        let (low_bits, high_bits) = (code.low_bits(), code.high_bits());
        // Two rows of 64 elements in groups of 32; of the 8-bit codes, 32 elements.
        let k = if low_bits == 8 { 32 } else { 64 };
        let groups = k / 32;
        let high_cols = k * high_bits / 8;
        let inputs = [
            Data::U8(&codes[..2 * k * low_bits / 8], &[2, (k * low_bits / 8) as i64]),
            Data::U8(&high[..2 * high_cols], &[2, high_cols as i64]),
            Data::F32(&scales[..2 * groups], &[2, groups as i64]),
            Data::F32(&mins[..2 * groups], &[2, groups as i64]),
        ];
        let actual = execute(&inputs, 2 * k, [1, 1, 1], |s| {
            let (codes, high) = (s.view("codes"), s.view("high"));
            let w = QuantView::<F32>::new(code, 32, codes, s.view("scales"));
            let w = w.with_high(high).with_mins(s.view("mins")).with_zero(3);
            let out: ViewMut<F32, 1> = s.view_mut("out");
            out.tile(0, [2 * k]).store(w.load((0, 0), [2, k]).reshape([2 * k]));
        });
        let field = |bytes: &[u8], bits: usize, i: usize| {
            (0..bits)
                .map(|b| (bytes[(i * bits + b) / 8] >> ((i * bits + b) % 8) & 1) << b)
                .sum::<u8>()
        };
        let expected: Vec<f32> = (0..2 * k)
            .map(|i| {
                let q = field(&codes, low_bits, i) | field(&high, high_bits, i) << (low_bits % 8);
                let q = if code == QuantCode::I8 { f32::from(q as i8) } else { f32::from(q) };
                (q - 3.0) * scales[i / 32] + mins[i / 32]
            })
            .collect();
        assert_eq!(actual, expected, "{code:?}");
    }
}
