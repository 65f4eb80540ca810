//! The `tilewright` command. So far it says what it is and what there is.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

use std::process::ExitCode;

const HELP: &str = "\
tilewright: kernels for serving language models, tuned on your machine

Usage: tilewright [--help | --version]

There is no tuner yet. What is there:

  the runtime      serves from compiled kernels and reads tuned configs (crate `tilewright`)
  the kernels      `cargo xtask kernel` lists them and shows any stage of one
  the compiler     `cargo run -p tilewright-llvm --bin kc -- --help`
  a real model     `cargo xtask demo`
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] | ["--help" | "-h"] => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        ["--version" | "-V"] => {
            println!("tilewright {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        [first, ..] => {
            eprintln!(
                "error: `tilewright` does not know `{first}`; `tilewright --help` says what is there"
            );
            ExitCode::from(2)
        }
    }
}
