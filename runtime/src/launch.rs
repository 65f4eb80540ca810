//! Arguments of launches, and calls: a plan with its operands bound, ready to run any number of times.
//!
//! Every check happens when an operand is bound: presence, dtype, shape, strides, device, writability,
//! overlap, and the facts that the chosen kernels rely on. [`Call::run`] only hands finished argument
//! words to the device.
#![allow(unsafe_code, reason = "vouches for the argument words of launches")]

use crate::args::{Args, Number, shape_text, word};
use crate::buffer::Buffer;
use crate::device::{Access, KernelId};
use crate::error::fail;
use crate::graph::Stream;
use crate::plan::{Param, Plan, Source, Step, packed_words, view_words};
use crate::resolve::{check_strides, packed, view_fact_holds};
use crate::{Result, Tensor};
use std::sync::Arc;
use tilewright_abi::{Fact, LaunchDesc, Role};

/// Arguments of a launch. Made only by [`LaunchArgs::new`], whose caller vouches for the words.
#[derive(Clone, Copy, Debug)]
pub struct LaunchArgs<'a> {
    words: &'a [u64],
    grid: [i64; 3],
    shape: LaunchDesc,
    accesses: &'a [Access],
}

impl<'a> LaunchArgs<'a> {
    /// The argument words in ABI order, the programs along each axis, and the memory used.
    ///
    /// # Safety
    /// The words are what the kernel's signature says, its facts hold, and every view among them lies
    /// in memory that stays allocated until the launch has run; for a launch that is recorded, until
    /// the graph is released. `accesses` covers all memory the kernel touches.
    pub unsafe fn new(
        words: &'a [u64],
        grid: [i64; 3],
        shape: LaunchDesc,
        accesses: &'a [Access],
    ) -> LaunchArgs<'a> {
        LaunchArgs { words, grid, shape, accesses }
    }

    /// The argument words, in ABI order.
    pub fn words(&self) -> &'a [u64] {
        self.words
    }

    /// Programs along each axis; none is negative.
    pub fn grid(&self) -> [i64; 3] {
        self.grid
    }

    /// Block, cluster and shared memory.
    pub fn shape(&self) -> LaunchDesc {
        self.shape
    }

    /// Memory that the launch uses.
    pub fn accesses(&self) -> &'a [Access] {
        self.accesses
    }
}

/// A plan with its operands bound.
pub struct Call {
    plan: Plan,
    steps: Vec<Bound>,
    /// In the spec's order; `None` for optional ones that are absent.
    tensors: Vec<Option<Tensor>>,
    workspace: Option<Buffer>,
}

/// A launch with its argument words.
struct Bound {
    kernel: KernelId,
    shape: LaunchDesc,
    grid: [i64; 3],
    words: Vec<u64>,
    accesses: Vec<Access>,
}

