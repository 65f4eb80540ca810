//! The choice of an impl: a pure function of problem, manifest and configs, which says why.

use crate::Result;
use crate::catalog::Catalog;
use crate::config_store::Configs;
use crate::error::fail;
use crate::resolve::{Resolved, resolve};
use std::fmt;
use tilewright_abi::{OpImpl, Problem, Variant};

/// The chosen impl and why.
#[derive(Debug)]
pub struct Selection<'c> {
    /// The impl.
    pub chosen: &'c OpImpl,
    /// Why.
    pub reason: Reason,
    pub(crate) resolved: Resolved,
}

/// Why an impl was chosen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// A tuned record says so: the time that was measured.
    Tuned {
        /// Microseconds.
        time_us: f64,
    },
    /// No record; the applicable impl of highest priority.
    Default,
    /// The caller named it.
    Asked,
    /// A record's variant does not apply; the applicable impl of highest priority.
    RecordRefused {
        /// The record's algorithm and variant.
        wanted: String,
        /// Why it does not apply.
        why: String,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Tuned { time_us } => write!(f, "tuned, {time_us} µs when measured"),
            Reason::Default => f.write_str("default, no tuned record"),
            Reason::Asked => f.write_str("asked for by name"),
            Reason::RecordRefused { wanted, why } => {
                write!(f, "default, the tuned `{wanted}` does not apply: {why}")
            }
        }
    }
}

/// Picks the impl that serves a problem.
pub fn select<'c>(
    problem: &Problem,
    catalog: &'c Catalog,
    configs: &Configs,
) -> Result<Selection<'c>> {
    let spec = catalog.spec(&problem.op)?;
    let resolved = resolve(spec, problem)?;
    let kernel = |name: &str| catalog.kernel(name);
    let refusal = |i: &OpImpl| resolved.refusal(spec, i, &kernel);
    let mut reason = Reason::Default;
    if let Some(choice) = configs.lookup(&problem.op, &resolved.exact, &resolved.buckets) {
        let wanted = |i: &&OpImpl| i.algorithm == choice.algorithm && i.variant == choice.variant;
        let mut why = "it is not in the manifest".to_owned();
        for i in catalog.impls(&problem.op).filter(wanted) {
            match refusal(i) {
                None => {
                    let reason = Reason::Tuned { time_us: choice.time_us };
                    return Ok(Selection { chosen: i, reason, resolved });
                }
                Some(w) => why = w,
            }
        }
        let wanted = format!("{}.{}", choice.algorithm, choice.variant);
        reason = Reason::RecordRefused { wanted, why };
    }
    let mut best: Option<&OpImpl> = None;
    for i in catalog.impls(&problem.op) {
        if best.is_none_or(|b| i.priority > b.priority) && refusal(i).is_none() {
            best = Some(i);
        }
    }
    if let Some(chosen) = best {
        return Ok(Selection { chosen, reason, resolved });
    }
    let reasons: Vec<String> = catalog
        .impls(&problem.op)
        .filter_map(|i| refusal(i).map(|why| format!("`{}`: {why}", i.id())))
        .collect();
    let shown: Vec<&str> = reasons.iter().take(4).map(String::as_str).collect();
    let more = match reasons.len().saturating_sub(shown.len()) {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    fail!(
        Unsupported,
        "{}: no kernel for {} on `{}`: {}{more}",
        problem.op,
        describe(problem),
        catalog.manifest().target,
        if shown.is_empty() { "the op has none".to_owned() } else { shown.join("; ") }
    )
}

/// An impl of an op, and whether it serves a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The algorithm.
    pub algorithm: String,
    /// Its variant.
    pub variant: Variant,
    /// Among those that apply, the highest is the default.
    pub priority: i32,
    /// Why it does not serve the problem; `None` if it does.
    pub refusal: Option<String>,
}

/// All impls of a problem's op, in order of listing: what a tuner chooses among, and what explains a
/// choice.
pub fn candidates(problem: &Problem, catalog: &Catalog) -> Result<Vec<Candidate>> {
    let spec = catalog.spec(&problem.op)?;
    let resolved = resolve(spec, problem)?;
    let candidate = |i: &OpImpl| Candidate {
        algorithm: i.algorithm.clone(),
        variant: i.variant.clone(),
        priority: i.priority,
        refusal: resolved.refusal(spec, i, &|name| catalog.kernel(name)),
    };
    Ok(catalog.impls(&problem.op).map(candidate).collect())
}

/// Takes the impl of this algorithm and variant, whatever the configs and priorities say.
pub fn select_exactly<'c>(
    problem: &Problem,
    catalog: &'c Catalog,
    algorithm: &str,
    variant: &Variant,
) -> Result<Selection<'c>> {
    let spec = catalog.spec(&problem.op)?;
    let resolved = resolve(spec, problem)?;
    let mut why = "there is no such impl".to_owned();
    for i in catalog.impls(&problem.op) {
        if i.algorithm != algorithm || i.variant != *variant {
            continue;
        }
        match resolved.refusal(spec, i, &|name| catalog.kernel(name)) {
            None => return Ok(Selection { chosen: i, reason: Reason::Asked, resolved }),
            Some(w) => why = w,
        }
    }
    let op = &problem.op;
    fail!(Unsupported, "{op}: `{algorithm}.{variant}` does not serve {}: {why}", describe(problem))
}

/// `a f32, b bf16, m = 3, k = 64, epilogue = silu`.
pub(crate) fn describe(problem: &Problem) -> String {
    let dtypes = problem.dtypes.iter().map(|(t, d)| format!("{t} {d}"));
    let axes = problem.axes.iter().map(|(a, n)| format!("{a} = {n}"));
    let attrs = problem.attrs.iter().map(|(a, v)| format!("{a} = {v}"));
    dtypes.chain(axes).chain(attrs).collect::<Vec<_>>().join(", ")
}
