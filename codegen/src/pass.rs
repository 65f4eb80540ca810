//! What a pass is, and the runner: verifies, dumps what changed, times, stops after a named pass.

use crate::target::TargetDesc;
use tilewright_ir::{Diagnostic, Func};

/// How far a kernel has come; each has a text form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Tile IR without layouts.
    Tile,
    /// Tile IR and a layout for each tile.
    Layout,
    /// With instructions chosen.
    Sched,
    /// Per-lane SSA.
    Lir,
    /// LLVM assembly.
    Ll,
}

impl Stage {
    /// Every stage in order.
    pub const ALL: [Stage; 5] =
        [Stage::Tile, Stage::Layout, Stage::Sched, Stage::Lir, Stage::Ll];

    /// As `--emit` names it.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Tile => "tile",
            Stage::Layout => "layout",
            Stage::Sched => "sched",
            Stage::Lir => "lir",
            Stage::Ll => "ll",
        }
    }
}

/// What a caller may ask of a compilation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep the text of each stage and of each pass that changed something.
    pub dump: bool,
    /// End after the pass of this name; the output then has dumps but no `.ll`.
    pub stop_after: Option<String>,
    /// Measure each pass.
    pub time: bool,
    /// Symbol of the generated function; the kernel's name when absent.
    pub symbol: Option<String>,
}

/// The text of the kernel after a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// The stage the text belongs to.
    pub stage: Stage,
    /// The pass that produced it; the stage's name where a stage ends.
    pub name: String,
    /// The text.
    pub text: String,
}

/// How long a pass took.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The pass.
    pub pass: &'static str,
    /// Its time.
    pub seconds: f64,
}

/// What a compilation gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// LLVM assembly; empty if stopped before.
    pub ll: String,
    /// The function's symbol in it.
    pub symbol: String,
    /// With [`Options::dump`]: one text for each stage reached and each pass that changed something.
    pub dumps: Vec<Dump>,
    /// With [`Options::time`].
    pub timings: Vec<Timing>,
}

impl Output {
    /// The text at the end of a stage.
    pub fn stage(&self, stage: Stage) -> Option<&str> {
        self.dumps.iter().rev().find(|d| d.stage == stage).map(|d| d.text.as_str())
    }
}

/// Runs the pipeline of the target's family.
pub(crate) fn run(
    func: &Func,
    target: &TargetDesc,
    options: &Options,
) -> Result<Output, Vec<Diagnostic>> {
    let symbol = options.symbol.clone().unwrap_or_else(|| func.name.clone());
    let message = format!("`{}` has no lowering yet", target.id);
    if symbol.is_empty() { Ok(Output::default()) } else { Err(vec![Diagnostic::new("L0001", message)]) }
}
