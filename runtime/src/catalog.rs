//! A manifest with its names resolved: what `select` and `plan` look things up in.

use crate::Result;
use crate::error::fail;
use std::collections::{BTreeMap, HashMap};
use tilewright_abi::{KernelDesc, Manifest, OpImpl, OpSpec};

/// An indexed manifest.
#[derive(Debug)]
pub struct Catalog {
    manifest: Manifest,
    kernels: HashMap<String, usize>,
    ops: BTreeMap<String, Op>,
}

#[derive(Debug)]
struct Op {
    spec: usize,
    impls: Vec<usize>,
}

impl Catalog {
    /// Checks a manifest and indexes it.
    pub fn new(manifest: Manifest) -> Result<Catalog> {
        let faults = manifest.check();
        if !faults.is_empty() {
            let n = faults.len();
            let first = faults.first().map_or("", String::as_str);
            return fail!(
                Corrupt,
                "the manifest of `{}` contradicts itself in {n} places, first: {first}; rebuild the \
                 pack",
                manifest.target
            );
        }
        let kernels = manifest.kernels.iter().enumerate();
        let kernels = kernels.map(|(i, k)| (k.name.clone(), i)).collect();
        let mut ops = BTreeMap::new();
        for (spec, s) in manifest.specs.iter().enumerate() {
            ops.insert(s.name.clone(), Op { spec, impls: Vec::new() });
        }
        for (i, x) in manifest.impls.iter().enumerate() {
            if let Some(op) = ops.get_mut(&x.op) {
                op.impls.push(i);
            }
        }
        Ok(Catalog { manifest, kernels, ops })
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Names of all ops, sorted.
    pub fn ops(&self) -> impl Iterator<Item = &str> {
        self.ops.keys().map(String::as_str)
    }

    /// The spec of an op.
    pub fn spec(&self, op: &str) -> Result<&OpSpec> {
        let found = self.ops.get(op).and_then(|o| self.manifest.specs.get(o.spec));
        let Some(spec) = found else {
            let near: Vec<&str> = self.ops().filter(|o| related(o, op)).take(5).collect();
            let hint = match near.as_slice() {
                [] => format!("the pack has {} ops", self.ops.len()),
                near => format!("near are `{}`", near.join("`, `")),
            };
            return fail!(NotFound, "no op `{op}` for `{}`; {hint}", self.manifest.target);
        };
        Ok(spec)
    }

    /// The impls of an op, in order of listing.
    pub fn impls(&self, op: &str) -> impl Iterator<Item = &OpImpl> {
        let indices = self.ops.get(op).map_or(&[][..], |o| &o.impls);
        indices.iter().filter_map(|&i| self.manifest.impls.get(i))
    }

    /// The kernel of a name.
    pub fn kernel(&self, name: &str) -> Option<&KernelDesc> {
        self.kernels.get(name).and_then(|&i| self.manifest.kernels.get(i))
    }
}

/// Whether two op names share a word.
fn related(a: &str, b: &str) -> bool {
    let words = |s: &'_ str| s.split(['.', '_']).map(str::to_owned).collect::<Vec<_>>();
    let b = words(b);
    words(a).iter().any(|w| b.contains(w))
}
