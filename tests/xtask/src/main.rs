//! `cargo xtask`: the project's commands. Builds without LLVM and without the compiler's crates, so
//! that it can install what they need.

mod bless;
mod demo;
mod deps;
mod kernel;
mod knobs;
mod llvm;
mod model;
mod say;
mod shell;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask COMMAND

  setup                 install what the build needs (LLVM 22 through apt, as root), or say how
  test [--nightly]      everything CI runs, with one summary line at the end
  demo [GGUF] [-- ARGS] download a small model (or take GGUF), build and run `generate` with it
  kernel OP [--target TARGET] [--emit WHAT] [kc options]
                        stage a kernel of the registry and show any stage of its compilation;
                        without OP, list the kernels
  deps                  check the arrows between crates and the size of the runtime's tree
  tidy                  check file heads, sizes, unsafe code, environment reads, unfinished marks
  bless                 rewrite the expectations of file tests from what the compiler does now
";

/// What a command returns: an error is a message for the user.
type Result<T = ()> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", &[][..]),
    };
    let result = match command {
        "setup" => llvm::ensure(),
        "test" => test::run(rest),
        "demo" => demo::run(rest),
        "kernel" => kernel::run(rest),
        "deps" => deps::run(),
        "tidy" => tidy::run(),
        "bless" => bless::run(),
        "help" | "-h" | "--help" => {
            say::text(USAGE);
            Ok(())
        }
        other => Err(format!("no command `{other}`\n\n{USAGE}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say::error(&message);
            ExitCode::FAILURE
        }
    }
}
