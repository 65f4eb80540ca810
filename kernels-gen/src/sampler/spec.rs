//! Contracts of the samplers.
//!
//! The order of the whole pipeline: logits in f32 → [`apply_bitmask`] → [`apply_logit_bias`] with −inf
//! for bad words and tokens that are not allowed yet → the same with finite biases →
//! [`apply_penalties`] → [`sample`]. The edits work in place on f32 logits; [`sample`] reads any float
//! dtype. Statuses: see [`Status`].

use tilewright_abi::{AttrSpec, AxisSpec, DType, OpSpec, Role, TensorSpec, Tolerance};

const FLOATS: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// What a row's status word says. Statuses of the edits are or-ed into the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// The row's id is a sample.
    Ok = 0,
    /// No token can be chosen: a NaN, or no token allowed. The id is −1.
    Invalid = 1,
    /// A parameter of the row is out of its range. The id is −1.
    BadParam = 2,
    /// An edit named a token outside the vocabulary; it was skipped.
    BadToken = 4,
}

fn axes() -> Vec<AxisSpec> {
    vec![
        AxisSpec::new("batch", "rows").bucketed(),
        AxisSpec::new("vocab", "tokens of the vocabulary").at_least(1),
    ]
}

fn with_axis(name: &str, doc: &str) -> Vec<AxisSpec> {
    let mut a = axes();
    a.push(AxisSpec::new(name, doc).bucketed());
    a
}

fn by_row(name: &str, dtype: DType) -> TensorSpec {
    TensorSpec::new(name, Role::In, &[dtype], &["batch"])
}

fn logits_in() -> TensorSpec {
    TensorSpec::new("logits", Role::In, &FLOATS, &["batch", "vocab"])
}

fn logits_edit() -> TensorSpec {
    TensorSpec::new("logits", Role::InOut, &[DType::F32], &["batch", "vocab"])
}

fn op(name: &str, doc: &str, axes: Vec<AxisSpec>, tensors: Vec<TensorSpec>) -> OpSpec {
    OpSpec {
        name: name.into(),
        doc: doc.into(),
        axes,
        tensors,
        scalars: vec![],
        attrs: vec![],
        constraints: vec![],
        tolerance: Tolerance::default(),
    }
}

/// Forbids the tokens whose bit is 0.
pub fn apply_bitmask() -> OpSpec {
    op(
        "sampler.apply_bitmask",
        "logits[b, t] = -inf where bit t % 32 of bitmask[b, t / 32] is 0",
        axes(),
        vec![
            logits_edit(),
            TensorSpec::new("bitmask", Role::In, &[DType::I32], &["batch", "ceil_div(vocab, 32)"]),
        ],
    )
}

/// Adds to single logits.
pub fn apply_logit_bias() -> OpSpec {
    op(
        "sampler.apply_logit_bias",
        "logits[b, bias_ids[b, i]] += bias_values[b, i] for i < bias_len[b]; -inf forbids the token. An \
         id outside the vocabulary is skipped and sets BadToken in status[b], which is otherwise left",
        with_axis("max_bias", "entries of a row"),
        vec![
            logits_edit(),
            TensorSpec::new("bias_ids", Role::In, &[DType::I32], &["batch", "max_bias"]),
            TensorSpec::new("bias_values", Role::In, &[DType::F32], &["batch", "max_bias"]),
            by_row("bias_len", DType::I32),
            TensorSpec::new("status", Role::InOut, &[DType::I32], &["batch"]),
        ],
    )
}

/// Repetition, frequency and presence penalties.
pub fn apply_penalties() -> OpSpec {
    op(
        "sampler.apply_penalties",
        "x = logits[b, t]. If the token is in the prompt or the output (prompt_counts or output_counts \
         > 0): x = x > 0 ? x / repetition : x * repetition. Then x -= frequency * output_counts, and \
         x -= presence where output_counts > 0",
        axes(),
        vec![
            logits_edit(),
            TensorSpec::new("prompt_counts", Role::In, &[DType::I32], &["batch", "vocab"]),
            TensorSpec::new("output_counts", Role::In, &[DType::I32], &["batch", "vocab"]),
            by_row("repetition", DType::F32),
            by_row("frequency", DType::F32),
            by_row("presence", DType::F32),
        ],
    )
}

