//! One run of the program: load, ask, print, report.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tilewright::Runtime;

use crate::args::Cli;
use crate::chat::Chat;
use crate::error::{Error, ErrorKind, Result};
use crate::gguf::Gguf;
use crate::interrupt::Interrupt;
use crate::map::ModelFile;
use crate::model::{Model, Request, Session};
use crate::output::AnswerPrinter;
use crate::report::{LoadBar, Phase, Speed};
use crate::tokenizer::Tokenizer;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every prompt was answered.
    Done,
    /// The user stopped it.
    Interrupted,
}

/// Runs the program: text to `out`, the rest to `log`.
pub fn run(
    cli: &Cli,
    interrupt: &Interrupt,
    out: &mut dyn Write,
    log: &mut dyn Write,
) -> Result<(Outcome, Speed)> {
    let start = Instant::now();
    let texts = prompt_texts(cli)?;
    let file = Arc::new(ModelFile::open(&cli.model)?);
    let tokenizer = Tokenizer::from_gguf(file.gguf())?;
    let prompts = encode(cli, file.gguf(), &tokenizer, &texts)?;
    let model = load(cli, &file)?;
    let mut speed = Speed { load: start.elapsed(), ..Speed::default() };
    let request = Request {
        prompts: &prompts,
        max_tokens: cli.max_tokens,
        sampling: cli.sampling.sampling(),
    };
    let session = model.session(request)?;
    let outcome = answer(cli, interrupt, &tokenizer, &prompts, session, out, &mut speed)?;
    if !cli.quiet {
        write!(log, "{speed}").map_err(|e| write_failed("standard error", e))?;
    }
    Ok((outcome, speed))
}

/// The prompts as given: those of the command line, then those of files.
fn prompt_texts(cli: &Cli) -> Result<Vec<String>> {
    let from_file = |path: &PathBuf| {
        std::fs::read_to_string(path).map_err(|e| {
            let message = format!("cannot read the prompt `{}`", path.display());
            Error::new(ErrorKind::Io, message).with_source(e)
        })
    };
    let files = cli.prompt_files.iter().map(from_file);
    let texts =
        cli.prompts.iter().cloned().map(Ok).chain(files).collect::<Result<Vec<String>>>()?;
    if texts.is_empty() {
        return Err(Error::usage("no prompt was given").with_help("pass --prompt or --prompt-file"));
    }
    Ok(texts)
}

/// The token ids of each prompt, in the model's chat form unless raw ones were asked for.
fn encode(
    cli: &Cli,
    gguf: &Gguf,
    tokenizer: &Tokenizer,
    texts: &[String],
) -> Result<Vec<Vec<u32>>> {
    let chat = if cli.raw { None } else { Chat::from_gguf(gguf)? };
    if chat.is_none() && (cli.chat || cli.system.is_some()) {
        return Err(Error::usage("the model file has no chat template")
            .with_help("pass --raw to continue the prompt as it is"));
    }
    let chat = chat.map(|c| c.with_system(cli.system.as_deref()));
    let encode = |text: &String| match &chat {
        Some(chat) => tokenizer.encode(&chat.prompt(text)),
        None => tokenizer.encode(text),
    };
    texts.iter().map(encode).collect()
}

fn load(cli: &Cli, file: &Arc<ModelFile>) -> Result<Model> {
    let verbose = cli.verbose;
    let rt = runtime(cli.threads, move |notice| {
        if verbose {
            // Nothing is left to tell it to if standard error is gone.
            let _ = writeln!(std::io::stderr(), "{notice}");
        }
    })?;
    let bar = LoadBar::new(Model::bytes_to_pack(file) as u64, cli.quiet);
    let model = Model::load(rt, file, cli.activations, &mut |bytes| bar.set(bytes as u64));
    bar.finish();
    model
}

/// The CPU with the embedded kernels; 0 threads is one for each core. `notice` hears what the runtime
/// has to say, such as which variants it took for want of a tuned config.
pub fn runtime(threads: usize, notice: impl Fn(&str) + Send + Sync + 'static) -> Result<Runtime> {
    let builder = Runtime::builder().cpu_threads(threads).on_notice(notice);
    #[cfg(feature = "pack")]
    let builder = builder.embedded_pack();
    Ok(builder.build()?)
}

fn answer(
    cli: &Cli,
    interrupt: &Interrupt,
    tokenizer: &Tokenizer,
    prompts: &[Vec<u32>],
    mut session: Session<'_>,
    out: &mut dyn Write,
    speed: &mut Speed,
) -> Result<Outcome> {
    let mut printer = AnswerPrinter::new(out, prompts.len());
    let failed = |e| write_failed("standard output", e);
    let start = Instant::now();
    if !session.prefill(&|| !interrupt.asked())? {
        return Ok(Outcome::Interrupted);
    }
    let tokens = prompts.iter().map(Vec::len).sum();
    speed.prefill = Phase { tokens, time: start.elapsed() };
    let mut active: Vec<usize> = (0..prompts.len()).filter(|_| cli.max_tokens > 0).collect();
    let start = Instant::now();
    let mut decoded = 0;
    loop {
        for row in &active {
            let id = session.chosen().get(*row).copied().unwrap_or_default() as u32;
            if tokenizer.is_end(id) && !cli.ignore_end {
                session.stop(*row);
            }
            printer.token(*row, tokenizer, id).map_err(failed)?;
            if !session.is_active(*row) {
                printer.finish(*row).map_err(failed)?;
            }
        }
        active.retain(|row| session.is_active(*row));
        if active.is_empty() || interrupt.asked() || !session.step()? {
            break;
        }
        decoded += active.len();
        speed.decode = Phase { tokens: decoded, time: start.elapsed() };
    }
    printer.finish_all().map_err(failed)?;
    Ok(if active.is_empty() { Outcome::Done } else { Outcome::Interrupted })
}

fn write_failed(what: &str, e: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write to {what}")).with_source(e)
}
