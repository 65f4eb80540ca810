//! A problem checked against its op's spec, with all defaults filled in.

use crate::Result;
use crate::error::fail;
use tilewright_abi::{
    Arg, AxisKey, DType, Expr, Fact, KernelDesc, OpImpl, OpSpec, Problem, Strides, TensorLayout,
    layout_class,
};

/// A problem that its spec allows. Fields are in the spec's order.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) axes: Vec<i64>,
    /// `None` for an optional tensor that is absent.
    pub(crate) dtypes: Vec<Option<DType>>,
    /// Index of the chosen value.
    pub(crate) attrs: Vec<usize>,
    pub(crate) shapes: Vec<Vec<i64>>,
    pub(crate) layouts: Vec<Option<TensorLayout>>,
    /// What identifies a tuned record, apart from the axes keyed by range.
    pub(crate) exact: Vec<i64>,
    /// Extents of the axes keyed by range.
    pub(crate) buckets: Vec<i64>,
}

/// Row-major strides of a shape.
pub(crate) fn packed(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    let mut step = 1i64;
    for (s, &d) in strides.iter_mut().zip(shape).rev() {
        *s = step;
        step = step.saturating_mul(d.max(1));
    }
    strides
}

/// Checks a problem.
pub(crate) fn resolve(spec: &OpSpec, problem: &Problem) -> Result<Resolved> {
    let op = &spec.name;
    check_names(spec, problem)?;
    let mut axes = Vec::with_capacity(spec.axes.len());
    for a in &spec.axes {
        match problem.axes.get(&a.name) {
            Some(&n) if n >= a.min => axes.push(n),
            Some(&n) => {
                return fail!(
                    InvalidArgument,
                    "{op}: axis `{}` is {n}, at least {} is needed",
                    a.name,
                    a.min
                );
            }
            None => {
                return fail!(
                    InvalidArgument,
                    "{op}: axis `{}` ({}) is not given and no shape gives it; add `.axis(\"{}\", …)`",
                    a.name,
                    a.doc,
                    a.name
                );
            }
        }
    }
    let sym = |s: &str| axis_value(spec, &axes, s);
    for c in &spec.constraints {
        if c.eval(&sym) != Some(true) {
            let mut values = Vec::new();
            for e in [&c.lhs, &c.rhs] {
                e.for_each_sym(&mut |s| {
                    values.push(format!("{s} = {}", sym(s).map_or("?".into(), |v| v.to_string())));
                });
            }
            values.dedup();
            return fail!(InvalidArgument, "{op}: needs `{c}`, but {}", values.join(", "));
        }
    }
    let mut dtypes = Vec::with_capacity(spec.tensors.len());
    let mut shapes = Vec::with_capacity(spec.tensors.len());
    let mut layouts = Vec::with_capacity(spec.tensors.len());
    for t in &spec.tensors {
        let dtype = problem.dtypes.get(&t.name).copied().or(t.implied_dtype());
        match dtype {
            Some(d) if !t.dtypes.contains(&d) => {
                let allowed: Vec<&str> = t.dtypes.iter().map(|d| d.name()).collect();
                return fail!(
                    InvalidArgument,
                    "{op}: tensor `{}` is {d}, the op takes {}",
                    t.name,
                    allowed.join(", ")
                );
            }
            None if !t.optional => {
                return fail!(
                    InvalidArgument,
                    "{op}: the dtype of tensor `{}` is not given",
                    t.name
                );
            }
            _ => dtypes.push(dtype),
        }
        let mut shape = Vec::with_capacity(t.shape.len());
        for e in &t.shape {
            match e.eval(&sym) {
                Some(n) if n >= 0 => shape.push(n),
                _ => {
                    return fail!(
                        InvalidArgument,
                        "{op}: extent `{e}` of `{}` has no value",
                        t.name
                    );
                }
            }
        }
        let layout = problem.layouts.get(&t.name);
        if let Some(layout) = layout {
            check_strides(op, &t.name, t.strides, &shape, &layout.strides)?;
        }
        layouts.push(layout.cloned());
        shapes.push(shape);
    }
    let mut attrs = Vec::with_capacity(spec.attrs.len());
    for a in &spec.attrs {
        let index = match problem.attrs.get(&a.name) {
            None => Some(0),
            Some(v) => a.values.iter().position(|x| x == v),
        };
        let Some(index) = index else {
            let v = problem.attrs.get(&a.name).map_or("", String::as_str);
            return fail!(
                InvalidArgument,
                "{op}: attribute `{}` is `{v}`, the op takes {}",
                a.name,
                a.values.join(", ")
            );
        };
        attrs.push(index);
    }
    let (exact, buckets) = key(spec, &axes, &dtypes, &attrs, &shapes, &layouts);
    Ok(Resolved { axes, dtypes, attrs, shapes, layouts, exact, buckets })
}

