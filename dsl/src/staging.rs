//! Staging: running kernel code once to record what it does.
//!
//! [`stage`] opens a thread-local builder; every operation on a handle appends to it. Faults are
//! collected, never thrown: an operation with a bad operand records a message and goes on with a
//! placeholder, so that one run reports everything.

use crate::compact::compact;
use crate::diag;
use crate::handle::Raw;
use crate::source::{self, Place};
use std::cell::RefCell;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};
use tilewright_abi::DType;
use tilewright_ir::{
    Builder, Diagnostic, Func, Literal, RegionId, Span, TileOp, Type, Value, verify,
};

pub use crate::params::Stage;

/// The kernel being staged on this thread.
pub(crate) struct Context {
    id: u32,
    pub(crate) builder: Builder,
    /// The region each value belongs to.
    homes: Vec<RegionId>,
    /// The regions whose values may be used, outermost first. Not the builder's own list: while an
    /// `else` branch is staged, the `then` branch is still open there, awaiting its yield.
    open: Vec<RegionId>,
    /// What each region is part of, for messages: "`for` loop", "`if`".
    kinds: Vec<&'static str>,
    diagnostics: Vec<Diagnostic>,
    /// Place and name of the last `break`, `continue` or `return` that began to leave a region.
    pub(crate) leaving: Option<(Place, &'static str)>,
    place: Place,
}

/// A nesting of regions to return to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Depth {
    usable: usize,
    in_builder: usize,
}

thread_local! {
    /// The kernels being staged, innermost last: a staging closure may stage another kernel.
    static STAGES: RefCell<Vec<Context>> = const { RefCell::new(Vec::new()) };
}

/// Stages are numbered across threads, so that a handle of one is never valid in another.
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// Runs `kernel` and returns the tile IR it recorded, or everything that is wrong with it.
///
/// ```
/// use tilewright_dsl::prelude::*;
/// let func = stage("answer", |s| {
///     let out: ViewMut<I32, 1> = s.view_mut("out");
///     out.set((0,), 42);
/// });
/// assert!(func.is_ok());
/// ```
#[track_caller]
pub fn stage<R>(
    name: impl Into<String>,
    kernel: impl FnOnce(&mut Stage) -> R,
) -> Result<Func, Vec<Diagnostic>> {
    /// Takes the stage away again also when the kernel panics.
    struct Open;
    impl Drop for Open {
        fn drop(&mut self) {
            STAGES.with_borrow_mut(|s| s.pop());
        }
    }
    let context = Context {
        id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        builder: Builder::new(name),
        homes: Vec::new(),
        open: vec![Func::BODY],
        kinds: Vec::new(),
        diagnostics: Vec::new(),
        leaving: None,
        place: Location::caller(),
    };
    STAGES.with_borrow_mut(|s| s.push(context));
    let open = Open;
    kernel(&mut Stage::new());
    let context = STAGES.with_borrow_mut(|s| s.pop());
    std::mem::forget(open);
    let Some(context) = context else { return Err(Vec::new()) };
    if !context.diagnostics.is_empty() {
        return Err(context.diagnostics);
    }
    let func = context.builder.finish();
    verify(&func)?;
    Ok(compact(&func))
}

/// Runs `f` on the kernel being staged, with `place` as the source position; `None` outside
/// [`stage`], where handles are inert.
pub(crate) fn at<R>(place: Place, f: impl FnOnce(&mut Context) -> R) -> Option<R> {
    STAGES.with_borrow_mut(|stages| {
        let cx = stages.last_mut()?;
        cx.place = place;
        cx.leaving = None;
        let span = source::span(place);
        cx.builder.set_span(span);
        Some(f(cx))
    })
}

/// As [`at`], but neither sets the place nor forgets what is being left.
pub(crate) fn peek<R>(f: impl FnOnce(&mut Context) -> R) -> Option<R> {
    STAGES.with_borrow_mut(|stages| stages.last_mut().map(f))
}

/// Appends the op that `make` returns, which has one result.
pub(crate) fn emit(place: Place, make: impl FnOnce(&mut Context) -> TileOp) -> Raw {
    let [raw] = emit_n(place, make);
    raw
}

/// Appends the op that `make` returns, which has `N` results.
pub(crate) fn emit_n<const N: usize>(
    place: Place,
    make: impl FnOnce(&mut Context) -> TileOp,
) -> [Raw; N] {
    let results = at(place, |cx| {
        let op = make(cx);
        let mut results = cx.push(op).into_iter();
        std::array::from_fn(|_| results.next().unwrap_or(Raw::INERT))
    });
    results.unwrap_or([Raw::INERT; N])
}

impl Context {
    /// The span of the operation being recorded.
    pub(crate) fn span(&self) -> Span {
        source::span(self.place)
    }

