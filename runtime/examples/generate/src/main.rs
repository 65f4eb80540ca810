//! Answers prompts with a Llama-architecture model from a GGUF file.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use generate::args::Cli;
use generate::error::Result;
use generate::interrupt::{self, Interrupt};
use generate::run::{Outcome, run};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut log = std::io::stderr();
    match answer(&cli, &mut log) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Interrupted) => ExitCode::from(interrupt::EXIT_CODE),
        Err(e) => {
            // Nothing is left to tell it to if standard error is gone.
            let _ = writeln!(log, "error: {e}");
            ExitCode::from(e.kind().exit_code())
        }
    }
}

fn answer(cli: &Cli, log: &mut dyn Write) -> Result<Outcome> {
    let interrupt = Interrupt::listen()?;
    let mut out = std::io::stdout();
    run(cli, &interrupt, &mut out, log).map(|(outcome, _)| outcome)
}
