//! Edits of f32 logits in place: bitmask, biases, penalties. Nothing outside the vocabulary is touched.

use super::scan::{BLOCK, CHUNK};
use super::spec::Status;
use tilewright_dsl::prelude::*;

/// Tokens of one word of the bitmask.
const WORD: usize = 32;

/// −inf where the token's bit is 0: a chunk of a row a program; words of ones cost one read.
#[kernel]
pub(super) fn apply_bitmask(logits: ViewMut<F32, 2>, bitmask: View<I32, 2>) {
    let (chunk, row) = (program_id(0), program_id(1));
    let first = chunk * (CHUNK / WORD);
    for w in range(first, bitmask.dim(1).min(first + CHUNK / WORD), 1) {
        let word = bitmask.get((row, w));
        if word != -1 {
            let bits = (word.splat([WORD]).bitcast::<U32>() >> iota::<U32>(WORD)) & 1; // [WORD]
            let place = logits.tile((row, w * WORD), [1, WORD]);
            let x = place.load().reshape([WORD]);
            place.store(select(bits.eq(1), x, f32::NEG_INFINITY));
        }
    }
}

/// Adds a row's biases one after the other, so that a token may be named twice.
#[kernel]
pub(super) fn apply_logit_bias(
    logits: ViewMut<F32, 2>,
    bias_ids: View<I32, 2>,
    bias_values: View<F32, 2>,
    bias_len: View<I32, 1>,
    status: ViewMut<I32, 1>,
) {
    let row = program_id(0);
    let vocab = logits.dim(1);
    let len = bias_len.get((row,)).cast::<I64>().min(bias_ids.dim(1));
    let mut code = status.get((row,));
    for i in range(0, len, 1) {
        let id = bias_ids.get((row, i)).cast::<I64>();
        if id >= 0 && id < vocab {
            logits.set((row, id), logits.get((row, id)) + bias_values.get((row, i)));
        } else {
            code |= Status::BadToken as i32;
        }
    }
    status.set((row,), code);
}

/// Repetition, then frequency, then presence: a chunk of a row a program.
#[kernel]
pub(super) fn apply_penalties(
    logits: ViewMut<F32, 2>,
    prompt_counts: View<I32, 2>,
    output_counts: View<I32, 2>,
    repetition: View<F32, 1>,
    frequency: View<F32, 1>,
    presence: View<F32, 1>,
) {
    let (chunk, row) = (program_id(0), program_id(1));
    let (repetition, frequency) = (repetition.get((row,)), frequency.get((row,)));
    let presence = presence.get((row,));
    let first = chunk * CHUNK;
    for k in range(first, logits.dim(1).min(first + CHUNK), BLOCK) {
        let prompt = prompt_counts.tile((row, k), [1, BLOCK]).load().reshape([BLOCK]);
        let output = output_counts.tile((row, k), [1, BLOCK]).load().reshape([BLOCK]);
        let in_output = output.gt(0);
        let seen = in_output | prompt.gt(0);
        if seen.any_all() {
            let place = logits.tile((row, k), [1, BLOCK]);
            let x = place.load().reshape([BLOCK]);
            let scaled = select(x.gt(0.0), x / repetition, x * repetition);
            let x = select(seen, scaled, x) - output.cast::<F32>() * frequency;
            place.store(select(in_output, x - presence, x));
        }
    }
}