    /// Collects a message, unless the same stands there already: loop bodies are staged twice.
    pub(crate) fn report(&mut self, d: Diagnostic) {
        let same = |o: &Diagnostic| {
            o.code == d.code
                && (&o.span.file, o.span.line, o.span.col)
                    == (&d.span.file, d.span.line, d.span.col)
        };
        if !self.diagnostics.iter().any(same) {
            self.diagnostics.push(d);
        }
    }

    /// The IR value of a handle. One that is not valid here is reported and replaced.
    pub(crate) fn get(&mut self, raw: Raw) -> Value {
        if raw.stage != self.id {
            self.report(diag::other_stage(&self.span()));
            return self.placeholder(&Type::Scalar(DType::I64));
        }
        let home = self.home(raw.value);
        if self.open.contains(&home) {
            return raw.value;
        }
        let func = self.builder.func();
        let made_at = func.def_inst(raw.value).map(|i| func.inst(i).span.clone());
        let ty = func.ty(raw.value).clone();
        let kind = self.kinds.get(home.index()).copied().unwrap_or("region");
        self.report(diag::escaped(&self.span(), &made_at.unwrap_or_default(), kind));
        self.placeholder(&ty)
    }

    /// The type of a handle's value; also of one that is no longer valid.
    pub(crate) fn ty(&self, raw: Raw) -> Type {
        if raw.stage == self.id {
            self.builder.func().ty(raw.value).clone()
        } else {
            Type::Scalar(DType::I64)
        }
    }

    /// Appends an op and returns handles of its results.
    pub(crate) fn push(&mut self, op: TileOp) -> Vec<Raw> {
        let results = self.builder.op(op);
        self.note_homes();
        results.into_iter().map(|v| self.raw(v)).collect()
    }

    /// Appends an op that has one result.
    pub(crate) fn push1(&mut self, op: TileOp) -> Value {
        let results = self.push(op);
        results.first().map_or(Value(0), |r| r.value)
    }

    /// A constant.
    pub(crate) fn constant(&mut self, literal: Literal) -> Value {
        self.push1(TileOp::Const(literal))
    }

    /// `x`, if it is a tile; a scalar repeated to `shape`.
    pub(crate) fn splat(&mut self, x: Value, shape: &[usize]) -> Value {
        if shape.is_empty() || matches!(self.builder.func().ty(x), Type::Tile(_)) {
            return x;
        }
        self.push1(TileOp::Splat { x, shape: shape.to_vec() })
    }

    /// The handle of a value.
    pub(crate) fn raw(&self, value: Value) -> Raw {
        Raw { value, stage: self.id }
    }

    /// A new region that is part of a `kind` of construct, open.
    pub(crate) fn open_region(&mut self, kind: &'static str) -> RegionId {
        let region = self.builder.new_region();
        self.kinds.resize(region.index(), "region");
        self.kinds.push(kind);
        self.builder.enter(region);
        self.open.push(region);
        region
    }

    /// From here on, values of the innermost region may not be used.
    pub(crate) fn end_region(&mut self) {
        self.open.pop();
    }

    /// Runs `f` while values of `region`, which has ended, may be used once more.
    pub(crate) fn reopen<R>(&mut self, region: RegionId, f: impl FnOnce(&mut Context) -> R) -> R {
        self.open.push(region);
        let result = f(self);
        self.open.pop();
        result
    }

    /// How deep the open regions are nested, for [`Context::abandon`].
    pub(crate) fn depth(&self) -> Depth {
        Depth { usable: self.open.len(), in_builder: self.builder.open_regions().len() }
    }

    /// Forgets the regions opened since `depth`.
    pub(crate) fn abandon(&mut self, depth: Depth) {
        self.open.truncate(depth.usable);
        while self.builder.open_regions().len() > depth.in_builder {
            self.builder.discard();
        }
    }

    /// A new parameter of an open region.
    pub(crate) fn region_param(&mut self, region: RegionId, ty: Type) -> Value {
        let value = self.builder.region_param(region, ty);
        self.homes.resize(value.index(), Func::BODY);
        self.homes.push(region);
        value
    }

    /// A new launch parameter.
    pub(crate) fn param(&mut self, name: &str, ty: Type) -> Raw {
        let value = self.builder.param(name, ty);
        self.note_homes();
        self.raw(value)
    }

    fn home(&self, value: Value) -> RegionId {
        self.homes.get(value.index()).copied().unwrap_or(Func::BODY)
    }

    /// Values made since the last call belong to the innermost open region.
    fn note_homes(&mut self) {
        let region = self.open.last().copied().unwrap_or(Func::BODY);
        self.homes.resize(self.builder.func().values.len(), region);
    }

    /// A value of type `ty` that stands in for one that could not be used.
    fn placeholder(&mut self, ty: &Type) -> Value {
        let zero = self.constant(Literal { dtype: ty.elem(), bits: 0 });
        self.splat(zero, ty.shape())
    }
}