/// The lowest index of the largest logit.
pub fn argmax() -> OpSpec {
    op(
        "sampler.argmax",
        "ids[b] = the first NaN's index if there is one, else the lowest index of the maximum",
        axes(),
        vec![logits_in(), TensorSpec::new("ids", Role::Out, &[DType::I32], &["batch"])],
    )
}

/// One token a row.
pub fn sample() -> OpSpec {
    op(
        "sampler.sample",
        "Temperature, min-p, top-k, top-p, then the Gumbel draw of numerics: the winner is the argmax \
         of logit / temperature + noise(seed, offset, token) over the tokens kept. temperature below \
         1e-5 is greedy; top_k <= 0 or >= vocab, top_p = 1 and min_p = 0 are off. A row's id and status \
         depend on nothing but the row: see Status. A row with +inf logits gives the first of them",
        axes(),
        vec![
            logits_in(),
            by_row("temperature", DType::F32),
            by_row("top_k", DType::I32),
            by_row("top_p", DType::F32),
            by_row("min_p", DType::F32),
            by_row("seed", DType::U64),
            by_row("offset", DType::U64),
            TensorSpec::new("ids", Role::Out, &[DType::I32], &["batch"]),
            TensorSpec::new("status", Role::Out, &[DType::I32], &["batch"]),
        ],
    )
}

/// Masks what min-p, top-k and top-p drop.
pub fn filter() -> OpSpec {
    op(
        "sampler.filter",
        "out[b, t] = logits[b, t] / temperature for the tokens that sampler.sample would draw from, \
         -inf for the others; a row that is not Ok is all -inf",
        axes(),
        vec![
            logits_in(),
            by_row("temperature", DType::F32),
            by_row("top_k", DType::I32),
            by_row("top_p", DType::F32),
            by_row("min_p", DType::F32),
            TensorSpec::new("out", Role::Out, &[DType::F32], &["batch", "vocab"]),
            TensorSpec::new("status", Role::Out, &[DType::I32], &["batch"]),
        ],
    )
}

/// The most likely tokens and the chosen one's rank.
pub fn top_logprobs() -> OpSpec {
    let mut s = op(
        "sampler.top_logprobs",
        "logprobs of the top_n most likely tokens of each row in descending order, ties by index (ids \
         -1 and -inf past the vocabulary), the logprob of token chosen[b] and its rank: the number of \
         tokens with a larger logit",
        with_axis("top_n", "tokens reported"),
        vec![
            logits_in(),
            by_row("chosen", DType::I32),
            TensorSpec::new("ids", Role::Out, &[DType::I32], &["batch", "top_n"]),
            TensorSpec::new("logprobs", Role::Out, &[DType::F32], &["batch", "top_n"]),
            TensorSpec::new("chosen_logprob", Role::Out, &[DType::F32], &["batch"]),
            TensorSpec::new("chosen_rank", Role::Out, &[DType::I32], &["batch"]),
        ],
    );
    s.tolerance = Tolerance { abs: 2e-5, rel: 1e-5, ulp: 0 };
    s
}

/// Accepts or replaces draft tokens.
pub fn rejection_sample() -> OpSpec {
    let mut s = op(
        "sampler.rejection_sample",
        "Draft token i of a row is accepted with probability min(1, p_i(x) / q_i(x)); the first that is \
         not is replaced by a draw from max(p - q, 0) (from p if that is all zero), and the row ends; \
         if all are accepted, a token is drawn from the last row of target_probs. mode = greedy accepts \
         on equality with the target's argmax. ids is -1 past the end, a draft of -1 is rejected. Position i \
         uses offset[b] + i",
        with_axis("draft_len", "draft tokens of a row"),
        vec![
            TensorSpec::new("draft_ids", Role::In, &[DType::I32], &["batch", "draft_len"]),
            TensorSpec::new(
                "draft_probs",
                Role::In,
                &[DType::F32],
                &["batch", "draft_len", "vocab"],
            ),
            TensorSpec::new(
                "target_probs",
                Role::In,
                &[DType::F32],
                &["batch", "draft_len + 1", "vocab"],
            ),
            by_row("seed", DType::U64),
            by_row("offset", DType::U64),
            TensorSpec::new("ids", Role::Out, &[DType::I32], &["batch", "draft_len + 1"]),
            TensorSpec::new("num_accepted", Role::Out, &[DType::I32], &["batch"]),
        ],
    );
    s.attrs = vec![AttrSpec::new("mode", &["standard", "greedy"])];
    s
}
