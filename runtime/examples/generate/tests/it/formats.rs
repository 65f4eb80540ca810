//! Small models in every supported type and shape, against the f64 model; and files that are refused.

use generate::args::Activations;
use generate::error::{Error, ErrorKind};
use generate::model::{Model, Request};
use generate::sampling::Sampling;

use crate::support::oracle::Oracle;
use crate::support::relative_error;
use crate::support::run::{TempModel, load, logits};
use crate::support::small::{Rope, Small};

fn check(name: &str, small: Small) {
    let temp = TempModel::new(name, &small.write(""));
    let file = temp.open();
    let oracle = Oracle::new(&file);
    let prompts = [vec![3, 1, 4, 1, 5, 9, 2, 6], vec![300], (0..70).collect()];
    let follow = [vec![11, 12, 13], vec![21, 22, 23], vec![31, 32, 33]];
    // Random weights spread the rounding of int8 codes wider than trained ones do.
    for (activations, limit) in [(Activations::F32, 1e-4), (Activations::Int8, 1e-1)] {
        let model = load(&file, 2, activations);
        let steps = logits(&model, &prompts, &follow, 3);
        for (row, (prompt, follow)) in prompts.iter().zip(&follow).enumerate() {
            let ids: Vec<u32> = prompt.iter().chain(follow).copied().collect();
            let want = oracle.logits(&ids, 4);
            for (step, want) in want.iter().enumerate() {
                let error = relative_error(&steps[step][row], want);
                assert!(
                    error <= limit,
                    "{name} {activations:?} prompt {row} step {step}: relative error {error:.2e}"
                );
            }
        }
    }
}

#[test]
fn every_float_type_agrees_with_the_f64_model() {
    for ty in ["F32", "F16", "BF16"] {
        check(ty, Small::of(ty));
    }
}

#[test]
fn every_block_type_agrees_with_the_f64_model() {
    for ty in ["Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q4_K", "Q6_K"] {
        check(ty, Small::of(ty));
    }
}

#[test]
fn mixed_types_and_an_untied_output_agree_with_the_f64_model() {
    let mixed = Small { value_ty: "Q6_K", untied: true, ..Small::of("Q4_K") };
    check("mixed", mixed);
    check("mixed-floats", Small { value_ty: "F16", untied: true, ..Small::of("Q8_0") });
}

#[test]
fn other_head_shapes_agree_with_the_f64_model() {
    check("d128", Small { heads: 2, kv_heads: 1, head_dim: 128, ..Small::BASE });
    check("d80", Small { heads: 2, kv_heads: 2, head_dim: 80, ..Small::BASE });
    check("d96", Small { heads: 3, kv_heads: 1, head_dim: 96, ..Small::BASE });
}

#[test]
fn stretched_positions_agree_with_the_f64_model() {
    check("linear", Small { rope: Rope::Linear, ..Small::BASE });
    check("divisors", Small { rope: Rope::Divisors, ..Small::BASE });
}

fn refused(name: &str, bytes: &[u8]) -> Error {
    let file = TempModel::new(name, bytes).open();
    let rt = generate::run::runtime(1, |_| {}).expect("the CPU");
    let mut packed = 0;
    let loaded = Model::load(rt, &file, Activations::Int8, &mut |bytes| packed = bytes);
    assert_eq!(packed, 0, "{name}: nothing is packed before the file is checked");
    loaded.map(|_| ()).expect_err("not a model we run")
}

#[test]
fn unfit_tensors_are_named_before_packing() {
    let e = refused("type", &Small { value_ty: "IQ4_NL", ..Small::BASE }.write(""));
    assert_eq!(e.kind(), ErrorKind::Unsupported);
    assert!(e.message().contains("tensor `blk.0.attn_v.weight` has type IQ4_NL"), "{e}");
    let e = refused("missing", &Small::BASE.write("blk.1.ffn_up.weight"));
    assert!(e.message().contains("tensor `blk.1.ffn_up.weight` is missing"), "{e}");
    let mut bytes = Small::BASE.write("");
    let at = bytes.windows(16).position(|w| w == b"blk.1.ffn_up.wei").expect("the name");
    bytes[at + 6..at + 12].copy_from_slice(b"odd_up");
    let e = refused("extra", &bytes);
    assert!(e.message().contains("ffn_up.weight` is missing"), "{e}");
}

#[test]
fn prompts_that_do_not_fit_are_refused() {
    let temp = TempModel::new("prompts", &Small::BASE.write(""));
    let model = load(&temp.open(), 1, Activations::F32);
    let error = |prompts: &[Vec<u32>]| {
        let request = Request { prompts, max_tokens: 4, sampling: Sampling::GREEDY };
        let e = model.session(request).map(|_| ()).expect_err("prompts that do not fit");
        assert_eq!(e.kind(), ErrorKind::Usage);
        e.message().to_owned()
    };
    assert!(error(&[]).contains("no prompt"));
    assert!(error(&[vec![1], vec![]]).contains("prompt 2 has no tokens"));
    assert!(
        error(&[vec![0; 129]]).contains("prompt 1 has 129 tokens, but the model's context has 128")
    );
    assert!(error(&[vec![304]]).contains("token 304 is not in the vocabulary"));
}

#[test]
fn generation_ends_with_the_context() {
    let temp = TempModel::new("context", &Small::BASE.write(""));
    let model = load(&temp.open(), 1, Activations::F32);
    let prompts = [vec![5; 126], vec![7; 128]];
    let request = Request { prompts: &prompts, max_tokens: 50, sampling: Sampling::GREEDY };
    let mut session = model.session(request).expect("a session");
    assert!(session.prefill(&|| true).expect("a prefill"));
    while session.step().expect("a step") {}
    assert_eq!((session.generated(0), session.generated(1)), (3, 1));
}
