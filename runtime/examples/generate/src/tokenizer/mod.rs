//! Text to token ids and back, from the vocabulary and merges in the model file.
//!
//! In: a checked GGUF header. Out: ids equal to those the model was trained with; special tokens that
//! stand in a prompt become their ids. Text comes back through [`TextStream`], byte by byte as needed.

mod bytes;
mod pre;
mod vocab;

use std::collections::BTreeSet;

use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::{Prepend, Replace, Sequence};
use tokenizers::{AddedToken, NormalizerWrapper};

use crate::error::{Error, ErrorKind, Result};
use crate::gguf::Gguf;
use vocab::{Scheme, TokenKind, Vocab};

pub use bytes::TextStream;

/// Tokens that end an answer, by name, beside the one the metadata gives.
const END_TOKENS: &[&str] =
    &["<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "<|end|>", "</s>"];

/// A tokenizer built from a model file.
#[derive(Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// The text of every token, as bytes.
    bytes: Vec<Vec<u8>>,
    bos: Option<u32>,
    end: BTreeSet<u32>,
}

impl Tokenizer {
    /// Builds the tokenizer the file describes.
    pub fn from_gguf(gguf: &Gguf) -> Result<Tokenizer> {
        let vocab = Vocab::from_gguf(gguf)?;
        let Vocab { scheme, tokens, kinds, ids, merges } = vocab;
        let end = end_tokens(gguf, &tokens, &kinds)?;
        let bytes =
            tokens.iter().zip(&kinds).map(|(t, k)| bytes::token_bytes(t, *k, scheme)).collect();
        let pre = match scheme {
            Scheme::ByteLevel => {
                Some(pre::by_name(gguf.string("tokenizer.ggml.pre")?.unwrap_or("default"))?)
            }
            Scheme::SentencePiece => None,
        };
        let add_bos = match gguf.boolean("tokenizer.ggml.add_bos_token")? {
            Some(given) => given,
            None => pre.as_ref().is_none_or(|p| p.add_bos),
        };
        let bos = token_id(gguf, "tokenizer.ggml.bos_token_id", tokens.len())?.filter(|_| add_bos);
        let model = BPE::builder()
            .vocab_and_merges(ids.into_iter().collect::<tokenizers::models::bpe::Vocab>(), merges)
            .byte_fallback(scheme == Scheme::SentencePiece)
            .ignore_merges(pre.as_ref().is_some_and(|p| p.ignore_merges))
            .build()
            .map_err(|e| Error::malformed("the vocabulary makes no tokenizer").with_source(e))?;
        let mut inner = tokenizers::Tokenizer::new(model);
        match pre {
            Some(pre) => {
                inner.with_pre_tokenizer(Some(pre.wrapper));
            }
            None => {
                let prefix = gguf.boolean("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
                inner
                    .with_normalizer(Some(sentence_piece_normalizer(prefix)?))
                    .map_err(internal)?;
            }
        }
        let added = tokens.iter().zip(&kinds).filter_map(|(token, kind)| match kind {
            TokenKind::Control if !token.is_empty() => Some((token, true)),
            TokenKind::UserDefined if !token.is_empty() => Some((token, false)),
            _ => None,
        });
        let added: Vec<AddedToken> = added
            .map(|(token, special)| AddedToken::from(token.clone(), special).normalized(false))
            .collect();
        inner.add_tokens(added).map_err(internal)?;
        Ok(Tokenizer { inner, bytes, bos, end })
    }

    /// The ids of `text`, with the start token in front where the model wants one.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self
            .inner
            .encode_fast(text, false)
            .map_err(|e| Error::usage("cannot tokenize the prompt").with_source(e))?;
        let text_ids = encoding.get_ids();
        let bos = self.bos.filter(|bos| text_ids.first() != Some(bos));
        Ok(bos.into_iter().chain(text_ids.iter().copied()).collect())
    }

    /// The bytes a token adds to the text; a control token adds none.
    pub fn bytes(&self, id: u32) -> &[u8] {
        self.bytes.get(id as usize).map_or(&[], Vec::as_slice)
    }

    /// The text of `ids`.
    pub fn decode(&self, ids: &[u32]) -> String {
        let mut stream = TextStream::default();
        let mut text: String = ids.iter().map(|id| stream.push(self.bytes(*id))).collect();
        text.push_str(&stream.finish());
        text
    }

    /// Whether this token ends an answer.
    pub fn is_end(&self, id: u32) -> bool {
        self.end.contains(&id)
    }

    /// The id of a token by its exact text, special tokens included.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }
}

fn internal(e: tokenizers::Error) -> Error {
    Error::new(ErrorKind::Runtime, "cannot build the tokenizer").with_source(e)
}

/// A token id from metadata; an id outside the vocabulary is an error.
fn token_id(gguf: &Gguf, key: &str, num_tokens: usize) -> Result<Option<u32>> {
    match gguf.unsigned(key)? {
        Some(id) if id >= num_tokens as u64 => Err(Error::malformed(format!(
            "`{key}` is {id}, but the vocabulary has {num_tokens} tokens"
        ))),
        id => Ok(id.map(|id| id as u32)),
    }
}

fn end_tokens(gguf: &Gguf, tokens: &[String], kinds: &[TokenKind]) -> Result<BTreeSet<u32>> {
    let mut end = BTreeSet::new();
    for key in ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"] {
        end.extend(token_id(gguf, key, tokens.len())?);
    }
    for (id, (token, kind)) in tokens.iter().zip(kinds).enumerate() {
        if *kind == TokenKind::Control && END_TOKENS.contains(&token.as_str()) {
            end.insert(id as u32);
        }
    }
    Ok(end)
}

/// SentencePiece writes a space as U+2581 and starts text with one.
fn sentence_piece_normalizer(prefix: bool) -> Result<NormalizerWrapper> {
    let space = Replace::new(" ", "\u{2581}").map_err(internal)?.into();
    let mut steps: Vec<NormalizerWrapper> = Vec::new();
    if prefix {
        steps.push(Prepend::new("\u{2581}".to_owned()).into());
    }
    steps.push(space);
    Ok(Sequence::new(steps).into())
}