impl Call {
    pub(crate) fn new(plan: &Plan, args: &Args, workspace: Option<Buffer>) -> Result<Call> {
        let inner = &plan.0;
        let op = &inner.spec.name;
        let mut tensors = Vec::with_capacity(inner.spec.tensors.len());
        for (t, dtype) in inner.spec.tensors.iter().zip(&inner.resolved.dtypes) {
            match (args.tensors.get(&t.name), dtype) {
                (Some(x), Some(_)) => tensors.push(Some(x.clone())),
                (None, None) => tensors.push(None),
                (None, Some(_)) => {
                    let (name, shape) = (&t.name, shape_text(&t.shape));
                    return fail!(InvalidArgument, "{op}: tensor `{name}` {shape} is not bound");
                }
                (Some(_), None) => {
                    return fail!(
                        InvalidArgument,
                        "{op}: tensor `{}` is bound, but the plan is for a problem without it; plan again",
                        t.name
                    );
                }
            }
        }
        if let Some(name) = args.tensors.keys().find(|n| inner.spec.tensor(n).is_none()) {
            return fail!(InvalidArgument, "{op}: no tensor `{name}`");
        }
        if let Some(name) = args.scalars.keys().find(|n| inner.spec.scalar(n).is_none()) {
            return fail!(InvalidArgument, "{op}: no scalar `{name}`");
        }
        let steps = inner.steps.iter().map(|s| Bound {
            kernel: s.kernel,
            shape: s.shape,
            grid: s.grid,
            words: vec![0; s.n_words],
            accesses: Vec::with_capacity(s.params.len()),
        });
        let mut call = Call { plan: plan.clone(), steps: steps.collect(), tensors, workspace };
        for slot in 0..inner.spec.tensors.len() {
            call.check_tensor(slot)?;
        }
        call.check_overlap()?;
        for (slot, s) in inner.spec.scalars.iter().enumerate() {
            let value = args.scalars.get(&s.name).copied().or(s.default.map(Number::Float));
            let Some(value) = value else {
                return fail!(
                    InvalidArgument,
                    "{op}: scalar `{}` ({}) is not given",
                    s.name,
                    s.dtype
                );
            };
            call.write_scalar(slot, value)?;
        }
        call.write_views()?;
        Ok(call)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Binds another tensor of the same dtype and shape.
    pub fn set_tensor(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        let inner = Arc::clone(&self.plan.0);
        let op = &inner.spec.name;
        let slot = inner.spec.tensors.iter().position(|t| t.name == name);
        let Some(place) = slot.and_then(|s| self.tensors.get_mut(s)).filter(|p| p.is_some()) else {
            return fail!(InvalidArgument, "{op}: no tensor `{name}` is bound");
        };
        let old = place.replace(tensor.clone());
        let checked = self.check_tensor(slot.unwrap_or(0)).and_then(|()| self.check_overlap());
        if checked.is_err()
            && let Some(place) = slot.and_then(|s| self.tensors.get_mut(s))
        {
            *place = old;
        }
        checked.and_then(|()| self.write_views())
    }

    /// Sets a scalar.
    pub fn set_scalar(&mut self, name: &str, value: impl Into<Number>) -> Result<()> {
        let spec = &self.plan.0.spec;
        match spec.scalars.iter().position(|s| s.name == name) {
            Some(slot) => self.write_scalar(slot, value.into()),
            None => fail!(InvalidArgument, "{}: no scalar `{name}`", spec.name),
        }
    }

    /// Runs the launches on the stream, in order. Allocates nothing.
    pub fn run(&self, stream: &Stream) -> Result<()> {
        let device = &self.plan.0.core.device;
        if !Arc::ptr_eq(device, stream.device()) {
            return fail!(
                InvalidArgument,
                "{}: the stream is of another device",
                self.plan.chosen()
            );
        }
        stream.hold(self.buffers());
        for b in &self.steps {
            if b.grid.contains(&0) {
                continue;
            }
            // SAFETY: the words were written for this kernel's parameters from tensors that passed
            // every check of the spec and the kernel's facts; the tensors are held by this call, and
            // by the graph that is recorded. `accesses` lists every view.
            let args = unsafe { LaunchArgs::new(&b.words, b.grid, b.shape, &b.accesses) };
            device.launch(b.kernel, &args, stream.id())?;
        }
        Ok(())
    }

    fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        self.tensors.iter().flatten().map(Tensor::buffer).chain(self.workspace.as_ref())
    }

    fn check_tensor(&self, slot: usize) -> Result<()> {
        let inner = &self.plan.0;
        let op = &inner.spec.name;
        let bound = self.tensors.get(slot).and_then(Option::as_ref);
        let (Some(t), Some(spec)) = (bound, inner.spec.tensors.get(slot)) else { return Ok(()) };
        let name = &spec.name;
        let want = inner.resolved.dtypes.get(slot).copied().flatten();
        if want != Some(t.dtype()) {
            let want = want.map_or("absent", |d| d.name());
            return fail!(
                InvalidArgument,
                "{op}: tensor `{name}` is {}, planned as {want}",
                t.dtype()
            );
        }
        let shape = inner.resolved.shapes.get(slot).map_or(&[][..], Vec::as_slice);
        let same = t.shape().len() == shape.len()
            && t.shape().iter().zip(shape).all(|(&a, &b)| i64::try_from(a) == Ok(b));
        if !same {
            return fail!(
                InvalidArgument,
                "{op}: tensor `{name}` has shape {:?}, {} is {shape:?} here",
                t.shape(),
                shape_text(&spec.shape)
            );
        }
        check_strides(op, name, spec.strides, shape, t.strides())?;
        if !Arc::ptr_eq(t.buffer().device(), &inner.core.device) {
            return fail!(InvalidArgument, "{op}: tensor `{name}` is on another device");
        }
        let elem = u64::from(t.dtype().bits() / 8).max(1);
        if !t.is_empty() && !t.addr().is_multiple_of(elem) {
            return fail!(
                InvalidArgument,
                "{op}: tensor `{name}` starts at {:#x}, which is no multiple of the {elem} bytes of a {}; \
                 copy it",
                t.addr(),
                t.dtype()
            );
        }
        if spec.role != Role::In {
            if t.buffer().is_read_only() {
                return fail!(
                    InvalidArgument,
                    "{op}: tensor `{name}` is written, but it is read only"
                );
            }
            if t.overlaps_itself() {
                return fail!(
                    InvalidArgument,
                    "{op}: tensor `{name}` is written, but strides {:?} put several elements of {:?} in \
                     one place",
                    t.strides(),
                    t.shape()
                );
            }
        }
        for (step, p) in params_of(&inner.steps, slot) {
            self.check_facts(step, p, name, t)?;
        }
        Ok(())
    }

