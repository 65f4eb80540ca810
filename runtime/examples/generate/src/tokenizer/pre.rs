//! Pre-tokenizers by the name the file gives them: how text is cut before merging.

use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{PreTokenizerWrapper, SplitDelimiterBehavior};

use crate::error::{Error, ErrorKind, Result};

/// Llama 3: case-blind contractions, digits in threes, newlines kept with what they follow.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// A named way to cut text.
pub(super) struct PreTokenizer {
    pub(super) wrapper: PreTokenizerWrapper,
    /// Whether a piece that is a token itself is taken whole, whatever the merges say.
    pub(super) ignore_merges: bool,
    /// Whether a prompt starts with the start token when the file does not say.
    pub(super) add_bos: bool,
}

/// The pre-tokenizer the file calls `name`.
pub(super) fn by_name(name: &str) -> Result<PreTokenizer> {
    let gpt2 = || ByteLevel::new(false, false, true).into();
    match name {
        "gpt-2" | "default" | "olmo" => {
            Ok(PreTokenizer { wrapper: gpt2(), ignore_merges: false, add_bos: false })
        }
        "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" => {
            let digits = Digits::new(true).into();
            let wrapper = Sequence::new(vec![digits, gpt2()]).into();
            Ok(PreTokenizer { wrapper, ignore_merges: false, add_bos: false })
        }
        "llama-bpe" | "llama3" | "llama-v3" => {
            let pattern = SplitPattern::Regex(LLAMA3.to_owned());
            let split =
                Split::new(pattern, SplitDelimiterBehavior::Isolated, false).map_err(|e| {
                    Error::new(ErrorKind::Runtime, "cannot compile a pattern").with_source(e)
                })?;
            let bytes = ByteLevel::new(false, false, false).into();
            let wrapper = Sequence::new(vec![split.into(), bytes]).into();
            Ok(PreTokenizer { wrapper, ignore_merges: true, add_bos: true })
        }
        other => Err(Error::unsupported(format!(
            "pre-tokenizer `{other}` (`tokenizer.ggml.pre`); `gpt-2`, `smollm` and `llama-bpe` and their \
             aliases are supported"
        ))),
    }
}
