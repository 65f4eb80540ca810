//! How the next token is chosen; the choice itself is a kernel's.

/// Parameters of the samplers, the same for each prompt of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// What logits are divided by; 0 is greedy.
    pub temperature: f32,
    /// How many tokens are kept; 0 or below is off.
    pub top_k: i32,
    /// The mass that is kept; 1 is off.
    pub top_p: f32,
    /// The share of the largest probability that a token must have; 0 is off.
    pub min_p: f32,
    /// The key of the draws.
    pub seed: u64,
}

impl Sampling {
    /// Always the most likely token.
    pub const GREEDY: Sampling =
        Sampling { temperature: 0.0, top_k: 0, top_p: 1.0, min_p: 0.0, seed: 0 };
}
