//! Which rows a program computes: a chunk of `a` in order, or the rows routed to one expert.
//!
//! The last tile of a chunk would pass the last row. It starts earlier instead, so that the inner
//! loop has no bound to check; the rows it shares with the tile before are computed again, to the
//! same bits, and not stored again. Routed rows are a list in which −1 stands for padding; it reads
//! row 0 and stores nothing.

use super::epilogue::{Epilogue, store, store_rows};
use super::space::Tiling;
use crate::common::format::PANEL_N;
use tilewright_dsl::prelude::*;

/// The rows of `a` that one register tile needs.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    first: Index,
    list: Option<Tile<I64>>,
    /// How many.
    pub(crate) block_m: usize,
}

impl Rows {
    /// `v[rows, col .. col + len]`, all inside.
    pub(crate) fn load<E: Elem>(&self, v: View<E, 2>, col: Index, len: usize) -> Tile<E> {
        let shape = [self.block_m, len];
        match self.list {
            Some(rows) => v.tile((rows, col), shape).inside().load(),
            None => v.tile((self.first, col), shape).inside().load(),
        }
    }

    /// As [`Rows::load`], with zeros past the view's last column.
    pub(crate) fn load_masked<E: Elem>(&self, v: View<E, 2>, col: Index, len: usize) -> Tile<E> {
        let shape = [self.block_m, len];
        match self.list {
            Some(rows) => v.tile((rows, col), shape).inside_axis(0).load(),
            None => v.tile((self.first, col), shape).inside_axis(0).load(),
        }
    }

    /// `v[rows]`, all inside.
    pub(crate) fn load_one<E: Elem>(&self, v: View<E, 1>) -> Tile<E> {
        match self.list {
            Some(rows) => v.tile((rows,), [self.block_m]).inside().load(),
            None => v.tile((self.first,), [self.block_m]).inside().load(),
        }
    }
}

/// Sums of a panel for some rows: one of the tile kernels with its operands.
pub(crate) type TileFn = dyn Fn(Rows, Index) -> Tile<F32>;

/// Program (p, chunk), for `m` at least `block_m`: `tile(rows, p)` gives the sums of panel `p` for
/// each register tile of rows.
#[kernel]
pub(crate) fn over_chunk<C: Float>(e: Epilogue<C>, t: Tiling, tile: &TileFn) {
    let (p, m) = (program_id(0), e.m());
    let m0 = program_id(1) * t.chunk_m;
    for first in range(m0, (m0 + t.chunk_m).min(m), t.block_m) {
        let start = first.min(m - t.block_m);
        let acc = tile(Rows { first: start, list: None, block_m: t.block_m }, p);
        if start == first {
            store(e, acc, first, p * PANEL_N);
        } else {
            let rows = iota::<I64>(t.block_m) + start;
            store_rows(e, acc, select(rows >= first, rows, -1), p * PANEL_N);
        }
    }
}

/// Which rows go to which expert, as `moe.align` lists them.
#[derive(Clone, Copy)]
pub(crate) struct Routing {
    /// Slots (row of `c`) in order of expert, each expert's padded with −1 to a multiple of
    /// `block_m`.
    slots: View<I32, 1>,
    /// Expert of each `block_m` slots; −1 past the last used block.
    experts: View<I32, 1>,
    /// Slots that share a row of `a`.
    slots_per_row: Scalar<I64>,
}

impl Routing {
    /// The routing's launch parameters.
    pub(crate) fn params(s: &mut Stage) -> Routing {
        Routing {
            slots: s.view("slots"),
            experts: s.view("experts"),
            slots_per_row: s.scalar("slots_per_row"),
        }
    }
}

/// Program (p, block): panel `p` of the block's expert for the block's slots.
#[kernel]
pub(crate) fn over_routed<C: Float>(e: Epilogue<C>, r: Routing, block_m: usize, tile: &TileFn) {
    let (p, block) = (program_id(0), program_id(1));
    let expert = r.experts.get((block,)).cast::<I64>();
    if expert >= 0 {
        let slots = r.slots.tile((block * block_m,), [block_m]).load().cast::<I64>();
        let rows = slots.max(0) / r.slots_per_row;
        let acc =
            tile(Rows { first: block, list: Some(rows), block_m }, expert * num_programs(0) + p);
        store_rows(e, acc, slots, p * PANEL_N);
    }
}
