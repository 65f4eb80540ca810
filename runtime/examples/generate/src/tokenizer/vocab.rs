//! The vocabulary as the file has it, checked so that building a tokenizer from it cannot fail badly.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::gguf::Gguf;

/// How text becomes tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Byte-level BPE with a merge list (`gpt2`).
    ByteLevel,
    /// SentencePiece BPE with scores and byte fallback (`llama`).
    SentencePiece,
}

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Text,
    /// Never part of text: `<|im_start|>`.
    Control,
    /// Matched whole before anything else, but still text.
    UserDefined,
    /// One raw byte, `<0x0A>`.
    Byte,
}

/// Tokens, their kinds and the merges, in the order of their ranks.
pub(super) struct Vocab {
    pub(super) scheme: Scheme,
    pub(super) tokens: Vec<String>,
    pub(super) kinds: Vec<TokenKind>,
    pub(super) ids: HashMap<String, u32>,
    pub(super) merges: Vec<(String, String)>,
}

impl Vocab {
    pub(super) fn from_gguf(gguf: &Gguf) -> Result<Vocab> {
        let scheme = match gguf.string("tokenizer.ggml.model")? {
            Some("gpt2") => Scheme::ByteLevel,
            Some("llama") => Scheme::SentencePiece,
            Some(other) => {
                return Err(Error::unsupported(format!(
                    "tokenizer model `{other}`; `gpt2` and `llama` are supported"
                )));
            }
            None => return Err(missing("tokenizer.ggml.model")),
        };
        let tokens = gguf
            .strings("tokenizer.ggml.tokens")?
            .ok_or_else(|| missing("tokenizer.ggml.tokens"))?
            .to_vec();
        if tokens.is_empty() || tokens.len() > u32::MAX as usize {
            return Err(Error::malformed(format!("a vocabulary of {} tokens", tokens.len())));
        }
        let kinds = token_kinds(gguf, tokens.len())?;
        let mut ids = HashMap::with_capacity(tokens.len());
        for (id, token) in tokens.iter().enumerate() {
            // Where a file repeats a token the first id is the one that text maps to.
            ids.entry(token.clone()).or_insert(id as u32);
        }
        let merges = match scheme {
            Scheme::ByteLevel => listed_merges(gguf, &ids)?,
            Scheme::SentencePiece => scored_merges(gguf, &tokens, &kinds, &ids)?,
        };
        Ok(Vocab { scheme, tokens, kinds, ids, merges })
    }
}

fn missing(key: &str) -> Error {
    Error::malformed(format!("metadata key `{key}` is missing"))
}

fn token_kinds(gguf: &Gguf, num_tokens: usize) -> Result<Vec<TokenKind>> {
    let key = "tokenizer.ggml.token_type";
    let Some(numbers) = gguf.integers(key)? else {
        return Ok(vec![TokenKind::Text; num_tokens]);
    };
    if numbers.len() != num_tokens {
        return Err(Error::malformed(format!(
            "`{key}` has {} entries for {num_tokens} tokens",
            numbers.len()
        )));
    }
    Ok(numbers
        .iter()
        .map(|n| match n {
            3 => TokenKind::Control,
            4 => TokenKind::UserDefined,
            6 => TokenKind::Byte,
            _ => TokenKind::Text,
        })
        .collect())
}

/// The merge list of a byte-level vocabulary; each part and each result must be a token.
fn listed_merges(gguf: &Gguf, ids: &HashMap<String, u32>) -> Result<Vec<(String, String)>> {
    let key = "tokenizer.ggml.merges";
    let lines = gguf.strings(key)?.ok_or_else(|| missing(key))?;
    let mut joined = String::new();
    lines
        .iter()
        .enumerate()
        .map(|(i, line)| {
            let (a, b) = line.split_once(' ').ok_or_else(|| {
                Error::malformed(format!("entry {i} of `{key}` is {line:?}, without a space"))
            })?;
            joined.clear();
            joined.push_str(a);
            joined.push_str(b);
            match [a, b, joined.as_str()].into_iter().find(|part| !ids.contains_key(*part)) {
                Some(part) => Err(Error::malformed(format!(
                    "entry {i} of `{key}` is {line:?}, but {part:?} is not in the vocabulary"
                ))),
                None => Ok((a.to_owned(), b.to_owned())),
            }
        })
        .collect()
}

/// The merges that a SentencePiece vocabulary implies: every split of a token into two tokens, best
/// score first.
fn scored_merges(
    gguf: &Gguf,
    tokens: &[String],
    kinds: &[TokenKind],
    ids: &HashMap<String, u32>,
) -> Result<Vec<(String, String)>> {
    let key = "tokenizer.ggml.scores";
    let scores = gguf.floats(key)?.ok_or_else(|| missing(key))?;
    if scores.len() != tokens.len() {
        return Err(Error::malformed(format!(
            "`{key}` has {} entries for {} tokens",
            scores.len(),
            tokens.len()
        )));
    }
    let mut merges = Vec::new();
    for ((token, kind), score) in tokens.iter().zip(kinds).zip(scores) {
        if *kind != TokenKind::Text {
            continue;
        }
        for (cut, _) in token.char_indices().skip(1) {
            let (a, b) = token.split_at(cut);
            if let (Some(a_id), Some(b_id)) = (ids.get(a), ids.get(b)) {
                merges.push((*score, *a_id, *b_id, a, b));
            }
        }
    }
    merges.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)).then(x.2.cmp(&y.2)));
    Ok(merges.into_iter().map(|(_, _, _, a, b)| (a.to_owned(), b.to_owned())).collect())
}