/// The parts of a tuned record's key, in the spec's order.
fn key(
    spec: &OpSpec,
    axes: &[i64],
    dtypes: &[Option<DType>],
    attrs: &[usize],
    shapes: &[Vec<i64>],
    layouts: &[Option<TensorLayout>],
) -> (Vec<i64>, Vec<i64>) {
    let mut exact = Vec::with_capacity(axes.len() + 2 * dtypes.len() + attrs.len());
    let mut buckets = Vec::new();
    for (a, &n) in spec.axes.iter().zip(axes) {
        match a.key {
            AxisKey::Exact => exact.push(n),
            AxisKey::Bucket => buckets.push(n),
            AxisKey::Ignored => {}
        }
    }
    exact.extend(dtypes.iter().map(|d| d.map_or(-1, |d| d as i64)));
    for (layout, shape) in layouts.iter().zip(shapes) {
        let class = layout.as_ref().and_then(|l| layout_class(shape, l));
        exact.push(class.as_deref().map_or(0, layout_code));
    }
    exact.extend(attrs.iter().map(|&i| i as i64));
    (exact, buckets)
}

/// A number that stands for the text of a layout class. 0 is the default layout.
pub(crate) fn layout_code(class: &str) -> i64 {
    // FNV-1a; a handful of classes exist.
    let hash = class
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    (hash >> 1) as i64 | 1
}

fn check_names(spec: &OpSpec, problem: &Problem) -> Result<()> {
    let op = &spec.name;
    let known = |names: Vec<&str>| names.join(", ");
    if let Some(name) = problem.axes.keys().find(|n| spec.axis(n).is_none()) {
        let axes = known(spec.axes.iter().map(|a| a.name.as_str()).collect());
        return fail!(InvalidArgument, "{op}: no axis `{name}`; the op has {axes}");
    }
    let tensors = problem.dtypes.keys().chain(problem.layouts.keys());
    if let Some(name) = tensors.into_iter().find(|n| spec.tensor(n).is_none()) {
        let tensors = known(spec.tensors.iter().map(|t| t.name.as_str()).collect());
        return fail!(InvalidArgument, "{op}: no tensor `{name}`; the op has {tensors}");
    }
    if let Some(name) = problem.attrs.keys().find(|n| spec.attr(n).is_none()) {
        let attrs = known(spec.attrs.iter().map(|a| a.name.as_str()).collect());
        return fail!(InvalidArgument, "{op}: no attribute `{name}`; the op has {attrs}");
    }
    Ok(())
}

/// Checks strides against the spec's rule. Axes of one element have no stride to speak of.
pub(crate) fn check_strides(
    op: &str,
    name: &str,
    rule: Strides,
    shape: &[i64],
    strides: &[i64],
) -> Result<()> {
    if strides.len() != shape.len() {
        let (want, got) = (shape.len(), strides.len());
        return fail!(InvalidArgument, "{op}: tensor `{name}` has rank {got}, the op takes {want}");
    }
    if shape.contains(&0) {
        return Ok(());
    }
    let last_free = || match (shape.last(), strides.last()) {
        (Some(&d), Some(&s)) => d > 1 && s != 1,
        _ => false,
    };
    let gaps = || shape.iter().zip(strides).zip(packed(shape)).any(|((&d, &s), p)| d > 1 && s != p);
    match rule {
        Strides::Rows if last_free() => fail!(
            InvalidArgument,
            "{op}: tensor `{name}` has strides {strides:?}, its last axis must have stride 1; copy it"
        ),
        Strides::Packed if gaps() => fail!(
            InvalidArgument,
            "{op}: tensor `{name}` of shape {shape:?} has strides {strides:?}, it must be packed; copy it"
        ),
        _ => Ok(()),
    }
}

/// The extent of an axis.
pub(crate) fn axis_value(spec: &OpSpec, axes: &[i64], name: &str) -> Option<i64> {
    spec.axes.iter().position(|a| a.name == name).and_then(|i| axes.get(i)).copied()
}

impl Resolved {
    /// The value of an expression of an impl: over axes, then the variant's numbers.
    pub(crate) fn eval(&self, spec: &OpSpec, i: &OpImpl, e: &Expr) -> Option<i64> {
        e.eval(&|s| axis_value(spec, &self.axes, s).or_else(|| i.variant.int(s)))
    }

