//! Rust that a kernel may contain besides its own control flow.

use tilewright_dsl::prelude::*;

trait Activation {
    const GAIN: f64;

    #[kernel]
    fn apply<E: Float>(&self, t: Tile<E>) -> Tile<E> {
        let mut t = t;
        for _ in range(0, 2, 1) {
            t *= Self::GAIN;
        }
        t
    }

    fn name(self: &Self) -> String;
}

#[derive(Clone, Copy, Default)]
struct Doubling;

impl Activation for Doubling {
    const GAIN: f64 = 2.0;

    #[kernel]
    fn name(self: &Self) -> String {
        String::from("doubling")
    }
}

/// A return type that cannot be written on a closure.
#[kernel]
fn scaled(by: f64) -> impl Fn(Tile<F32>) -> Tile<F32> {
    move |t| if by > 1.0 { t * by } else { t }
}

#[kernel]
fn first<'a, E: Elem>(tiles: &'a [Tile<E>], at: usize) -> &'a Tile<E> {
    if at > 3 {
        return &tiles[0];
    }
    &tiles[at]
}

#[kernel]
fn elided(tiles: &[Tile<F32>]) -> &Tile<F32> {
    first(tiles, 0)
}

struct Steps(Vec<Result<usize, String>>);

impl Steps {
    #[kernel]
    fn total(self: &mut Self, x: View<F32, 1>) -> Result<Scalar<F32>, String> {
        let mut sum = konst(0.0);
        while let Some(step) = self.0.pop() {
            let step = step?;
            if step == 0 {
                continue;
            }
            sum += x.get(step);
        }
        Ok(sum)
    }
}

#[kernel]
fn corners(x: View<F32, 1>, y: ViewMut<F32, 1>, (lo, hi): (usize, usize), mode: u8) -> Option<()> {
    const LANES: usize = if 4 > 3 { 8 } else { 4 };
    fn plain(n: usize) -> bool {
        n > 2 && n < 10
    }
    let late;
    late = hi - lo;
    let t = x.tile(lo, [LANES]).load();
    let kind = match (mode, late) {
        (0, n) if n > 4 && plain(n) => "wide",
        (0..=3, _) => "narrow",
        _ => return None,
    };
    let t = 'pick: {
        if kind == "wide" {
            break 'pick t;
        }
        -t
    };
    let mut rows = Vec::new();
    let mut more = 0..4;
    while more.next()? < 2 {
        rows.push(t);
    }
    let t = rows.iter().fold(t, |a, b| a + *b);
    let activation = Doubling;
    let t = scaled(2.0)(activation.apply(t));
    let mut acc = *elided(&[t]);
    let acc_ref = &mut acc;
    for k in range(0, x.dim(0), LANES) {
        let x = x.tile(k, [LANES]).load();
        *acc_ref += if x.sum_all() >= 0.0 { x } else { -x };
        let k = k + 1;
        let kind = if k % 2 == 0 { acc_ref.exp() } else { x };
        *acc_ref = select(kind.gt(0.0), *acc_ref, kind);
    }
    let negative = !(acc.sum_all() > 0.0);
    let both = negative | konst(true);
    if both == false {
        acc = acc.abs();
    }
    let u8s = b"abc".iter().map(|b| *b >= b'b').filter(|b| *b || mode == 9).count();
    assert_eq!(u8s, 2, "{kind}");
    y.tile(0, [LANES]).store(acc);
    Some(())
}

fn main() {
    let func = stage("corners", |s| {
        let (x, y) = (s.view("x"), s.view_mut("y"));
        assert!(corners(x, y, (0, 8), 0).is_some());
        assert!(corners(x, y, (0, 8), 7).is_none());
        assert!(Steps(vec![Ok(1), Ok(0)]).total(x).is_ok());
        assert!(Steps(vec![Ok(1), Err("no".into())]).total(x).is_err());
        assert_eq!(Doubling.name(), "doubling");
    });
    if let Err(messages) = func {
        panic!("{}", messages[0]);
    }
}
