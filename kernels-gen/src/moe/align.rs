//! Slots in order of expert, each expert's padded to whole blocks, and the sum over a token's
//! slots.

use tilewright_dsl::prelude::*;

/// A counting sort by one program: counts, offsets, places. Slots keep their order within an
/// expert, so the result does not depend on how work is split. `next` is scratch of
/// `[num_experts]`.
#[kernel]
pub(super) fn align(
    topk_ids: View<I32, 1>,
    slots: ViewMut<I32, 1>,
    experts: ViewMut<I32, 1>,
    expert_offsets: ViewMut<I32, 1>,
    next: ViewMut<I32, 1>,
    block_m: Scalar<I64>,
) {
    let (num_slots, num_experts) = (topk_ids.dim(0), next.dim(0));
    for e in range(0, num_experts, 1) {
        next.set((e,), 0);
    }
    for s in range(0, num_slots, 1) {
        let e = topk_ids.get((s,));
        next.set((e,), next.get((e,)) + 1);
    }
    for i in range(0, slots.dim(0), 64) {
        slots.tile((i,), [64]).store(-1);
    }
    let mut block = konst::<I64>(0);
    let mut offset = konst::<I32>(0);
    for e in range(0, num_experts, 1) {
        let count = next.get((e,));
        expert_offsets.set((e,), offset);
        next.set((e,), (block * block_m).cast::<I32>());
        let end = block + (count.cast::<I64>() + block_m - 1) / block_m;
        for b in range(block, end, 1) {
            experts.set((b,), e.cast::<I32>());
        }
        block = end;
        offset += count;
    }
    expert_offsets.set((num_experts,), offset);
    for b in range(block, experts.dim(0), 1) {
        experts.set((b,), -1);
    }
    for s in range(0, num_slots, 1) {
        let e = topk_ids.get((s,));
        if e >= 0 && e < num_experts.cast::<I32>() {
            let place = next.get((e,));
            slots.set((place,), s.cast::<I32>());
            next.set((e,), place + 1);
        }
    }
}

/// `out[token] = Σ_j topk_weights[token, j] · c[token * top_k + j]`, in order of `j`, in f32.
#[kernel]
pub(super) fn combine<C: Float>(
    c: View<C, 2>,
    topk_weights: View<F32, 2>,
    out: ViewMut<C, 2>,
    block_n: usize,
) {
    let (token, top_k) = (program_id(0), topk_weights.dim(1));
    for n in range(0, c.dim(1), block_n) {
        let mut acc = zeros::<F32>([1, block_n]);
        for j in range(0, top_k, 1) {
            let row = c.tile((token * top_k + j, n), [1, block_n]).load().cast::<F32>();
            acc += row * topk_weights.get((token, j));
        }
        out.tile((token, n), [1, block_n]).store(acc.cast::<C>());
    }
}
