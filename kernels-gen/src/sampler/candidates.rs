//! The list of a row's candidates, and the exact cut through it.
//!
//! Candidates are the tokens that reach a bound below which nothing survives, in the order of their
//! indices. The cut is found by bisection on the order of floats, so nothing is sorted: a survivor has
//! a key above the cut's, or the cut's own and is among the first `ties` of those. Counts are exact, and
//! so are masses (they lie on a grid that f64 sums hold exactly), whatever their order.

use super::best::temper;
use super::scan::{BLOCK, piece_of};
use crate::common::exact_math::{exp, from_order_key, mass, on_grid, order_key, order_key_one};
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
    /// `[batch, vocab]`: exp(value − highest), once a cut by mass has noted it.
    pub(super) weight: ViewMut<F32, 2>,
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
                    for k in range(b * BLOCK, (b + 1) * BLOCK, WIDTH) {
                        let y = tempered(piece_of(logits, row, k, WIDTH)); // [WIDTH]
                        let kept = y.ge(bound) & y.gt(f32::NEG_INFINITY);
                        if kept.any_all() {
                            let places = select(kept, 1, 0).cumsum(0);
                            let at = select(kept, places + (len.cast::<I32>() - 1), -1);
                            let at = at.reshape([1, WIDTH]);
                            let id = iota::<I32>(WIDTH) + k.cast::<I32>();
                            value.gather((row, at), [1, WIDTH]).store(y);
                            token.gather((row, at), [1, WIDTH]).store(id);
                            len += select::<I32, _>(kept, 1, 0).sum_all().cast::<I64>();
                        }
                    }
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
    let y = from_order_key(key);
    mass(full::<F32>([8], y - list.highest)).max_all()
}

/// One probe of a bisection: what the candidates with a key of at least `key` amount to, and the keys
/// of candidates next to it.
#[derive(Clone, Copy)]
struct Probe<E> {
    amount: Scalar<E>,
    /// The least key at or above.
    at_least: Scalar<I32>,
    /// The greatest key below.
    below: Scalar<I32>,
}

/// How many candidates have a key of at least `key`.
#[kernel]
fn count_from(list: &Candidates, key: Scalar<I32>) -> Probe<I32> {
    let mut count = zeros::<I32>([BLOCK]);
    let mut at_least = full::<I32>([BLOCK], i32::MAX);
    let mut below = full::<I32>([BLOCK], i32::MIN);
    for k in range(0, list.len, BLOCK) {
        let (y, inside) = list.values(k, BLOCK);
        let own = order_key(y);
        let (high, low) = (inside & own.ge(key), inside & own.lt(key));
        count += select(high, 1, 0);
        at_least = at_least.min(select(high, own, i32::MAX));
        below = below.max(select(low, own, i32::MIN));
    }
    Probe { amount: count.sum_all(), at_least: at_least.min_all(), below: below.max_all() }
}

/// The mass of the candidates with a key of at least `key`, from their weights.
#[kernel]
fn mass_from(list: &Candidates, key: Scalar<I32>) -> Probe<F64> {
    let mut sum = zeros::<F64>([WIDTH]);
    let mut at_least = full::<I32>([WIDTH], i32::MAX);
    let mut below = full::<I32>([WIDTH], i32::MIN);
    for k in range(0, list.len, WIDTH) {
        let (y, inside) = list.values(k, WIDTH);
        let own = order_key(y);
        let (high, low) = (inside & own.ge(key), inside & own.lt(key));
        let weight = list.weight.tile((list.row, k), [1, WIDTH]).limit(1, list.len).load();
        sum += on_grid(select(high, weight.reshape([WIDTH]), 0.0));
        at_least = at_least.min(select(high, own, i32::MAX));
        below = below.max(select(low, own, i32::MIN));
    }
    Probe { amount: sum.sum_all(), at_least: at_least.min_all(), below: below.max_all() }
}

/// Notes each candidate's weight, exp(value − highest).
#[kernel]
fn weigh(list: &Candidates) {
    for k in range(0, list.len, WIDTH) {
        let (y, _) = list.values(k, WIDTH);
        let place = list.weight.tile((list.row, k), [1, WIDTH]).limit(1, list.len);
        place.store(exp(y - list.highest));
    }
}

/// The middle of two keys, rounded up.
fn middle(low: Scalar<I32>, high: Scalar<I32>) -> Scalar<I32> {
    let (low, high) = (low.cast::<I64>(), high.cast::<I64>());
    (low + (high - low + 1) / 2).cast::<I32>()
}

/// The greatest key of a candidate between `low` and `high` (keys of candidates, the first of which will
/// do) from which on the candidates amount to enough. Both ends move to keys that exist, so a run of
/// equal candidates ends it at once.
#[kernel]
fn bisect<E: Number>(
    low: Scalar<I32>,
    high: Scalar<I32>,
    probe: impl Fn(Scalar<I32>) -> Probe<E>,
    enough: Scalar<E>,
) -> Scalar<I32> {
    let (mut low, mut high) = (low, high);
    while low < high {
        let found = probe(middle(low, high));
        let reached = found.amount.ge(enough);
        low = select(reached, found.at_least, low);
        high = select(reached, high, found.below);
    }
    low
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
    if count_from(list, cut.key).amount > k {
        let highest = order_key_one(list.highest);
        let key = bisect(cut.key, highest, |key| count_from(list, key), k);
        cut = Cut { key, ties: k - count_from(list, key + 1).amount };
    }
    cut
}

/// The cut that leaves the shortest prefix with a mass of at least `p` of the total: `whole`, or what
/// `cut` leaves.
#[kernel]
pub(super) fn cut_p(
    list: &Candidates,
    cut: Cut,
    p: Scalar<F32>,
    whole: Option<Scalar<F64>>,
) -> Cut {
    weigh(list);
    let above = mass_from(list, cut.key + 1).amount;
    let equal = count_from(list, cut.key).amount - count_from(list, cut.key + 1).amount;
    let equal = equal.min(cut.ties);
    let listed = above + equal.cast::<F64>() * mass_of(list, cut.key);
    let target = p.cast::<F64>() * whole.unwrap_or(listed);
    let highest = order_key_one(list.highest);
    let low = bisect(cut.key, highest, |key| mass_from(list, key), target);
    let mut ties = equal;
    if low > cut.key {
        ties = count_from(list, low).amount - count_from(list, low + 1).amount;
    }
    // The fewest of the ties that reach the target: the quotient, right to within one.
    let above = mass_from(list, low + 1).amount;
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
