//! Matrix multiply-accumulate.

use crate::elem::Elem;
use crate::handle::Tile;
use crate::staging::emit;
use std::panic::Location;
use tilewright_ir::TileOp;

/// `acc + a · b`: `a` is `[M, K]`, `b` is `[K, N]`, `acc` is `[M, N]` of `F32` for float operands,
/// `F64` for `F64` operands, `I32` for integer operands of 8 or 4 bits.
#[track_caller]
pub fn mma<A: Elem, B: Elem, C: Elem>(a: Tile<A>, b: Tile<B>, acc: Tile<C>) -> Tile<C> {
    Tile::from_raw(emit(Location::caller(), |cx| TileOp::Mma {
        a: cx.get(a.raw),
        b: cx.get(b.raw),
        acc: cx.get(acc.raw),
    }))
}

/// As [`mma`], each group of `group` elements along K multiplied by its scales: `scale_a` is
/// `[M, K/group]`, `scale_b` is `[K/group, N]`.
#[track_caller]
pub fn mma_scaled<A: Elem, SA: Elem, B: Elem, SB: Elem, C: Elem>(
    a: Tile<A>,
    scale_a: Tile<SA>,
    b: Tile<B>,
    scale_b: Tile<SB>,
    acc: Tile<C>,
    group: usize,
) -> Tile<C> {
    Tile::from_raw(emit(Location::caller(), |cx| TileOp::MmaScaled {
        a: cx.get(a.raw),
        scale_a: cx.get(scale_a.raw),
        b: cx.get(b.raw),
        scale_b: cx.get(scale_b.raw),
        acc: cx.get(acc.raw),
        group,
    }))
}
