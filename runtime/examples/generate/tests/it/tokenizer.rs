//! Token ids of the demo model's tokenizer equal the reference; text comes back unchanged.

use crate::support;
use crate::support::writer::GgufWriter;
use generate::gguf::Gguf;
use generate::tokenizer::Tokenizer;

#[test]
fn ids_equal_the_reference_and_decode_to_the_text() {
    let file = support::open_model();
    let tokenizer = Tokenizer::from_gguf(file.gguf()).expect("a tokenizer");
    for r in support::references() {
        let ids = tokenizer.encode(&r.prompt).expect("ids");
        assert_eq!(ids, r.ids, "{:?}", r.prompt);
        let text: String = r.prompt.replace("<|im_start|>", "").replace("<|im_end|>", "");
        assert_eq!(tokenizer.decode(&ids), text);
        assert_eq!(tokenizer.decode(&r.greedy), r.text);
    }
    let end = tokenizer.id("<|im_end|>").expect("the end of a turn");
    assert!(tokenizer.is_end(end) && !tokenizer.is_end(504));
    assert_eq!(tokenizer.encode("").expect("nothing"), Vec::<u32>::new());
}

/// A tokenizer from metadata alone.
fn built(w: GgufWriter) -> Tokenizer {
    let (bytes, _) = w.finish();
    Tokenizer::from_gguf(&Gguf::parse(&bytes).expect("a sound file")).expect("a tokenizer")
}

#[test]
fn sentence_piece_vocabularies_merge_by_score_and_fall_back_to_bytes() {
    let pieces = ["\u{2581}", "a", "b", "\u{2581}a", "ab", "\u{2581}ab"];
    let mut tokens: Vec<String> = ["<unk>", "<s>", "</s>"].map(str::to_owned).to_vec();
    tokens.extend((0..256).map(|b| format!("<0x{b:02X}>")));
    tokens.extend(pieces.map(str::to_owned));
    let mut kinds = vec![2, 3, 3];
    kinds.resize(3 + 256, 6);
    kinds.resize(tokens.len(), 1);
    let mut scores = vec![0.0; 3 + 256];
    scores.extend([-9.0, -9.0, -9.0, -3.0, -1.0, -2.0]);
    let tokenizer = built(
        GgufWriter::default()
            .string("tokenizer.ggml.model", "llama")
            .strings("tokenizer.ggml.tokens", &tokens)
            .i32s("tokenizer.ggml.token_type", &kinds)
            .f32s("tokenizer.ggml.scores", &scores)
            .u32("tokenizer.ggml.bos_token_id", 1)
            .u32("tokenizer.ggml.eos_token_id", 2),
    );
    let first = 3 + 256;
    let byte = |b: u32| 3 + b;
    let ids = tokenizer.encode("ab \u{e9}ba").expect("ids");
    let want = [1, first + 5, first, byte(0xc3), byte(0xa9), first + 2, first + 1];
    assert_eq!(ids, want);
    assert_eq!(tokenizer.decode(&ids), " ab \u{e9}ba");
    assert!(tokenizer.is_end(2));
}

#[test]
fn llama_3_vocabularies_cut_digits_in_threes_and_take_whole_tokens() {
    let tokens =
        ["<|end_of_text|>", "<|begin_of_text|>", "1", "2", "3", "4", "12", "34", "123", "x"];
    let tokenizer = built(
        GgufWriter::default()
            .string("tokenizer.ggml.model", "gpt2")
            .string("tokenizer.ggml.pre", "llama-bpe")
            .strings("tokenizer.ggml.tokens", &tokens)
            .i32s("tokenizer.ggml.token_type", &[3, 3, 1, 1, 1, 1, 1, 1, 1, 1])
            .strings("tokenizer.ggml.merges", &["1 2", "3 4"])
            .u32("tokenizer.ggml.bos_token_id", 1),
    );
    assert_eq!(tokenizer.encode("1234x").expect("ids"), [1, 8, 5, 9]);
    assert_eq!(tokenizer.encode("<|begin_of_text|>34").expect("ids"), [1, 7]);
    assert!(tokenizer.is_end(0));
}
