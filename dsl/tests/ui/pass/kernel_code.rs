//! Every form of kernel control flow.

use tilewright_dsl::prelude::*;

#[derive(Clone, Copy, Carry)]
struct Softmax {
    m: Tile<F32>,
    l: Tile<F32>,
    #[carry(host)]
    block: usize,
}

impl Softmax {
    fn neutral(block: usize) -> Softmax {
        Softmax { m: full([block], f64::NEG_INFINITY), l: zeros([block]), block }
    }

    #[kernel]
    fn update(&mut self, x: Tile<F32>) {
        let m = self.m.max(x);
        self.l = self.l * (self.m - m).exp() + (x - m).exp();
        self.m = m;
    }

    #[kernel]
    fn scan(&mut self, x: View<F32, 1>) {
        for k in range(0, x.dim(0), self.block) {
            if k > 5 {
                self.update(x.tile(k, [self.block]).load());
            }
        }
    }
}

#[derive(Clone, Copy, Carry)]
struct Pair<A, const N: usize>(A, [Scalar<F32>; N]);

#[kernel]
fn apply<E: Float>(t: Tile<E>, f: impl Fn(Tile<E>) -> Tile<E>) -> Tile<E> {
    f(t)
}

#[kernel]
fn bump(n: &mut Index, by: impl IntoIndex) {
    *n += by.into_index();
}

#[kernel]
fn all<E: Float>(x: View<F32, 1>, y: ViewMut<E, 1>, flag: bool)
where
    Tile<F32>: IntoOperand<F32>,
{
    let mut state = Softmax::neutral(8);
    state.scan(x);
    let (mut a, mut b) = (konst::<I64>(0), konst::<I64>(1));
    let mut pair = Pair(zeros::<F32>([8]), [konst(0.0); 2]);
    let mut opt = Some(konst::<I32>(7));
    let mut list = vec![zeros::<F32>([8]), zeros([8])];
    for k in range(0, x.dim(0), 8) {
        (a, b) = (b, a + b);
        for i in 0..2 {
            if i == 1 && flag {
                continue;
            }
            list[i] += x.tile(k, [8]).load();
            pair.1[i] += 1.0;
        }
        if let Some(o) = &mut opt {
            *o += 1;
        }
        if flag && k > 3 || !flag {
            pair.0 = pair.0 + list[0];
        } else if k != 4 {
            bump(&mut a, k);
        } else {
            bump(&mut b, 2);
        }
        let doubled = |t: Tile<F32>| {
            let mut u = t;
            if u.sum_all() > 1.0 {
                u += u;
            }
            u
        };
        pair.0 = apply(doubled(pair.0), |t| t.exp());
    }
    let state_ref = &mut state;
    let mut states = [*state_ref; 2];
    for k in range(0, 16, 8) {
        state_ref.update(x.tile(k, [8]).load());
        for s in &mut states {
            if k > 0 {
                s.update(zeros([8]));
            }
        }
    }
    for s in states.iter_mut() {
        for k in range(0, 16, 8) {
            s.update(x.tile(k, [8]).load());
        }
    }
    state.l += states[0].l;
    for k in a..b {
        let value = if 3 < k { list[0] } else { list[1] };
        let (p, q) = if k == 4 { (a, k) } else { (k, b) };
        y.tile(p + q, [8]).store((value + pair.0).cast());
    }
    while !(a >= b) && (flag || b < 100) {
        a += 1;
        let mut c = a;
        while c > 0 {
            c /= 2;
            pair.1[0] += 1.0;
        }
    }
    y.tile(a, [8]).store((state.m + state.l * pair.1[0]).cast());
    y.tile(opt.map_or(b, |o| o.cast()), [8]).store(list[1].cast());
}

fn main() {
    for flag in [false, true] {
        let func = stage("all", |s| all::<BF16>(s.view("x"), s.view_mut("y"), flag));
        match func {
            Ok(func) => assert!(func.insts.len() > 50),
            Err(messages) => panic!("{}", messages[0]),
        }
    }
}
