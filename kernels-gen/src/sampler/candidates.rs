//! The list of a row's candidates, and the exact cut through it.
//!
//! Candidates are the tokens that reach a bound below which nothing survives, in the order of their
//! indices. The cut is found by bisection on the order of floats, so nothing is sorted: a survivor has
//! a key above the cut's, or the cut's own and is among the first `ties` of those. Counts are exact, and
//! so are masses (they lie on a grid that f64 sums hold exactly), whatever their order.

use super::best::temper;
use super::scan::{BLOCK, block_of};
use crate::common::exact_math::{mass, order_key};
use tilewright_dsl::prelude::*;

/// Elements whose masses are summed at once.
const WIDTH: usize = 16;

/// One row's list: values and tokens in workspace.
#[derive(Clone, Copy)]
pub(super) struct Candidates {
    /// `[batch, vocab]`.
    pub(super) value: ViewMut<F32, 2>,
    /// `[batch, vocab]`.
    pub(super) token: ViewMut<I32, 2>,
    /// Which row.
    pub(super) row: Index,
    /// How many.
    pub(super) len: Index,
    /// The row's largest value.
    pub(super) highest: Scalar<F32>,
}

/// Which candidates survive.
#[derive(Clone, Copy, Carry)]
pub(super) struct Cut {
    /// Keys above it survive.
    pub(super) key: Scalar<I32>,
    /// As many with the key itself survive, in the order of the list.
    pub(super) ties: Scalar<I32>,
}

/// Lists the tokens of a row whose tempered logit reaches `bound`; gives their number.
#[kernel]
pub(super) fn list<X: Float>(
    logits: View<X, 2>,
    block_max: View<F32, 2>,
    value: ViewMut<F32, 2>,
    token: ViewMut<I32, 2>,
    row: Index,
    temperature: Option<Scalar<F32>>,
    bound: Scalar<F32>,
) -> Index {
    let tempered = |x: Tile<F32>| temperature.map_or(x, |t| temper(x, t));
    let mut len = konst::<I64>(0);
    for group in range(0, block_max.dim(1), BLOCK) {
        let maxima = block_max.tile((row, group), [1, BLOCK]).load_or(f32::NEG_INFINITY);
        let reached = tempered(maxima.reshape([BLOCK])).ge(bound);
        if reached.any_all() {
            let end = block_max.dim(1).min(group + BLOCK);
            for b in range(group, end, 1) {
                let own = tempered(full::<F32>([1], block_max.get((row, b)))).max_all();
                if own >= bound {
                    let y = tempered(block_of(logits, row, b)); // [BLOCK]
                    let kept = y.ge(bound) & y.gt(f32::NEG_INFINITY);
                    let places = select(kept, 1, 0).cumsum(0);
                    let at = select(kept, places + (len.cast::<I32>() - 1), -1);
                    let at = at.reshape([1, BLOCK]);
                    let id = iota::<I32>(BLOCK) + (b * BLOCK).cast::<I32>();
                    value.gather((row, at), [1, BLOCK]).store(y);
                    token.gather((row, at), [1, BLOCK]).store(id);
                    len += select::<I32, _>(kept, 1, 0).sum_all().cast::<I64>();
                }
            }
        }
    }
    len
}

impl Candidates {
    /// Values from `k` on, and which of them are in the list.
    pub(super) fn values(&self, k: Index, width: usize) -> (Tile<F32>, Tile<Bool>) {
        let y = self.value.tile((self.row, k), [1, width]).limit(1, self.len).load();
        let inside = (iota::<I64>(width) + k).lt(self.len);
        (y.reshape([width]), inside)
    }

    /// Tokens from `k` on.
    pub(super) fn tokens(&self, k: Index, width: usize) -> Tile<I32> {
        let t = self.token.tile((self.row, k), [1, width]).limit(1, self.len).load();
        t.reshape([width])
    }
}

/// The mass of one value.
fn mass_of(list: &Candidates, key: Scalar<I32>) -> Scalar<F64> {
    let y = crate::common::exact_math::from_order_key(key);
    mass(full::<F32>([8], y - list.highest)).max_all()
}

/// How many candidates have a key of at least `key`.
#[kernel]
fn count_from(list: &Candidates, key: Scalar<I32>) -> Scalar<I32> {
    let mut count = zeros::<I32>([BLOCK]);
    for k in range(0, list.len, BLOCK) {
        let (y, inside) = list.values(k, BLOCK);
        count += select(inside & order_key(y).ge(key), 1, 0);
    }
    count.sum_all()
}

