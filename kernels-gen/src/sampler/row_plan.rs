//! What each row of a sample needs, from its parameters and its block maxima.

use super::best::temper_one;
use super::scan::{first_max, kth_bound};
use super::spec::Status;
use crate::common::exact_math::ln;
use tilewright_dsl::prelude::*;

/// The row has its id and status.
pub(super) const DONE: i32 = 0;
/// Nothing is filtered: the draw is over the whole vocabulary.
pub(super) const ALL: i32 = 1;
/// Filters apply: candidates are listed first.
pub(super) const LISTED: i32 = 2;
/// As [`LISTED`], and the mass of the whole vocabulary has to be known.
pub(super) const LISTED_BY_MASS: i32 = 3;

/// Per-row parameters.
#[derive(Clone, Copy)]
pub(super) struct Params {
    /// Below 1e-5: greedy.
    pub(super) temperature: View<F32, 1>,
    /// Off outside `1 .. vocab`.
    pub(super) top_k: View<I32, 1>,
    /// Off at 1.
    pub(super) top_p: View<F32, 1>,
    /// Off at 0.
    pub(super) min_p: View<F32, 1>,
}

impl Params {
    /// Declares them.
    pub(super) fn declare(s: &mut Stage) -> Params {
        Params {
            temperature: s.view("temperature"),
            top_k: s.view("top_k"),
            top_p: s.view("top_p"),
            min_p: s.view("min_p"),
        }
    }
}

/// Columns of the row state that is passed from launch to launch: the largest tempered logit, a bound
/// that every survivor reaches, and the least distance to the largest that min-p allows.
pub(super) const HIGHEST: usize = 0;
/// See [`HIGHEST`].
pub(super) const BOUND: usize = 1;
/// See [`HIGHEST`].
pub(super) const FLOOR: usize = 2;

/// modes[row], state[row, ..], and for rows that need no draw ids[row] and status[row].
#[kernel]
pub(super) fn row_plan<X: Float>(
    logits: View<X, 2>,
    block_max: View<F32, 2>,
    params: Params,
    modes: ViewMut<I32, 1>,
    state: ViewMut<F32, 2>,
    ids: ViewMut<I32, 1>,
    status: ViewMut<I32, 1>,
) {
    let row = program_id(0);
    let vocab = logits.dim(1).cast::<I32>();
    let (temperature, top_k) = (params.temperature.get((row,)), params.top_k.get((row,)));
    let (top_p, min_p) = (params.top_p.get((row,)), params.min_p.get((row,)));
    let in_unit = |v: Scalar<F32>| v.ge(0.0) & v.le(1.0);
    let valid = temperature.ge(0.0) & in_unit(top_p) & in_unit(min_p);
    let (highest, id) = first_max(logits, block_max, row);
    let none = highest.ne(highest) | highest.eq(f32::NEG_INFINITY);

    let mut mode = konst::<I32>(DONE);
    let mut chosen = konst::<I32>(-1);
    let mut code = konst::<I32>(Status::Ok as i32);
    if !valid {
        code = konst::<I32>(Status::BadParam as i32);
    } else if none {
        code = konst::<I32>(Status::Invalid as i32);
    } else if temperature < 1e-5 || highest == f32::INFINITY {
        chosen = id;
    } else {
        let m = temper_one(highest, temperature);
        let by_k = top_k.gt(0) & top_k.lt(vocab);
        let by_min = min_p.gt(0.0);
        let by_p = top_p.lt(1.0);
        // ln is exact at 1, so that min_p = 1 keeps the maximum and its ties alone.
        let floor = ln(full::<F32>([8], min_p.max(f32::MIN_POSITIVE))).max_all();
        let floor = select(by_min, floor, f32::NEG_INFINITY);
        let slack = (m.abs() - floor) * 1e-6 + f32::MIN_POSITIVE;
        let min_bound = select(by_min, m + floor - slack, f32::NEG_INFINITY);
        let mut k_bound = konst::<F32>(f32::NEG_INFINITY);
        if by_k {
            k_bound = temper_one(kth_bound(block_max, row, top_k, highest), temperature);
        }
        let bound = k_bound.max(min_bound);
        let whole = bound.eq(f32::NEG_INFINITY) & by_p & !by_k;
        let listed = select(whole, LISTED_BY_MASS, LISTED);
        mode = select(by_k | by_min | by_p, listed, ALL);
        state.set((row, HIGHEST), m);
        state.set((row, BOUND), bound);
        state.set((row, FLOOR), floor);
    }
    modes.set((row,), mode);
    status.set((row,), code);
    ids.set((row,), chosen);
}
