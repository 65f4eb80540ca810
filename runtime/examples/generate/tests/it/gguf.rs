//! The file reader against damaged files: every length field, every byte, every truncation.
//!
//! What is asked of it is an error that names what is wrong, or a header that is sound; never a panic.

use generate::config::LlamaConfig;
use generate::error::ErrorKind;
use generate::gguf::{Gguf, TensorType, Value};
use generate::tokenizer::Tokenizer;

use crate::support::writer::GgufWriter;

const TOKENS: &[&str] = &["<|end|>", "a", "b", "ab", "\u{120}"];

/// A file small enough to try every mutation of, with every kind of value in it.
fn small() -> GgufWriter {
    GgufWriter::default()
        .string("general.architecture", "llama")
        .u32("llama.block_count", 1)
        .u32("llama.context_length", 64)
        .u32("llama.embedding_length", 64)
        .u32("llama.feed_forward_length", 64)
        .u32("llama.attention.head_count", 1)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5)
        .string("tokenizer.ggml.model", "gpt2")
        .string("tokenizer.ggml.pre", "smollm")
        .strings("tokenizer.ggml.tokens", TOKENS)
        .i32s("tokenizer.ggml.token_type", &[3, 1, 1, 1, 1])
        .strings("tokenizer.ggml.merges", &["a b"])
        .u32("tokenizer.ggml.eos_token_id", 0)
        .boolean("tokenizer.ggml.add_bos_token", false)
        .f32s("x.floats", &[1.0, -2.0])
        .tensor("token_embd.weight", &[64, 5], 8, vec![0; 5 * 2 * 34])
        .tensor("output_norm.weight", &[64], 0, vec![0; 256])
}

fn file() -> (Vec<u8>, usize) {
    small().finish()
}

/// Everything that reads the header, so that nothing later trips over what the reader let through.
fn read_all(bytes: &[u8]) -> Option<()> {
    let gguf = Gguf::parse(bytes).ok()?;
    for t in gguf.tensors() {
        assert!(t.offset + t.bytes <= bytes.len(), "{t:?} lies outside the file");
    }
    let _ = LlamaConfig::from_gguf(&gguf);
    let tokenizer = Tokenizer::from_gguf(&gguf).ok()?;
    let ids = tokenizer.encode("ab <|end|>").ok()?;
    let _ = tokenizer.decode(&ids);
    Some(())
}

fn parse_error(bytes: &[u8]) -> String {
    Gguf::parse(bytes).expect_err("a damaged file").to_string()
}

/// Where `needle` starts in `haystack`.
fn find(haystack: &[u8], needle: &[u8]) -> usize {
    haystack.windows(needle.len()).position(|w| w == needle).expect("it is there")
}

#[test]
fn a_sound_file_is_read() {
    let (bytes, _) = file();
    let gguf = Gguf::parse(&bytes).expect("a sound file");
    assert_eq!(gguf.version(), 3);
    assert_eq!(gguf.get("x.floats"), Some(&Value::Floats(vec![1.0, -2.0])));
    let embedding = gguf.tensor("token_embd.weight").expect("the embedding");
    assert_eq!((embedding.row_elems(), embedding.num_rows(), embedding.row_bytes()), (64, 5, 68));
    assert_eq!(read_all(&bytes), Some(()));
    let config = LlamaConfig::from_gguf(&gguf).expect("a configuration");
    assert_eq!((config.head_dim, config.num_kv_heads, config.vocab_size), (64, 1, 5));
}

#[test]
fn every_truncation_is_an_error() {
    let (bytes, _) = file();
    for len in 0..bytes.len() {
        assert!(Gguf::parse(&bytes[..len]).is_err(), "{len} of {} bytes pass", bytes.len());
    }
}

#[test]
fn no_mutation_of_a_header_byte_panics() {
    let (bytes, header) = file();
    let mut copy = bytes.clone();
    for at in 0..header {
        let values = (0..=255u8).filter(|v| at % 4 == 0 || [0, 1, 9, 127, 255].contains(v));
        for value in values {
            copy[at] = value;
            read_all(&copy);
        }
        copy[at] = bytes[at];
    }
}

#[test]
fn no_lying_length_panics_or_allocates() {
    let (bytes, header) = file();
    let lies = [0, 1, 2, 9, 1 << 31, 1 << 32, u64::MAX / 8, u64::MAX / 2, u64::MAX - 7, u64::MAX];
    for at in 0..header - 8 {
        for lie in lies {
            let mut copy = bytes.clone();
            copy[at..at + 8].copy_from_slice(&lie.to_le_bytes());
            read_all(&copy);
        }
    }
}