    fn check_facts(&self, step: &Step, p: &Param, name: &str, t: &Tensor) -> Result<()> {
        let op = &self.plan.0.spec.name;
        let Source::Tensor { view, .. } = &p.source else { return Ok(()) };
        let align = 1u64 << t.addr().trailing_zeros().min(63);
        let shape: Vec<i64> = t.shape().iter().map(|&d| d as i64).collect();
        let holds = |fact: Fact| match view {
            Some(dims) => view_fact_holds(fact, dims, &packed(dims), align),
            None => view_fact_holds(fact, &shape, t.strides(), align),
        };
        if view.is_some() && !t.is_packed() {
            return fail!(
                InvalidArgument,
                "{op}: tensor `{name}` has strides {:?}, `{}` needs it packed; copy it",
                t.strides(),
                step.name
            );
        }
        match p.facts.iter().find(|f| !holds(**f)) {
            None => Ok(()),
            Some(fact) => fail!(
                InvalidArgument,
                "{op}: tensor `{name}` of shape {:?}, strides {:?}, aligned to {align} bytes breaks \
                 `{fact}`, which `{}` relies on; plan again with this tensor",
                t.shape(),
                t.strides(),
                step.name
            ),
        }
    }

    /// A packed tensor that is written may be another operand, but not a part of one.
    fn check_overlap(&self) -> Result<()> {
        let spec = &self.plan.0.spec;
        let bound =
            || self.tensors.iter().zip(&spec.tensors).filter_map(|(t, s)| Some((t.as_ref()?, s)));
        for (i, (a, a_spec)) in bound().enumerate() {
            for (b, b_spec) in bound().skip(i + 1) {
                let written = a_spec.role != Role::In || b_spec.role != Role::In;
                if !written || !a.is_packed() || !b.is_packed() {
                    continue;
                }
                let (Some((a0, a1)), Some((b0, b1))) = (a.extent(), b.extent()) else { continue };
                let (apart, same) = (a1 <= b0 || b1 <= a0, (a0, a1) == (b0, b1));
                if !apart && !same && !a.is_empty() && !b.is_empty() {
                    return fail!(
                        InvalidArgument,
                        "{}: tensors `{}` and `{}` overlap in part, and one is written",
                        spec.name,
                        a_spec.name,
                        b_spec.name
                    );
                }
            }
        }
        Ok(())
    }

    fn write_scalar(&mut self, slot: usize, value: Number) -> Result<()> {
        let inner = Arc::clone(&self.plan.0);
        let Some(s) = inner.spec.scalars.get(slot) else { return Ok(()) };
        let (op, name) = (&inner.spec.name, &s.name);
        let x = match value {
            Number::Float(x) => x,
            Number::Int(i) => i as f64,
        };
        let above = s.min.is_none_or(|m| x >= m);
        let below = s.max.is_none_or(|m| x <= m);
        if !above || !below {
            let bound = |b: Option<f64>| b.map_or(String::new(), |b| b.to_string());
            let (low, high) = (bound(s.min), bound(s.max));
            return fail!(
                InvalidArgument,
                "{op}: scalar `{name}` is {x}, allowed is {low}..={high}"
            );
        }
        let Some(bits) = word(value, s.dtype) else {
            return fail!(InvalidArgument, "{op}: scalar `{name}` is {x}, which is no {}", s.dtype);
        };
        for (step, b) in inner.steps.iter().zip(&mut self.steps) {
            for p in &step.params {
                if !matches!(p.source, Source::Scalar { slot: n } if n == slot) {
                    continue;
                }
                for fact in &p.facts {
                    if let Fact::ScalarMultiple(n) = fact
                        && bits % (*n).max(1) != 0
                    {
                        return fail!(
                            InvalidArgument,
                            "{op}: scalar `{name}` is {x}, `{}` needs a multiple of {n}",
                            step.name
                        );
                    }
                }
                if let Some(w) = b.words.get_mut(p.at) {
                    *w = bits;
                }
            }
        }
        Ok(())
    }

