//! Packers: a weight as a file holds it, to the panels that the GEMM kernels stream.
//!
//! One program packs one panel of 16 output columns, a block of `k` at a time: loads `[16, block]`,
//! permutes in registers, stores contiguous bytes. Rows past `n` load as zero, so their scales and
//! codes are zero. Traffic: the weight once in, once out.

mod block;
mod float;

use crate::common::format::{PANEL_N, Source};
use crate::{ImplDef, StageFn};
use block::{pack_q4, pack_q4_k, pack_q5, pack_q6_k, pack_q8};
use float::pack_plain;
use tilewright_abi::{Arg, Variant};
use tilewright_dsl::prelude::*;

/// Where the panels of one weight go in the packed buffer.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// First panel.
    pub(crate) start: Scalar<I64>,
    /// Panels from one to the next.
    pub(crate) step: Scalar<I64>,
}

impl Place {
    /// The buffer's panel for this program.
    fn panel(self) -> Index {
        self.start + self.step * program_id(0)
    }
}

fn place(s: &mut Stage) -> Place {
    Place { start: s.scalar("panel_start"), step: s.scalar("panel_step") }
}

fn stage_fn(source: Source) -> StageFn {
    Box::new(move || {
        stage(format!("gemm.pack_{}", source.name()), |s| match source {
            Source::F32 => pack_plain::<F32>(s.view("w"), s.view_mut("codes"), place(s), 1),
            Source::F16 => pack_plain::<F16>(s.view("w"), s.view_mut("codes"), place(s), 1),
            Source::BF16 => pack_plain::<BF16>(s.view("w"), s.view_mut("codes"), place(s), 2),
            Source::F8E4M3 => pack_plain::<F8E4M3>(s.view("w"), s.view_mut("codes"), place(s), 1),
            Source::I8 => pack_plain::<I8>(s.view("w"), s.view_mut("codes"), place(s), 4),
            Source::Q4_0 => {
                let (w, codes, scales) = (s.view("w"), s.view_mut("codes"), s.view_mut("scales"));
                pack_q4(w, codes, scales, None, place(s));
            }
            Source::Q4_1 => {
                let (w, codes, scales) = (s.view("w"), s.view_mut("codes"), s.view_mut("scales"));
                pack_q4(w, codes, scales, Some(s.view_mut("mins")), place(s));
            }
            Source::Q5_0 => {
                let (w, codes, scales) = (s.view("w"), s.view_mut("codes"), s.view_mut("scales"));
                pack_q5(w, codes, scales, place(s));
            }
            Source::Q8_0 => {
                let (w, codes, scales) = (s.view("w"), s.view_mut("codes"), s.view_mut("scales"));
                pack_q8(w, codes, scales, place(s));
            }
            Source::Q4K => {
                let (w, codes, scales) = (s.view("w"), s.view_mut("codes"), s.view_mut("scales"));
                let (mins, supers) = (s.view_mut("mins"), s.view_mut("supers"));
                pack_q4_k(w, codes, scales, mins, supers, place(s));
            }
            Source::Q6K => {
                let (w, codes, scales) = (s.view("w"), s.view_mut("codes"), s.view_mut("scales"));
                pack_q6_k(w, codes, scales, s.view_mut("supers"), place(s));
            }
        })
    })
}

/// The implementation of `gemm.pack_<source>`.
pub(crate) fn impls(source: Source) -> Vec<ImplDef> {
    let p = source.packed();
    let mut args = vec![Arg::tensor("w"), Arg::tensor("codes")];
    if p.group().is_some() {
        args.push(Arg::tensor("scales"));
    }
    if p.mins().is_some() {
        args.push(Arg::tensor("mins"));
    }
    if p.supers() > 0 {
        args.push(Arg::tensor("supers"));
    }
    args.extend([Arg::scalar("panel_start"), Arg::scalar("panel_step")]);
    let def = ImplDef::new("panels", Variant::new());
    let (kernel, stage) = kernel(source);
    vec![def.launch(kernel, stage, args, &[&format!("ceil_div(n, {PANEL_N})")])]
}

/// The packing kernel's name and staging.
pub(super) fn kernel(source: Source) -> (String, StageFn) {
    (format!("gemm.pack_{}.panels", source.name()), stage_fn(source))
}

/// `[16, len]` codes of consecutive `k` to `[1, 16 * len]` in groups of `group`:
/// `[len/group][16][group]`.
pub(crate) fn interleave<E: Elem>(t: Tile<E>, len: usize, group: usize) -> Tile<E> {
    t.reshape([PANEL_N, len / group, group]).permute([1, 0, 2]).reshape([1, PANEL_N * len])
}

/// Codes of 4 bits `[16, len]`, one to a byte, to `[1, 8 * len]` bytes of two.
pub(crate) fn interleave_nibbles(t: Tile<U8>, len: usize) -> Tile<U8> {
    let pairs = t.reshape([PANEL_N, len / 8, 2, 4]).permute([1, 0, 3, 2]); // [len/8, 16, 4, 2]
    let (low, high) = pairs.split();
    (low | (high << 4)).reshape([1, PANEL_N / 2 * len])
}
