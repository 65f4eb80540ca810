//! Quantised panels as the GEMM kernels read them: codes, scales and minima of a group.

use crate::common::format::{PANEL_N, Packed};
use tilewright_dsl::prelude::*;

/// Weights that share an activation scale; every quantised format's groups divide it.
pub(crate) const GROUP: usize = 32;

/// A packed weight. `B` is the type of the codes, `S` of the group scales.
#[derive(Clone, Copy)]
pub(crate) struct Weight<B: Elem, S: Elem> {
    /// Which format the views hold.
    pub(crate) format: Packed,
    codes: View<B, 2>,
    scales: View<S, 2>,
    mins: Option<View<S, 2>>,
    supers: Option<View<F16, 2>>,
}

impl<B: Int + Bits, S: Number> Weight<B, S> {
    /// The weight's launch parameters, in the order of the op's spec.
    pub(crate) fn params(s: &mut Stage, format: Packed) -> Weight<B, S> {
        Weight {
            format,
            codes: s.view("b"),
            scales: s.view("scale_b"),
            mins: format.mins().is_some().then(|| s.view("min_b")),
            supers: (format.supers() > 0).then(|| s.view("super_b")),
        }
    }

    /// Codes of the `len` weights from `k` of panel `p`, `[len, 16]`; `k` and `len` are multiples
    /// of 8.
    pub(crate) fn codes(&self, p: Index, k: Index, len: usize) -> Tile<B> {
        if self.format.is_nibbles() {
            let at = self.codes.tile((p, k * (PANEL_N / 2)), [1, PANEL_N / 2 * len]);
            let bytes = at.inside().load().reshape([len / 8, PANEL_N, 4]);
            let both = join(bytes & 15, bytes >> 4); // [len/8, 16, 4, 2]
            both.permute([0, 3, 2, 1]).reshape([len, PANEL_N])
        } else {
            let at = self.codes.tile((p, k * PANEL_N), [1, PANEL_N * len]);
            let quads = at.inside().load().reshape([len / 4, PANEL_N, 4]);
            quads.permute([0, 2, 1]).reshape([len, PANEL_N])
        }
    }

    /// Scales of the group that holds weight `k` of panel `p`, `[16]`.
    pub(crate) fn scale(&self, p: Index, k: Index) -> Tile<F32> {
        self.factor(self.scales, p, k, 0)
    }

    /// What the group adds to each weight whatever its code, `[16]`, if the format has that.
    pub(crate) fn min(&self, p: Index, k: Index) -> Option<Tile<F32>> {
        let min = self.mins.map(|mins| self.factor(mins, p, k, 1))?;
        Some(if self.format == Packed::Q4K { -min } else { min })
    }

    /// The code that stands for zero.
    pub(crate) fn zero_point(&self) -> f32 {
        if self.format == Packed::Q4_0 { 8.0 } else { 0.0 }
    }

    /// Weights that share a scale.
    pub(crate) fn group(&self) -> usize {
        self.format.group().unwrap_or(GROUP)
    }

    /// One row of `v`, times the super-scale of `row` where there is one.
    fn factor(&self, v: View<S, 2>, p: Index, k: Index, row: usize) -> Tile<F32> {
        let own = row_of(v, p, k / self.group()).cast::<F32>();
        match self.supers {
            Some(supers) => {
                let at = k / 256 * self.format.supers() + row;
                row_of(supers, p, at).cast::<F32>() * own
            }
            None => own,
        }
    }
}

/// Row `row` of 16 of panel `p`.
fn row_of<S: Elem>(v: View<S, 2>, p: Index, row: Index) -> Tile<S> {
    v.tile((p, row * PANEL_N), [1, PANEL_N]).inside().load().reshape([PANEL_N])
}
