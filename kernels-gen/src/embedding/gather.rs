//! Rows of a float table: one program a token, one read and one write of the row.

use super::space::Gather;
use tilewright_dsl::prelude::*;

/// out[t, :] = table[ids[t], :].
#[kernel]
pub fn gather<T: Float, O: Float>(
    ids: View<I32, 1>,
    table: View<T, 2>,
    out: ViewMut<O, 2>,
    v: &Gather,
) {
    let token = program_id(0);
    let id = ids.get((token,)).cast::<I64>();
    for k in range(0, out.dim(1), v.block) {
        // An id outside the table is outside the view's bounds: the load gives zeros.
        let row = table.tile((id, k), [1, v.block]).load();
        out.tile((token, k), [1, v.block]).store(row.cast::<O>());
    }
}
