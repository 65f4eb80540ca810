//! The best of many (score, token) pairs, ties to the lowest token; and the tempered logit.

use tilewright_dsl::prelude::*;

/// A running maximum, lane by lane. A NaN score never wins.
#[derive(Clone, Copy, Carry)]
pub(super) struct Best {
    score: Tile<F32>,
    token: Tile<I32>,
}

/// The token of a [`Best`] that nothing was offered to.
const NONE: i32 = i32::MAX;

impl Best {
    /// Nothing yet; `width` pairs are offered at once.
    pub(super) fn none(width: usize) -> Best {
        Best { score: full::<F32>([width], f32::NEG_INFINITY), token: full::<I32>([width], NONE) }
    }

    /// Takes in pairs whose tokens are above all before.
    pub(super) fn offer(&mut self, score: Tile<F32>, token: Tile<I32>) {
        let better = score.gt(self.score);
        self.score = select(better, score, self.score);
        self.token = select(better, token, self.token);
    }

    /// The best score so far.
    pub(super) fn score(&self) -> Scalar<F32> {
        self.score.max_all()
    }

    /// The best token; −1 if no score was above −inf.
    pub(super) fn token(&self) -> Scalar<I32> {
        let token = select(self.score.eq(self.score()), self.token, NONE).min_all();
        select(token.eq(NONE), -1, token)
    }
}

/// x / temperature, within the finite range, −0 as 0; −inf stays.
pub(super) fn temper(x: Tile<F32>, temperature: Scalar<F32>) -> Tile<F32> {
    let y = (x / temperature).max(f32::MIN).min(f32::MAX) + 0.0;
    select(x.eq(f32::NEG_INFINITY), f32::NEG_INFINITY, y)
}

/// [`temper`] of one logit.
pub(super) fn temper_one(x: Scalar<F32>, temperature: Scalar<F32>) -> Scalar<F32> {
    let y = (x / temperature).max(f32::MIN).min(f32::MAX) + 0.0;
    select(x.eq(f32::NEG_INFINITY), f32::NEG_INFINITY, y)
}

/// The key and the first two counter words of a row's draws.
#[derive(Clone, Copy)]
pub(super) struct Draws {
    seed: Scalar<U64>,
    low: Scalar<U32>,
    high: Scalar<U32>,
}

impl Draws {
    /// The draws of (seed, offset).
    pub(super) fn new(seed: Scalar<U64>, offset: Scalar<U64>) -> Draws {
        Draws { seed, low: offset.cast::<U32>(), high: (offset >> 32).cast::<U32>() }
    }

    /// The Gumbel noise of tokens.
    pub(super) fn noise(&self, token: Tile<I32>) -> Tile<F32> {
        let r = philox(self.seed, self.low, self.high, token.bitcast::<U32>(), 0);
        crate::common::exact_math::gumbel(r)
    }

    /// A number in (0, 1) that no token's noise uses.
    pub(super) fn uniform(&self) -> Scalar<F32> {
        let r = philox(self.seed, self.low, self.high, zeros::<U32>([1]), 1);
        crate::common::exact_math::uniform(r).max_all()
    }
}
