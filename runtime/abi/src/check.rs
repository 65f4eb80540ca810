//! Consistency of a manifest: every name resolves, every argument fits its parameter.
//!
//! The pack builder refuses a manifest with faults, so that a server never meets one.

use crate::{
    Arg, DType, Expr, KernelDesc, Launch, Manifest, OpImpl, OpSpec, ParamDesc, ParamKind, Role,
    TensorSpec,
};
use std::collections::{BTreeMap, BTreeSet};

impl Manifest {
    /// All faults, each naming where it is; empty when there is none.
    pub fn check(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut kernels = BTreeMap::new();
        for k in &self.kernels {
            if kernels.insert(k.name.as_str(), k).is_some() {
                faults.push(format!("kernel `{}` is listed twice", k.name));
            }
            check_kernel(k, &mut faults);
        }
        let mut names = BTreeSet::new();
        for spec in &self.specs {
            if !names.insert(spec.name.as_str()) {
                faults.push(format!("spec `{}` is listed twice", spec.name));
            }
            faults.extend(spec.check());
        }
        for i in &self.impls {
            match self.spec(&i.op) {
                Some(spec) => check_impl(i, spec, &kernels, &mut faults),
                None => faults.push(format!("impl `{}`: no spec of op `{}`", i.id(), i.op)),
            }
        }
        faults
    }
}

fn check_kernel(k: &KernelDesc, faults: &mut Vec<String>) {
    if k.artifact.len() != 64 || !k.artifact.bytes().all(|c| b"0123456789abcdef".contains(&c)) {
        faults.push(format!("kernel `{}`: `{}` is not a content hash", k.name, k.artifact));
    }
    for a in &k.assumes {
        if !k.params.iter().any(|p| p.name == a.param) {
            faults.push(format!("kernel `{}`: no parameter of fact `{a}`", k.name));
        }
    }
}

impl OpSpec {
    /// All faults, each naming where it is; empty when there is none.
    pub fn check(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut fault = |text: String| faults.push(format!("spec `{}`: {text}", self.name));
        let mut names = BTreeSet::new();
        let axes = self.axes.iter().map(|a| &a.name);
        let tensors = self.tensors.iter().map(|t| &t.name);
        let scalars = self.scalars.iter().map(|s| &s.name);
        let attrs = self.attrs.iter().map(|a| &a.name);
        for name in axes.chain(tensors).chain(scalars).chain(attrs) {
            if !names.insert(name) {
                fault(format!("`{name}` names two things; config keys and bindings need one"));
            }
        }
        for t in &self.tensors {
            if t.dtypes.is_empty() {
                fault(format!("tensor `{}` has no dtype", t.name));
            }
            for e in &t.shape {
                unknown(e, &|s| self.axis(s).is_some(), &mut |s| {
                    fault(format!("shape of `{}`: unknown name `{s}` in `{e}`", t.name));
                });
            }
        }
        for a in self.attrs.iter().filter(|a| a.values.is_empty()) {
            fault(format!("attribute `{}` has no value", a.name));
        }
        for c in &self.constraints {
            for e in [&c.lhs, &c.rhs] {
                unknown(e, &|s| self.axis(s).is_some(), &mut |s| {
                    fault(format!("constraint `{c}`: unknown name `{s}`"));
                });
            }
        }
        faults
    }
}

fn unknown(e: &Expr, known: &dyn Fn(&str) -> bool, report: &mut dyn FnMut(&str)) {
    e.for_each_sym(&mut |s| {
        if !known(s) {
            report(s);
        }
    });
}

struct ImplCheck<'c> {
    i: &'c OpImpl,
    spec: &'c OpSpec,
    faults: &'c mut Vec<String>,
}

fn check_impl(
    i: &OpImpl,
    spec: &OpSpec,
    kernels: &BTreeMap<&str, &KernelDesc>,
    faults: &mut Vec<String>,
) {
    let mut c = ImplCheck { i, spec, faults };
    c.names();
    for launch in &i.launches {
        match kernels.get(launch.kernel.as_str()) {
            Some(kernel) => c.launch(launch, kernel),
            None => c.fault(format!("no kernel `{}`", launch.kernel)),
        }
    }
}

