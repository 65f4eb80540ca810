//! Plans: the launches that serve one problem, with everything computed that does not depend on
//! addresses.

use crate::args::Args;
use crate::buffer::Buffer;
use crate::device::KernelId;
use crate::launch::Call;
use crate::resolve::{Resolved, packed};
use crate::runtime::Core;
use crate::select::{Reason, Selection};
use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::Arc;
use tilewright_abi::{Arg, DType, Fact, LaunchDesc, OpImpl, OpSpec, ParamKind, Problem};

/// Workspaces start at multiples of this.
const WORKSPACE_ALIGN: usize = 64;

/// An op planned for one problem. Clones share it.
#[derive(Clone)]
pub struct Plan(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) core: Arc<Core>,
    pub(crate) spec: OpSpec,
    pub(crate) resolved: Resolved,
    problem: Problem,
    chosen: String,
    reason: Reason,
    pub(crate) steps: Vec<Step>,
    pub(crate) workspace_bytes: usize,
}

/// One launch.
pub(crate) struct Step {
    pub(crate) kernel: KernelId,
    pub(crate) name: String,
    pub(crate) shape: LaunchDesc,
    pub(crate) grid: [i64; 3],
    pub(crate) n_words: usize,
    pub(crate) params: Vec<Param>,
}

/// One launch parameter.
pub(crate) struct Param {
    /// First argument word.
    pub(crate) at: usize,
    pub(crate) source: Source,
    /// What the compiled code relies on.
    pub(crate) facts: Vec<Fact>,
}

/// Where a parameter's value comes from.
pub(crate) enum Source {
    /// Tensor `slot` of the spec, perhaps seen with other dims.
    Tensor { slot: usize, view: Option<Vec<i64>>, mutable: bool },
    /// A range of the workspace.
    Workspace { offset: usize, bytes: usize, dims: Vec<i64>, mutable: bool },
    /// Scalar `slot` of the spec.
    Scalar { slot: usize },
    /// A number that the problem fixes.
    Word(u64),
}

/// Element count times element size.
fn bytes(dtype: DType, dims: &[i64]) -> Option<usize> {
    let n = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok()?))?;
    n.checked_mul(dtype.bits() as usize).map(|bits| bits.div_ceil(8))
}

impl Plan {
    pub(crate) fn new(
        core: &Arc<Core>,
        problem: &Problem,
        selection: Selection<'_>,
    ) -> Result<Plan> {
        let spec = core.catalog.spec(&problem.op)?;
        let Selection { chosen, reason, resolved } = selection;
        let mut maker = Maker { core, spec, resolved: &resolved, chosen, workspace: Vec::new() };
        let workspace_bytes = maker.workspace()?;
        let steps = maker.steps()?;
        Ok(Plan(Arc::new(Inner {
            core: Arc::clone(core),
            spec: spec.clone(),
            resolved,
            problem: problem.clone(),
            chosen: chosen.id(),
            reason,
            steps,
            workspace_bytes,
        })))
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// The chosen impl, `<op>.<algorithm>.<variant>`.
    pub fn chosen(&self) -> &str {
        &self.0.chosen
    }

    /// Why it was chosen.
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// Scratch memory that a run needs.
    pub fn workspace_bytes(&self) -> usize {
        self.0.workspace_bytes
    }

    /// Binds operands; allocates the workspace.
    pub fn bind(&self, args: &Args) -> Result<Call> {
        let bytes = self.0.workspace_bytes;
        let workspace = (bytes > 0).then(|| Buffer::new(&self.0.core.device, bytes)).transpose()?;
        Call::new(self, args, workspace)
    }

    /// Binds operands over scratch memory that calls share; they must not run at the same time.
    pub fn bind_with(&self, args: &Args, workspace: &Buffer) -> Result<Call> {
        let (need, have) = (self.0.workspace_bytes, workspace.bytes());
        if have < need {
            let message =
                format!("{}: the workspace has {have} bytes, {need} are needed", self.chosen());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        Call::new(self, args, Some(workspace.clone()))
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0.chosen, self.0.reason)?;
        for s in &self.0.steps {
            write!(f, "; `{}` on {:?} programs", s.name, s.grid)?;
        }
        write!(f, "; workspace {} bytes", self.0.workspace_bytes)
    }
}

struct Maker<'m> {
    core: &'m Arc<Core>,
    spec: &'m OpSpec,
    resolved: &'m Resolved,
    chosen: &'m OpImpl,
    /// Offset, bytes and dims of each.
    workspace: Vec<(usize, usize, Vec<i64>)>,
}