    /// Writes the words of all views and the memory that the launches use.
    fn write_views(&mut self) -> Result<()> {
        let inner = Arc::clone(&self.plan.0);
        let base = self.workspace.as_ref().map_or(0, Buffer::addr);
        for (step, b) in inner.steps.iter().zip(&mut self.steps) {
            b.accesses.clear();
            for p in &step.params {
                let words = b.words.get_mut(p.at..).unwrap_or(&mut []);
                match &p.source {
                    Source::Tensor { slot, view, mutable } => {
                        let Some(Some(t)) = self.tensors.get(*slot) else {
                            return Err(inner
                                .core
                                .bug(format!("`{}` uses an absent tensor", step.name)));
                        };
                        match view {
                            Some(dims) => packed_words(words, t.addr(), dims),
                            None => {
                                let mut dims = [0i64; crate::tensor::MAX_RANK];
                                let used = dims.get_mut(..t.shape().len()).unwrap_or(&mut []);
                                used.iter_mut().zip(t.shape()).for_each(|(d, &n)| *d = n as i64);
                                view_words(words, t.addr(), used, t.strides());
                            }
                        }
                        let (low, high) = t.extent().unwrap_or((0, u64::MAX));
                        b.accesses.push(Access { addr: low, bytes: high - low, write: *mutable });
                    }
                    Source::Workspace { offset, bytes, dims, mutable } => {
                        let addr = base + *offset as u64;
                        packed_words(words, addr, dims);
                        b.accesses.push(Access { addr, bytes: *bytes as u64, write: *mutable });
                    }
                    Source::Word(bits) => {
                        if let Some(w) = words.first_mut() {
                            *w = *bits;
                        }
                    }
                    Source::Scalar { .. } => {}
                }
            }
        }
        Ok(())
    }
}

/// The parameters that tensor `slot` is bound to.
fn params_of(steps: &[Step], slot: usize) -> impl Iterator<Item = (&Step, &Param)> {
    steps.iter().flat_map(move |s| {
        let of_slot =
            move |p: &&Param| matches!(p.source, Source::Tensor { slot: n, .. } if n == slot);
        s.params.iter().filter(of_slot).map(move |p| (s, p))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, common};
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;

    thread_local! {
        static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    }

    /// The system's allocator, counting each thread's allocations.
    struct Counting;

    // SAFETY: every call goes on to the system's allocator.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            ALLOCATIONS.set(ALLOCATIONS.get() + 1);
            // SAFETY: the caller's promise.
            unsafe { System.alloc(layout) }
        }
        unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
            // SAFETY: the caller's promise.
            unsafe { System.dealloc(p, layout) }
        }
    }

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    #[test]
    fn a_run_allocates_nothing() {
        let rt = common::runtime(2);
        let s = rt.stream().unwrap();
        let x = Tensor::zeros(&rt, DType::F32, &[64, 8]).unwrap();
        let y = Tensor::zeros(&rt, DType::F32, &[8]).unwrap();
        let other = Tensor::zeros(&rt, DType::F32, &[8]).unwrap();
        let args = Args::new().tensor("x", &x).tensor("y", &y);
        let call = rt.plan("column_sum", &args).unwrap().bind(&args).unwrap();
        let graph = crate::Graph::record(&rt, &s, |s| call.run(s)).unwrap();
        let before = ALLOCATIONS.get();
        for _ in 0..1000 {
            call.run(&s).unwrap();
            graph.replay(&s).unwrap();
        }
        assert_eq!(ALLOCATIONS.get(), before);
        let mut call = call;
        call.set_tensor("y", &other).unwrap();
        assert!(ALLOCATIONS.get() - before < 8, "{}", ALLOCATIONS.get() - before);
    }
}
