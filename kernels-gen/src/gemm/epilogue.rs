//! What is done to a tile of sums on its way out.

use crate::common::format::PANEL_N;
use tilewright_dsl::prelude::*;

/// Bias, residual and output. Which of the two are there is a number known at launch, so one
/// compiled kernel serves all four forms; the test stands once at the end of a tile.
#[derive(Clone, Copy)]
pub(crate) struct Epilogue<C: Elem> {
    /// `[n]`, read when `has_bias` is not 0.
    bias: View<F32, 1>,
    /// `[m, n]`, read when `has_residual` is not 0; may be the memory of `c`.
    residual: View<C, 2>,
    /// `[m, n]`.
    c: ViewMut<C, 2>,
    has_bias: Scalar<I64>,
    has_residual: Scalar<I64>,
}

impl<C: Float> Epilogue<C> {
    /// The epilogue's launch parameters.
    pub(crate) fn params(s: &mut Stage) -> Epilogue<C> {
        Epilogue {
            bias: s.view("bias"),
            residual: s.view("residual"),
            c: s.view_mut("c"),
            has_bias: s.scalar("has_bias"),
            has_residual: s.scalar("has_residual"),
        }
    }

    /// Rows of `c`.
    pub(crate) fn m(&self) -> Index {
        self.c.dim(0)
    }
}

/// Stores `acc [block_m, 16]`, whose first element is `c[m0, n0]`; columns outside `c` are dropped,
/// rows are inside.
#[kernel]
pub(crate) fn store<C: Float>(e: Epilogue<C>, acc: Tile<F32>, m0: Index, n0: Index) {
    let shape = [acc.extent(0), PANEL_N];
    let mut out = acc;
    if e.has_bias != 0 {
        out += e.bias.tile((n0,), [PANEL_N]).load().along(1, shape);
    }
    if e.has_residual != 0 {
        out += e.residual.tile((m0, n0), shape).inside_axis(0).load().cast::<F32>();
    }
    e.c.tile((m0, n0), shape).inside_axis(0).store(out.cast::<C>());
}

/// As [`store`], row `i` of `acc` to row `rows[i]` of `c`; a negative row is dropped.
#[kernel]
pub(crate) fn store_rows<C: Float>(e: Epilogue<C>, acc: Tile<F32>, rows: Tile<I64>, n0: Index) {
    let shape = [acc.extent(0), PANEL_N];
    let mut out = acc;
    if e.has_bias != 0 {
        out += e.bias.tile((n0,), [PANEL_N]).load().along(1, shape);
    }
    if e.has_residual != 0 {
        out += e.residual.tile((rows, n0), shape).load().cast::<F32>();
    }
    e.c.tile((rows, n0), shape).store(out.cast::<C>());
}
