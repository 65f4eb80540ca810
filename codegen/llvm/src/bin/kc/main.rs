//! `kc`: compiles one text file (tile IR, or LLVM IR) for one target, and shows any stage of it.

mod args;
mod compile;
mod list;

use std::io::Write;
use std::process::ExitCode;

use args::Command;

fn main() -> ExitCode {
    let result =
        args::parse(std::env::args().skip(1).collect()).and_then(|command| match command {
            Command::Help => Ok(args::USAGE.as_bytes().to_vec()),
            Command::Targets => Ok(list::targets()),
            Command::Passes => Ok(list::passes()),
            Command::Explain(code) => list::explain(&code),
            Command::Compile(job) => compile::run(&job),
        });
    match result.and_then(print) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // A closed stderr leaves only the exit status to speak.
            let _ = writeln!(std::io::stderr(), "{}", message.trim_end());
            ExitCode::FAILURE
        }
    }
}

fn print(bytes: Vec<u8>) -> Result<(), String> {
    match std::io::stdout().lock().write_all(&bytes) {
        // `kc … | head` is no failure.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|e| format!("error: standard output: {e}")),
    }
}