    fn tensor<'s>(
        &'s self,
        spec: &OpSpec,
        name: &str,
    ) -> Option<(&'s [i64], Option<&'s TensorLayout>)> {
        let at = spec.tensors.iter().position(|t| t.name == name)?;
        Some((self.shapes.get(at)?, self.layouts.get(at)?.as_ref()))
    }

    /// Why an impl does not serve this problem; `None` if it does.
    pub(crate) fn refusal<'k>(
        &self,
        spec: &OpSpec,
        i: &OpImpl,
        kernel: &dyn Fn(&str) -> Option<&'k KernelDesc>,
    ) -> Option<String> {
        for (t, want) in spec.tensors.iter().zip(&self.dtypes) {
            let has = i.dtypes.get(&t.name).copied().or(t.implied_dtype());
            if has != *want {
                let text = |d: Option<DType>| d.map_or("absent", DType::name);
                return Some(format!("`{}` is {}, not {}", t.name, text(*want), text(has)));
            }
        }
        for (a, &chosen) in spec.attrs.iter().zip(&self.attrs) {
            let has = i.attrs.get(&a.name).or(a.values.first());
            let want = a.values.get(chosen);
            if has != want {
                let text = |v: Option<&String>| v.cloned().unwrap_or_default();
                return Some(format!("`{}` is {}, not {}", a.name, text(want), text(has)));
            }
        }
        for c in &i.when {
            let holds = c.eval(&|s| axis_value(spec, &self.axes, s).or_else(|| i.variant.int(s)));
            if holds != Some(true) {
                return Some(format!("needs `{c}`"));
            }
        }
        for l in &i.launches {
            let k = kernel(&l.kernel)?;
            for fact in &k.assumes {
                let arg = k.params.iter().position(|p| p.name == fact.param);
                let arg = arg.and_then(|n| l.args.get(n));
                if let Some(arg) = arg
                    && !self.fact_holds(spec, i, arg, fact.fact)
                {
                    return Some(format!("kernel `{}` needs `{fact}`", l.kernel));
                }
            }
        }
        None
    }

    fn fact_holds(&self, spec: &OpSpec, i: &OpImpl, arg: &Arg, fact: Fact) -> bool {
        match arg {
            Arg::Axis(e) => match (self.eval(spec, i, e), fact) {
                (Some(v), Fact::ScalarMultiple(n)) => multiple(v, n),
                _ => false,
            },
            // The value is known when it is bound, and checked then.
            Arg::Scalar(_) => true,
            Arg::Workspace(name) => {
                let w = i.workspace.iter().find(|w| w.name == *name);
                let dims = w.and_then(|w| self.dims(spec, i, &w.dims));
                dims.is_some_and(|d| view_fact_holds(fact, &d, &packed(&d), 64))
            }
            Arg::Tensor { name, view } => {
                let Some((shape, layout)) = self.tensor(spec, name) else { return false };
                let align = layout.map_or(64, |l| l.align);
                match view {
                    Some(dims) => {
                        let dims = self.dims(spec, i, dims);
                        dims.is_some_and(|d| view_fact_holds(fact, &d, &packed(&d), align))
                    }
                    None => {
                        let own = layout.map(|l| l.strides.clone());
                        let strides = own.unwrap_or_else(|| packed(shape));
                        view_fact_holds(fact, shape, &strides, align)
                    }
                }
            }
        }
    }

    pub(crate) fn dims(&self, spec: &OpSpec, i: &OpImpl, dims: &[Expr]) -> Option<Vec<i64>> {
        dims.iter().map(|e| self.eval(spec, i, e).filter(|&n| n >= 0)).collect()
    }
}

fn multiple(v: i64, n: u64) -> bool {
    i64::try_from(n).is_ok_and(|n| n != 0 && v % n == 0)
}

/// Whether a fact holds of a view. Strides of an axis of at most one element are never used.
pub(crate) fn view_fact_holds(fact: Fact, dims: &[i64], strides: &[i64], align: u64) -> bool {
    let dim = |axis: usize| dims.get(axis).copied();
    let stride = |axis: usize| strides.get(axis).copied();
    let used = |axis: usize| dim(axis).is_some_and(|d| d > 1) && !dims.contains(&0);
    match fact {
        Fact::DimMultiple(axis, n) => dim(axis).is_some_and(|d| multiple(d, n)),
        Fact::DimEquals(axis, n) => dim(axis).is_some_and(|d| i64::try_from(n) == Ok(d)),
        Fact::StrideEquals(axis, n) => {
            !used(axis) || stride(axis).is_some_and(|s| i64::try_from(n) == Ok(s))
        }
        Fact::StrideMultiple(axis, n) => {
            !used(axis) || stride(axis).is_some_and(|s| multiple(s, n))
        }
        Fact::Aligned(n) => n != 0 && align.is_multiple_of(n),
        Fact::ScalarMultiple(_) => false,
    }
}