impl ImplCheck<'_> {
    fn fault(&mut self, text: String) {
        self.faults.push(format!("impl `{}`: {text}", self.i.id()));
    }

    fn expr(&mut self, what: &str, e: &Expr) {
        let (i, spec) = (self.i, self.spec);
        let known = |s: &str| spec.axis(s).is_some() || i.variant.int(s).is_some();
        unknown(e, &known, &mut |s| self.fault(format!("{what}: unknown name `{s}` in `{e}`")));
    }

    fn names(&mut self) {
        let (i, spec) = (self.i, self.spec);
        for (name, dtype) in &i.dtypes {
            match spec.tensor(name) {
                None => self.fault(format!("no tensor `{name}` in the spec")),
                Some(t) if !t.dtypes.contains(dtype) => {
                    self.fault(format!("the spec does not allow {dtype} for tensor `{name}`"));
                }
                Some(_) => {}
            }
        }
        for t in &spec.tensors {
            if !t.optional && t.implied_dtype().is_none() && !i.dtypes.contains_key(&t.name) {
                self.fault(format!("the dtype of tensor `{}` is not given", t.name));
            }
        }
        for (name, value) in &i.attrs {
            match spec.attr(name) {
                Some(a) if a.values.contains(value) => {}
                _ => self.fault(format!("the spec has no attribute `{name} = {value}`")),
            }
        }
        for c in &i.when {
            self.expr("condition", &c.lhs);
            self.expr("condition", &c.rhs);
        }
        for w in &i.workspace {
            w.dims.iter().for_each(|e| self.expr("workspace", e));
        }
    }

    fn launch(&mut self, l: &Launch, kernel: &KernelDesc) {
        l.grid.iter().for_each(|e| self.expr("grid", e));
        let (n_args, n_params) = (l.args.len(), kernel.params.len());
        if n_args != n_params {
            self.fault(format!("`{}`: {n_args} arguments for {n_params} parameters", l.kernel));
        }
        for (arg, param) in l.args.iter().zip(&kernel.params) {
            self.arg(arg, param);
        }
    }

    fn arg(&mut self, arg: &Arg, param: &ParamDesc) {
        let (i, spec) = (self.i, self.spec);
        match arg {
            Arg::Tensor { name, view } => {
                let Some(t) = spec.tensor(name) else {
                    return self.fault(format!("no tensor `{name}` in the spec"));
                };
                let Some(dtype) = i.dtypes.get(name).copied().or(t.implied_dtype()) else {
                    return self.fault(format!("the impl does not give the dtype of `{name}`"));
                };
                view.iter().flatten().for_each(|e| self.expr("view", e));
                let rank = view.as_ref().map_or(t.shape.len(), Vec::len);
                self.view(&format!("tensor `{name}`"), dtype, rank, param);
                self.writes(t, param);
            }
            Arg::Workspace(name) => match i.workspace.iter().find(|w| w.name == *name) {
                Some(w) => self.view(&format!("workspace `{name}`"), w.dtype, w.dims.len(), param),
                None => self.fault(format!("no workspace `{name}`")),
            },
            Arg::Scalar(name) => match (spec.scalar(name), param.kind) {
                (Some(s), ParamKind::Scalar(d)) if s.dtype == d => {}
                (None, _) => self.fault(format!("no scalar `{name}` in the spec")),
                (Some(s), _) => {
                    self.fault(format!("scalar `{name}: {}` for parameter `{param}`", s.dtype));
                }
            },
            Arg::Axis(e) => {
                self.expr("argument", e);
                if !matches!(param.kind, ParamKind::Scalar(d) if d.is_int()) {
                    self.fault(format!("number `{e}` for parameter `{param}`"));
                }
            }
        }
    }

    fn view(&mut self, what: &str, dtype: DType, rank: usize, param: &ParamDesc) {
        let ParamKind::View { dtype: want, rank: want_rank, .. } = param.kind else {
            return self.fault(format!("{what} for parameter `{param}`"));
        };
        // A packed sub-byte tensor reaches a kernel as the bytes that hold it.
        let fits = want == dtype || (dtype.bits() < 8 && want == DType::U8);
        if !fits || want_rank != rank {
            self.fault(format!("{what} is a {dtype} of rank {rank}, parameter is `{param}`"));
        }
    }

    fn writes(&mut self, t: &TensorSpec, param: &ParamDesc) {
        if matches!(param.kind, ParamKind::View { mutable: true, .. }) && t.role == Role::In {
            self.fault(format!("parameter `{param}` writes `{}`, which is an input", t.name));
        }
    }
}