impl Maker<'_> {
    fn bug(&self, what: impl fmt::Display) -> Error {
        self.core.bug(format!("{}: {what}", self.chosen.id()))
    }

    fn workspace(&mut self) -> Result<usize> {
        let mut end = 0usize;
        for w in &self.chosen.workspace {
            let sized = self
                .resolved
                .dims(self.spec, self.chosen, &w.dims)
                .and_then(|dims| Some((bytes(w.dtype, &dims)?, dims)));
            let Some((size, dims)) = sized else {
                return Err(self.bug(format!("workspace `{}` has no size", w.name)));
            };
            let offset = end;
            let next =
                end.checked_add(size).and_then(|e| e.checked_next_multiple_of(WORKSPACE_ALIGN));
            end = next.ok_or_else(|| self.bug("the workspace is too large"))?;
            self.workspace.push((offset, size, dims));
        }
        Ok(end)
    }

    fn steps(&self) -> Result<Vec<Step>> {
        let mut steps = Vec::with_capacity(self.chosen.launches.len());
        for l in &self.chosen.launches {
            let kernel = self.core.catalog.kernel(&l.kernel);
            let kernel = kernel.ok_or_else(|| self.bug(format!("no kernel `{}`", l.kernel)))?;
            let mut grid = [0i64; 3];
            for (g, e) in grid.iter_mut().zip(&l.grid) {
                let value = self.resolved.eval(self.spec, self.chosen, e);
                *g = value.filter(|&v| v >= 0).ok_or_else(|| self.bug(format!("grid `{e}`")))?;
            }
            if grid.iter().try_fold(1i64, |n, &g| n.checked_mul(g)).is_none() {
                return Err(self.bug(format!("grid {grid:?} has too many programs")));
            }
            let mut params = Vec::with_capacity(kernel.params.len());
            let mut at = 0;
            for (arg, p) in l.args.iter().zip(&kernel.params) {
                let source = self.source(arg, p.kind)?;
                let facts = kernel.assumes.iter().filter(|a| a.param == p.name).map(|a| a.fact);
                params.push(Param { at, source, facts: facts.collect() });
                at += p.kind.words();
            }
            steps.push(Step {
                kernel: self.core.kernel(kernel)?,
                name: kernel.name.clone(),
                shape: kernel.launch,
                grid,
                n_words: at,
                params,
            });
        }
        Ok(steps)
    }

    fn source(&self, arg: &Arg, kind: ParamKind) -> Result<Source> {
        let mutable = matches!(kind, ParamKind::View { mutable: true, .. });
        match arg {
            Arg::Tensor { name, view } => {
                let slot = self.spec.tensors.iter().position(|t| t.name == *name);
                let slot = slot.ok_or_else(|| self.bug(format!("no tensor `{name}`")))?;
                let Some(view) = view else {
                    return Ok(Source::Tensor { slot, view: None, mutable });
                };
                let dims = self.resolved.dims(self.spec, self.chosen, view);
                let shape = self.resolved.shapes.get(slot);
                let dtype = self.resolved.dtypes.get(slot).copied().flatten();
                if let (Some(dims), Some(shape), Some(dtype)) = (dims, shape, dtype)
                    && let ParamKind::View { dtype: seen, .. } = kind
                    && let (Some(need), Some(have)) = (bytes(seen, &dims), bytes(dtype, shape))
                    && need <= have
                {
                    return Ok(Source::Tensor { slot, view: Some(dims), mutable });
                }
                Err(self.bug(format!("view {view:?} of tensor `{name}` does not fit it")))
            }
            Arg::Workspace(name) => {
                let i = self.chosen.workspace.iter().position(|w| w.name == *name);
                let range = i.and_then(|i| self.workspace.get(i));
                let (offset, bytes, dims) =
                    range.ok_or_else(|| self.bug(format!("no workspace `{name}`")))?.clone();
                Ok(Source::Workspace { offset, bytes, dims, mutable })
            }
            Arg::Scalar(name) => {
                let slot = self.spec.scalars.iter().position(|s| s.name == *name);
                let slot = slot.ok_or_else(|| self.bug(format!("no scalar `{name}`")))?;
                Ok(Source::Scalar { slot })
            }
            Arg::Axis(e) => {
                let value = self.resolved.eval(self.spec, self.chosen, e);
                let ParamKind::Scalar(dtype) = kind else {
                    return Err(self.bug(format!("number `{e}` for a view")));
                };
                let word = value.and_then(|v| crate::args::word(v.into(), dtype));
                word.map(Source::Word).ok_or_else(|| self.bug(format!("number `{e}`")))
            }
        }
    }
}

/// The words of a view: base, dims, strides.
pub(crate) fn view_words(words: &mut [u64], addr: u64, dims: &[i64], strides: &[i64]) {
    let numbers = dims.iter().chain(strides).map(|&n| n as u64);
    words.iter_mut().zip(std::iter::once(addr).chain(numbers)).for_each(|(w, v)| *w = v);
}

/// The words of a packed view.
pub(crate) fn packed_words(words: &mut [u64], addr: u64, dims: &[i64]) {
    view_words(words, addr, dims, &packed(dims));
}
