//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};

use crate::sampling::Sampling;

/// Answers prompts with a Llama-architecture model from a GGUF file.
///
/// Weights may be F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q8_0, Q4_K or Q6_K. Several prompts are answered as
/// one batch. Text goes to standard output; progress and speed go to standard error.
#[derive(Clone, Debug, Parser)]
#[command(name = "generate", version, max_term_width = 100)]
pub struct Cli {
    /// The model, a GGUF file
    pub model: PathBuf,

    /// A prompt; give it several times for a batch
    #[arg(short, long = "prompt", value_name = "TEXT")]
    pub prompts: Vec<String>,

    /// A file whose whole text is a prompt; may be repeated
    #[arg(long = "prompt-file", value_name = "FILE")]
    pub prompt_files: Vec<PathBuf>,

    /// How many tokens to generate at most for each prompt
    #[arg(short = 'n', long = "tokens", value_name = "N", default_value_t = 128)]
    pub max_tokens: usize,

    /// Puts prompts into the model's chat form; the default where the file has a chat template
    #[arg(long, conflicts_with = "raw")]
    pub chat: bool,

    /// Continues prompts as they are; special tokens in them count
    #[arg(long)]
    pub raw: bool,

    /// The system message of the chat form
    #[arg(long, value_name = "TEXT", conflicts_with = "raw")]
    pub system: Option<String>,

    /// Goes on after the token that ends an answer
    #[arg(long)]
    pub ignore_end: bool,

    /// How to choose the next token
    #[command(flatten)]
    pub sampling: SamplingArgs,

    /// What activations are multiplied as: `int8` is fast, `f32` follows the weights exactly
    #[arg(long, value_enum, default_value_t = Activations::Int8)]
    pub activations: Activations,

    /// Threads to compute with; 0 takes one for each core
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub threads: usize,

    /// Prints nothing but the text
    #[arg(short, long)]
    pub quiet: bool,

    /// Prints what the runtime has to say, such as the variants it takes
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// How to choose the next token.
#[derive(Clone, Debug, Args)]
pub struct SamplingArgs {
    /// Always takes the most likely token; the same as `--temp 0`
    #[arg(long, conflicts_with = "temp")]
    pub greedy: bool,

    /// Divides the logits; below 1 is bolder, above 1 wilder, 0 is greedy
    #[arg(long, value_name = "T", default_value_t = 0.7, value_parser = temperature)]
    #[arg(allow_negative_numbers = true)]
    pub temp: f32,

    /// Draws from the K most likely tokens; 0 is off
    #[arg(long, value_name = "K", default_value_t = 40)]
    pub top_k: i32,

    /// Draws from the fewest tokens that together have probability P; 1 is off
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = fraction)]
    pub top_p: f32,

    /// Drops tokens less likely than P times the most likely one; 0 is off
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = fraction)]
    pub min_p: f32,

    /// The seed of the draws; the same seed gives the same text
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

/// What activations are multiplied as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Activations {
    /// Exact products of dequantised weights, sums in f32.
    F32,
    /// Activations in groups of 32 int8 codes with a scale.
    Int8,
}

impl SamplingArgs {
    /// The parameters of the samplers.
    pub fn sampling(&self) -> Sampling {
        let temperature = if self.greedy { 0.0 } else { self.temp };
        let SamplingArgs { top_k, top_p, min_p, seed, .. } = *self;
        Sampling { temperature, top_k, top_p, min_p, seed }
    }
}

fn number(text: &str) -> Result<f32, String> {
    text.parse().map_err(|_| "not a number".to_owned())
}

fn temperature(text: &str) -> Result<f32, String> {
    number(text).and_then(|v| if v >= 0.0 { Ok(v) } else { Err("must be 0 or above".to_owned()) })
}

fn fraction(text: &str) -> Result<f32, String> {
    let inside = |v: &f32| (0.0..=1.0).contains(v);
    number(text).and_then(|v| Some(v).filter(inside).ok_or("must be between 0 and 1".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn prompts_repeat_and_bad_values_are_refused() {
        let parse = |args: &[&str]| {
            Cli::try_parse_from(["generate", "m.gguf"].iter().chain(args))
                .map_err(|e| e.to_string())
        };
        let cli = parse(&["-p", "a", "--prompt", "b", "-n", "3", "--greedy"]).expect("a batch");
        assert_eq!((cli.prompts.len(), cli.max_tokens), (2, 3));
        assert_eq!(cli.sampling.sampling().temperature, 0.0);
        assert!(parse(&["--temp", "-1"]).is_err_and(|e| e.contains("must be 0 or above")));
        assert!(parse(&["--temp", "nan"]).is_err_and(|e| e.contains("must be 0 or above")));
        assert!(parse(&["--top-p", "1.5"]).is_err_and(|e| e.contains("must be between 0 and 1")));
        assert!(parse(&["--greedy", "--temp", "1"]).is_err());
        assert!(parse(&["--chat", "--raw"]).is_err());
    }
}