#[test]
fn a_lying_length_is_named() {
    let (bytes, _) = file();
    let with = |at: usize, v: u64| {
        let mut copy = bytes.clone();
        copy[at..at + 8].copy_from_slice(&v.to_le_bytes());
        parse_error(&copy)
    };
    let e = with(8, u64::MAX);
    assert!(e.contains("the number of tensors at byte 8 is 18446744073709551615"), "{e}");
    let e = with(16, 1 << 40);
    assert!(e.contains("the number of metadata pairs at byte 16"), "{e}");
    let key = find(&bytes, b"general.architecture");
    let e = with(key - 8, 1 << 33);
    assert!(e.contains("metadata key 0") && e.contains("needs 8589934592 bytes"), "{e}");
    let tokens = find(&bytes, b"tokenizer.ggml.tokens") + "tokenizer.ggml.tokens".len();
    let e = with(tokens + 8, 1 << 50);
    assert!(e.contains("the length of the value of `tokenizer.ggml.tokens`"), "{e}");
    let tensor = find(&bytes, b"token_embd.weight") + "token_embd.weight".len();
    let e = with(tensor + 4, 63);
    assert!(e.contains("tensor `token_embd.weight` has rows of 63 elements"), "{e}");
    let e = with(tensor + 12, u64::MAX / 2);
    assert!(e.contains("tensor `token_embd.weight` of extents"), "{e}");
    let e = with(tensor + 12, 1 << 30);
    assert!(e.contains("needs 73014444032 bytes") && e.contains("cut short"), "{e}");
    let e = with(tensor + 24, 33);
    assert!(e.contains("starts at offset 33, not a multiple of the alignment 32"), "{e}");
    let e = with(tensor + 24, 1 << 62);
    assert!(e.contains("but the file ends at byte"), "{e}");
    let norm = find(&bytes, b"output_norm.weight") + "output_norm.weight".len();
    let e = with(norm + 16, 0);
    assert!(e.contains("overlap"), "{e}");
}

#[test]
fn what_is_wrong_with_a_header_is_named() {
    let message = |w: GgufWriter| parse_error(&w.finish().0);
    let e = message(small().u32("llama.block_count", 2));
    assert!(e.contains("metadata key `llama.block_count` appears twice"), "{e}");
    let e = message(small().tensor("output_norm.weight", &[64], 0, vec![0; 256]));
    assert!(e.contains("tensor `output_norm.weight` appears twice"), "{e}");
    let e = message(small().u32("general.alignment", 24));
    assert!(e.contains("`general.alignment` should be a power of two"), "{e}");
    let e = message(small().pair("k", 13, &[0]));
    assert!(e.contains("the value of `k` has type number 13"), "{e}");
    let e = message(small().pair("k", 7, &[2]));
    assert!(e.contains("is a bool but holds 2"), "{e}");
    let e = message(small().pair("k", 9, &[9, 0, 0, 0]));
    assert!(e.contains("array of arrays"), "{e}");
    let e = message(small().pair("k", 8, &[1, 0, 0, 0, 0, 0, 0, 0, 0xff]));
    assert!(e.contains("is not UTF-8"), "{e}");
    let e = message(small().tensor("t", &[0, 4], 0, vec![]));
    assert!(e.contains("tensor `t` has an extent of 0"), "{e}");
    let e = message(small().tensor("t", &[1, 1, 1, 1, 1], 0, vec![0; 4]));
    assert!(e.contains("tensor `t` has 5 dimensions"), "{e}");
    let e = message(small().tensor("t", &[32], 99, vec![0; 4]));
    assert!(e.contains("tensor `t` has the unknown type number 99"), "{e}");
    let (mut bytes, _) = file();
    bytes[4..8].copy_from_slice(&3u32.to_be_bytes());
    assert!(parse_error(&bytes).contains("big-endian"));
    bytes[4..8].copy_from_slice(&9u32.to_le_bytes());
    assert!(parse_error(&bytes).contains("GGUF version 9"));
    bytes[0] = b'X';
    assert!(parse_error(&bytes).contains("not a GGUF file"));
}

#[test]
fn other_architectures_and_contradictions_are_refused() {
    let error = |from: &str, to: &str| {
        let (mut bytes, _) = file();
        let at = find(&bytes, from.as_bytes());
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        let gguf = Gguf::parse(&bytes).expect("still a sound file");
        let e = LlamaConfig::from_gguf(&gguf).and_then(|_| Tokenizer::from_gguf(&gguf).map(drop));
        e.expect_err("not a model we run")
    };
    let e = error("llama", "mamba");
    assert_eq!(e.kind(), ErrorKind::Unsupported);
    assert!(e.message().contains("unknown architecture `mamba`"), "{e}");
    let e = error("llama.block_count", "llama.block_caunt");
    assert!(e.message().contains("`llama.block_count` is missing"), "{e}");
    let e = error("smollm", "wavrnn");
    assert!(e.message().contains("pre-tokenizer `wavrnn`"), "{e}");
    let e = error("gpt2", "bert");
    assert!(e.message().contains("tokenizer model `bert`"), "{e}");
    let e = error("a b", "a c");
    assert!(e.message().contains("\"c\" is not in the vocabulary"), "{e}");
    let e = error("a b", "a_b");
    assert!(e.message().contains("without a space"), "{e}");
}

#[test]
fn tensor_types_are_known_by_number_and_name() {
    for name in ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q4_K", "Q6_K"] {
        let ty = TensorType::from_name(name).expect("a known type");
        assert!(ty.is_supported());
        assert_eq!(TensorType::from_number(ty.number()), Some(ty));
    }
    let other = TensorType::from_name("IQ4_NL").expect("a known type");
    assert!(!other.is_supported());
}
