//! What a pass is, and the runner: verifies, dumps what changed, times, stops after a named pass.

use crate::limits;
use crate::lir;
use crate::lower;
use crate::passes::axis_info::AxisInfo;
use crate::passes::select_mma::MmaPlan;
use crate::pipeline::pipeline;
use crate::target::{Family, TargetDesc};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;
use tilewright_ir::{Diagnostic, Func, Layout};

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
    pub const ALL: [Stage; 5] = [Stage::Tile, Stage::Layout, Stage::Sched, Stage::Lir, Stage::Ll];

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

    /// The stage of this name.
    pub fn from_name(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|s| s.name() == name)
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
    /// Verify the IR after each pass.
    pub verify: bool,
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

/// A kernel on its way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    /// The tile IR.
    pub(crate) func: Func,
    /// By value, once assigned.
    pub(crate) layouts: Vec<Option<Rc<Layout>>>,
    /// By instruction.
    pub(crate) mma: BTreeMap<u32, MmaPlan>,
    /// What is known of accesses.
    pub(crate) info: AxisInfo,
}

/// What passes may look at.
pub(crate) struct PassCx<'a> {
    pub(crate) target: &'a TargetDesc,
}

/// Whether a pass changed anything.
pub(crate) struct Changed(pub(crate) bool);

/// A name and a function.
#[derive(Clone, Copy)]
pub(crate) struct Pass {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&mut Program, &PassCx<'_>) -> Result<Changed, Vec<Diagnostic>>,
}

/// One line of a pipeline.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// A rewrite or analysis of tile IR; the stage that its text belongs to.
    Pass(Stage, Pass),
    /// Tile IR to LIR.
    Lower,
    /// A rewrite of LIR.
    Lir(&'static str, fn(&mut lir::Module)),
    /// LIR to text.
    Print,
}

impl Step {
    /// As `--stop-after` names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Step::Pass(_, p) => p.name,
            Step::Lower => "lower",
            Step::Lir(name, _) => name,
            Step::Print => "print",
        }
    }
}

/// The names of a family's passes, in order.
pub fn pass_names(family: Family) -> Vec<&'static str> {
    pipeline(family).iter().map(|s| s.name()).collect()
}

/// Runs the pipeline of the target's family.
pub(crate) fn run(
    func: &Func,
    target: &TargetDesc,
    options: &Options,
) -> Result<Output, Vec<Diagnostic>> {
    let steps = pipeline(target.family);
    if steps.is_empty() {
        let text = format!("`{}` has no lowering", target.id);
        return Err(vec![Diagnostic::new("L0001", text)]);
    }
    if let Some(stop) = &options.stop_after
        && !steps.iter().any(|s| s.name() == stop)
    {
        let names: Vec<&str> = steps.iter().map(|s| s.name()).collect();
        let text = format!("no pass is named `{stop}`");
        let help = format!("the passes are {}", names.join(", "));
        return Err(vec![Diagnostic::new("P0001", text).help(help)]);
    }
    tilewright_ir::verify(func)?;
    limits::check(func, target)?;
    let symbol = options.symbol.clone().unwrap_or_else(|| func.name.clone());
    let mut out = Output { symbol: symbol.clone(), ..Output::default() };
    let mut program = Program { func: func.clone(), ..Program::default() };
    let cx = PassCx { target };
    let mut module = lir::Module::default();
    let dump = |out: &mut Output, stage: Stage, name: &str, text: &dyn Fn() -> String| {
        if options.dump {
            out.dumps.push(Dump { stage, name: name.into(), text: text() });
        }
    };
    dump(&mut out, Stage::Tile, "tile", &|| describe(&program));
    for step in steps {
        let start = options.time.then(Instant::now);
        match step {
            Step::Pass(stage, pass) => {
                let Changed(changed) = (pass.run)(&mut program, &cx)?;
                if options.verify && changed {
                    tilewright_ir::verify(&program.func)?;
                }
                if changed {
                    dump(&mut out, *stage, pass.name, &|| describe(&program));
                }
            }
            Step::Lower => {
                dump(&mut out, Stage::Sched, "sched", &|| describe(&program));
                module = lower::cpu::lower(&program, target, &symbol).map_err(|d| vec![d])?;
                check(&module, options, "lower")?;
                dump(&mut out, Stage::Lir, "lower", &|| text(&module, target));
            }
            Step::Lir(name, rewrite) => {
                rewrite(&mut module);
                check(&module, options, name)?;
                dump(&mut out, Stage::Lir, name, &|| text(&module, target));
            }
            Step::Print => {
                out.ll = text(&module, target);
                let ll = &out.ll.clone();
                dump(&mut out, Stage::Ll, "ll", &|| ll.clone());
            }
        }
        if let Some(start) = start {
            let seconds = start.elapsed().as_secs_f64();
            out.timings.push(Timing { pass: step.name(), seconds });
        }
        if options.stop_after.as_deref() == Some(step.name()) {
            break;
        }
    }
    Ok(out)
}

fn check(m: &lir::Module, options: &Options, pass: &str) -> Result<(), Vec<Diagnostic>> {
    if !options.verify {
        return Ok(());
    }
    lir::verify(m).map_err(|e| {
        let text = format!("`{pass}` made LIR that breaks a rule: {e}");
        vec![Diagnostic::new("P0002", text).note("this is a fault of the compiler")]
    })
}

fn text(m: &lir::Module, target: &TargetDesc) -> String {
    let attributes = lir::Attributes {
        triple: target.llvm.triple,
        cpu: target.llvm.cpu,
        features: &target.llvm.features.join(","),
        vector_bits: target.vector_bytes * 8,
    };
    lir::print(m, &attributes)
}

/// The tile IR with what passes have found, as comments.
fn describe(p: &Program) -> String {
    let mut out = tilewright_ir::print(&p.func) + &p.info.describe(&p.func);
    for (n, l) in p.layouts.iter().enumerate() {
        if let Some(l) = l {
            out += &format!("// %{n}: {l}\n");
        }
    }
    for (n, plan) in &p.mma {
        let result = p.func.insts[*n as usize].results.first();
        let name = result.map_or(String::new(), |v| format!("%{}", v.0));
        out += &format!("// mma {name}: {}\n", plan.describe());
    }
    out
}
