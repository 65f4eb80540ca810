//! The running softmax of a block of query rows.
//!
//! Scores come as register tiles of `[rows, sub]` keys, values as `[sub, sub]` pieces of the head; the
//! output is one `[rows, sub]` tile for each piece. The sum of weights is kept lane by lane and folded
//! once at the end. Every product with −inf is avoided by a neutral maximum of 0, so rows without keys
//! stay (0, −inf).

use super::space::Attention;
use tilewright_dsl::prelude::*;

/// (m_i, l_i, out) of `rows` query rows.
#[derive(Clone, Carry)]
pub struct State {
    m_i: Tile<F32>,
    l_i: Tile<F32>,
    out: Vec<Tile<F32>>,
}

/// The op's scalars.
#[derive(Clone, Copy)]
pub struct Scales {
    /// Multiplies q·k.
    pub sm_scale: Scalar<F32>,
    /// `c · tanh(x / c)` where c > 0.
    pub soft_cap: Scalar<F32>,
    /// Keys seen besides the query's own position; negative: all.
    pub window_left: Scalar<I32>,
    /// What the cache's keys were divided by.
    pub k_scale: Scalar<F32>,
    /// What the cache's values were divided by.
    pub v_scale: Scalar<F32>,
}

/// What changes scores before the softmax.
#[derive(Clone, Copy)]
pub struct Rules {
    /// sm_scale · k_scale.
    pub scale: Scalar<F32>,
    /// `c · tanh(x / c)` where c > 0.
    pub soft_cap: Scalar<F32>,
    /// Keys further back than this are not seen.
    pub window: Scalar<I32>,
    /// Keys further ahead than this are not seen.
    pub ahead: Scalar<I32>,
}

/// Further than any key is from any query, and no sum with a position overflows.
const FAR: i32 = 1 << 30;

impl Scales {
    /// The rules; `causal` hides later keys.
    pub fn rules(&self, causal: Scalar<Bool>) -> Rules {
        let window = select(self.window_left.lt(0), FAR, self.window_left.min(FAR));
        let ahead = select(causal, 0, FAR);
        Rules { scale: self.sm_scale * self.k_scale, soft_cap: self.soft_cap, window, ahead }
    }
}

/// Scaled, capped and masked scores of keys `n0 ..` of one register tile. `last` is each row's own
/// position; keys at or past `end` do not exist.
#[kernel]
pub fn finish_scores(
    dots: Tile<F32>,
    n0: Index,
    last: Tile<I32>,
    end: Scalar<I32>,
    rules: &Rules,
    v: &Attention,
) -> Tile<F32> {
    let shape = [v.rows, v.sub];
    let mut x = dots * rules.scale; // [rows, sub]
    if rules.soft_cap > 0.0 {
        x = (x / rules.soft_cap).tanh() * rules.soft_cap;
    }
    let n = (iota::<I32>(v.sub) + n0.cast::<I32>()).along(1, shape);
    let last = last.along(0, shape);
    let seen = n.lt(end) & n.ge(last - rules.window) & n.le(last + rules.ahead);
    select(seen, x, f32::NEG_INFINITY)
}

impl State {
    /// (0, −inf) for each row.
    pub fn neutral(v: &Attention) -> State {
        let out = (0..v.head_dim / v.sub).map(|_| zeros::<F32>([v.rows, v.sub])).collect();
        let m_i = full::<F32>([v.rows], f32::NEG_INFINITY);
        State { m_i, l_i: zeros::<F32>([v.rows, v.sub]), out }
    }

    /// Takes in scores `[rows, sub]` of consecutive keys; `value(j, d)` reads the values of the keys of
    /// score tile j, elements from d on, as `[sub, sub]`. Weights are rounded by `round` before they
    /// meet values; their sum is not.
    pub fn update(
        &mut self,
        scores: &[Tile<F32>],
        value: impl Fn(usize, usize) -> Tile<F32>,
        round: impl Fn(Tile<F32>) -> Tile<F32>,
        v: &Attention,
    ) {
        let shape = [v.rows, v.sub];
        let Some((first, rest)) = scores.split_first() else { return };
        let highest = rest.iter().fold(*first, |a, b| a.max(*b)).max_axis(1); // [rows]
        let m = self.m_i.max(highest);
        let base = select(m.eq(f32::NEG_INFINITY), 0.0, m);
        let keep = (self.m_i - base).exp().along(0, shape);
        let base = base.along(0, shape);
        let weights: Vec<Tile<F32>> = scores.iter().map(|s| (*s - base).exp()).collect();
        self.l_i = weights.iter().fold(self.l_i * keep, |l, w| l + *w);
        self.m_i = m;
        let weights: Vec<Tile<F32>> = weights.into_iter().map(round).collect();
        for (piece, out) in self.out.iter_mut().enumerate() {
            let mut acc = *out * keep; // [rows, sub]
            for (j, w) in weights.iter().enumerate() {
                acc = mma(*w, value(j, piece * v.sub), acc);
            }
            *out = acc;
        }
    }

    /// Writes the rows: `store(d, tile)` takes the output's elements from d on, `[rows, sub]`;
    /// `store_lse` the natural log of the sums, `[rows]`. A sink, one a row, counts in the denominator only.
    pub fn store(
        &self,
        v_scale: Scalar<F32>,
        sink: Option<Tile<F32>>,
        store: impl Fn(usize, Tile<F32>),
        store_lse: impl FnOnce(Tile<F32>),
        v: &Attention,
    ) {
        let l = self.l_i.sum(1); // [rows]
        let empty = l.eq(0.0);
        let denominator = sink.map_or(l, |s| l + (s - self.m_i).exp());
        let factor = select(empty, 0.0, v_scale / denominator).along(0, [v.rows, v.sub]);
        for (piece, out) in self.out.iter().enumerate() {
            store(piece * v.sub, *out * factor);
        }
        store_lse(select(empty, f32::NEG_INFINITY, self.m_i + l.ln()));
    }
}