/// The mass of the candidates with a key of at least `key`.
#[kernel]
fn mass_from(list: &Candidates, key: Scalar<I32>) -> Scalar<F64> {
    let mut sum = zeros::<F64>([WIDTH]);
    for k in range(0, list.len, WIDTH) {
        let (y, inside) = list.values(k, WIDTH);
        let counts = inside & order_key(y).ge(key);
        sum += select(counts, mass(y - list.highest), 0.0);
    }
    sum.sum_all()
}

/// The middle of two keys, rounded up.
fn middle(low: Scalar<I32>, high: Scalar<I32>) -> Scalar<I32> {
    let (low, high) = (low.cast::<I64>(), high.cast::<I64>());
    (low + (high - low + 1) / 2).cast::<I32>()
}

/// The cut of min-p: the least key whose value is not further than `floor` below the highest.
#[kernel]
pub(super) fn cut_min(list: &Candidates, floor: Scalar<F32>) -> Cut {
    let mut key = full::<I32>([BLOCK], i32::MAX);
    for k in range(0, list.len, BLOCK) {
        let (y, inside) = list.values(k, BLOCK);
        let kept = inside & (y - list.highest).ge(floor);
        key = key.min(select(kept, order_key(y), i32::MAX));
    }
    Cut { key: key.min_all(), ties: konst::<I32>(i32::MAX) }
}

/// The cut that leaves the `k` greatest of what `cut` leaves.
#[kernel]
pub(super) fn cut_k(list: &Candidates, cut: Cut, k: Scalar<I32>) -> Cut {
    let mut cut = cut;
    if count_from(list, cut.key) > k {
        let mut low = cut.key;
        let mut high = crate::common::exact_math::order_key_one(list.highest);
        while low < high {
            let mid = middle(low, high);
            let reached = count_from(list, mid).ge(k);
            low = select(reached, mid, low);
            high = select(reached, high, mid - 1);
        }
        cut = Cut { key: low, ties: k - count_from(list, low + 1) };
    }
    cut
}

/// The cut that leaves the shortest prefix with a mass of at least `p` of the total: `whole`, or what
/// `cut` leaves.
#[kernel]
pub(super) fn cut_p(list: &Candidates, cut: Cut, p: Scalar<F32>, whole: Option<Scalar<F64>>) -> Cut {
    let above = mass_from(list, cut.key + 1);
    let equal = count_from(list, cut.key) - count_from(list, cut.key + 1);
    let equal = equal.min(cut.ties);
    let listed = above + equal.cast::<F64>() * mass_of(list, cut.key);
    let target = p.cast::<F64>() * whole.unwrap_or(listed);
    let mut low = cut.key;
    let mut high = crate::common::exact_math::order_key_one(list.highest);
    while low < high {
        let mid = middle(low, high);
        let reached = mass_from(list, mid).ge(target);
        low = select(reached, mid, low);
        high = select(reached, high, mid - 1);
    }
    let mut ties = equal;
    if low > cut.key {
        ties = count_from(list, low) - count_from(list, low + 1);
    }
    // The fewest of the ties that reach the target: the quotient, right to within one.
    let above = mass_from(list, low + 1);
    let each = mass_of(list, low);
    let mut needed = ((target - above) / each).ceil();
    needed = select((above + (needed - 1.0) * each).ge(target), needed - 1.0, needed);
    needed = select((above + needed * each).lt(target), needed + 1.0, needed);
    let needed = needed.max(1.0).min(ties.cast::<F64>());
    Cut { key: low, ties: select(needed.ge(1.0), needed.cast::<I32>(), ties) }
}

/// Which candidates from `k` on survive `cut`, `tied` of the equal ones being before; and how many
/// equal ones are among them.
pub(super) fn survivors(
    list: &Candidates,
    cut: Cut,
    k: Index,
    width: usize,
    tied: Scalar<I32>,
) -> (Tile<F32>, Tile<Bool>, Scalar<I32>) {
    let (y, inside) = list.values(k, width);
    let key = order_key(y);
    let equal = inside & key.eq(cut.key);
    let rank = select(equal, 1, 0).cumsum(0) + tied;
    let kept = (inside & key.gt(cut.key)) | (equal & rank.le(cut.ties));
    (y, kept, tied + select(equal, 1, 0).sum_all())
}
