//! The command line of `kc`.

use std::path::PathBuf;

use tilewright_codegen::Stage;
use tilewright_llvm::Level;

pub(crate) const USAGE: &str = "\
kc: compile one kernel from its text form

usage:
  kc FILE --target TARGET [--emit WHAT] [options]   compile FILE; `-` reads standard input
  kc targets                                        list the targets
  kc passes                                         list the passes of each family, in order
  kc explain CODE                                   explain an error code, for example V0012

what --emit names, in the order in which they are made:
  tile      tile IR as read and verified
  layout    tile IR and the layout of each tile
  sched     tile IR with instructions chosen
  lir       per-lane SSA
  ll        LLVM IR as the compiler prints it
  opt       LLVM IR after LLVM's optimiser
  asm       assembly (the default)
  obj       relocatable object
  so        shared object

options:
  -o FILE             write there instead of standard output
  --stop-after PASS   end after the pass and show the kernel as it then is
  --dump              show the kernel after each pass that changed it, on standard error
  --time              show the time of each pass, on standard error
  --symbol NAME       name of the generated function
  -O0 | -O2 | -O3     LLVM's general pipeline (default: one for tile code)

FILE may also hold LLVM IR (it ends in .ll or has a line that starts with `define`); --emit is then
one of ll, opt, asm, obj, so.
";

/// What the user asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Help,
    Targets,
    Passes,
    Explain(String),
    Compile(Job),
}

/// One compilation.
#[derive(Debug, PartialEq)]
pub(crate) struct Job {
    pub(crate) input: PathBuf,
    pub(crate) target: String,
    pub(crate) emit: Emit,
    pub(crate) output: Option<PathBuf>,
    pub(crate) stop_after: Option<String>,
    pub(crate) dump: bool,
    pub(crate) time: bool,
    pub(crate) symbol: Option<String>,
    pub(crate) level: Level,
}

/// What a compilation shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emit {
    Stage(Stage),
    Optimised,
    Assembly,
    Object,
    SharedObject,
}

impl Emit {
    fn parse(text: &str) -> Result<Emit, String> {
        if let Some(stage) = Stage::ALL.into_iter().find(|s| s.name() == text) {
            return Ok(Emit::Stage(stage));
        }
        match text {
            "opt" => Ok(Emit::Optimised),
            "asm" => Ok(Emit::Assembly),
            "obj" => Ok(Emit::Object),
            "so" => Ok(Emit::SharedObject),
            _ => Err(format!(
                "error: `--emit {text}` is not one of tile, layout, sched, lir, ll, opt, asm, obj, so"
            )),
        }
    }
}

/// Reads the arguments after the program's name.
pub(crate) fn parse(args: Vec<String>) -> Result<Command, String> {
    let mut args = args.into_iter();
    let Some(first) = args.next() else { return Ok(Command::Help) };
    let alone = |command, mut rest: std::vec::IntoIter<String>| match rest.next() {
        None => Ok(command),
        Some(more) => Err(format!("error: unexpected argument `{more}` after `{first}`")),
    };
    match first.as_str() {
        "-h" | "--help" | "help" => Ok(Command::Help),
        "targets" => alone(Command::Targets, args),
        "passes" => alone(Command::Passes, args),
        "explain" => {
            let code = args.next().ok_or("error: `explain` needs a code, for example V0012")?;
            alone(Command::Explain(code), args)
        }
        _ => job(std::iter::once(first).chain(args)).map(Command::Compile),
    }
}

fn job(args: impl Iterator<Item = String>) -> Result<Job, String> {
    let mut args = args;
    let (mut input, mut target) = (None, None);
    let mut job = Job {
        input: PathBuf::new(),
        target: String::new(),
        emit: Emit::Assembly,
        output: None,
        stop_after: None,
        dump: false,
        time: false,
        symbol: None,
        level: Level::default(),
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("error: `{arg}` needs a value"));
        match arg.as_str() {
            "--target" => target = Some(value()?),
            "--emit" => job.emit = Emit::parse(&value()?)?,
            "-o" => job.output = Some(value()?.into()),
            "--stop-after" => job.stop_after = Some(value()?),
            "--symbol" => job.symbol = Some(value()?),
            "--dump" => job.dump = true,
            "--time" => job.time = true,
            "-O0" => job.level = Level::O0,
            "-O2" => job.level = Level::O2,
            "-O3" => job.level = Level::O3,
            other if other.starts_with('-') && other != "-" => {
                return Err(format!("error: unknown option `{other}`; `kc --help` lists them"));
            }
            _ if input.is_none() => input = Some(PathBuf::from(arg)),
            _ => return Err(format!("error: a second input `{arg}`; kc compiles one at a time")),
        }
    }
    job.input = input.ok_or("error: no input; `kc --help` shows the usage")?;
    job.target = target.ok_or("error: no --target; `kc targets` lists them")?;
    Ok(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Command, String> {
        parse(text.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn a_full_line() {
        let command = words("k.tile --target cpu/x86-64-v3 --emit lir --dump -O2 -o out");
        let Ok(Command::Compile(job)) = command else { panic!("{command:?}") };
        assert_eq!(job.input, PathBuf::from("k.tile"));
        assert_eq!(job.emit, Emit::Stage(Stage::Lir));
        assert_eq!((job.dump, job.time, job.level), (true, false, Level::O2));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("k.tile", "no --target"),
            ("k.tile --target", "needs a value"),
            ("k.tile --target t --emit exe", "`--emit exe`"),
            ("k.tile --target t --fast", "`--fast`"),
            ("a b --target t", "second input"),
            ("targets now", "`now`"),
            ("explain", "needs a code"),
        ] {
            assert!(words(line).is_err_and(|e| e.contains(part)), "{line}");
        }
        assert_eq!(words(""), Ok(Command::Help));
    }
}
