//! Tuned configs, read only: which algorithm and variant the tuner found best for a problem.
//!
//! Files are `<dir>/<device key>/<op>.toml`. They are read once, when a runtime is built. A file or a
//! record that cannot be used is left out, with the reason in [`Configs::faults`].

use crate::catalog::Catalog;
use crate::resolve::layout_code;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use tilewright_abi::{
    AxisKey, ConfigFile, ConfigKey, ConfigRecord, DType, KeyField, OpSpec, Variant,
};

/// The records that apply to one device and one manifest.
#[derive(Debug, Default)]
pub struct Configs {
    ops: BTreeMap<String, OpConfigs>,
    faults: Vec<String>,
    n_records: usize,
}

/// Records of one op by the exact part of their key.
type OpConfigs = HashMap<Box<[i64]>, Vec<Entry>>;

#[derive(Debug)]
struct Entry {
    /// One for each axis keyed by range, in the spec's order.
    ranges: Vec<(i64, i64)>,
    choice: Choice,
}

/// What a record says to use.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: String,
    /// Its variant.
    pub variant: Variant,
    /// The time that was measured.
    pub time_us: f64,
}

impl Configs {
    /// Reads the files of a device. A directory that is not there holds no records.
    pub fn read_dir(dir: &Path, device_key: &str, catalog: &Catalog) -> Configs {
        let mut configs = Configs::default();
        let dir = dir.join(device_key);
        let mut paths: Vec<_> = match std::fs::read_dir(&dir) {
            Ok(entries) => entries.filter_map(|e| e.ok().map(|e| e.path())).collect(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return configs,
            Err(e) => {
                configs.faults.push(format!("`{}`: {e}", dir.display()));
                return configs;
            }
        };
        paths.retain(|p| p.extension().is_some_and(|e| e == "toml"));
        paths.sort();
        for path in paths {
            match std::fs::read_to_string(&path) {
                Ok(text) => {
                    configs.add_text(&text, &path.display().to_string(), device_key, catalog)
                }
                Err(e) => configs.faults.push(format!("`{}`: {e}", path.display())),
            }
        }
        configs
    }

    /// Adds the records of one file. Later records replace earlier ones of the same key.
    pub fn add_text(&mut self, text: &str, name: &str, device_key: &str, catalog: &Catalog) {
        let file = match ConfigFile::from_text(text) {
            Ok(file) => file,
            Err(e) => return self.faults.push(format!("`{name}`: {e}")),
        };
        if file.device != device_key {
            let device = &file.device;
            return self.faults.push(format!("`{name}`: is for `{device}`, not `{device_key}`"));
        }
        self.faults.extend(file.skipped.iter().map(|s| format!("`{name}`: {s}")));
        for r in file.records {
            let key = r.key.to_string();
            if let Err(e) = self.add(r, catalog) {
                self.faults.push(format!("`{name}`: record of {key}: {e}"));
            }
        }
    }

    fn add(&mut self, r: ConfigRecord, catalog: &Catalog) -> Result<(), String> {
        let spec = catalog.spec(&r.key.op).map_err(|e| e.to_string())?;
        let (exact, ranges) = compact(spec, &r.key)?;
        let same =
            |i: &&tilewright_abi::OpImpl| i.algorithm == r.algorithm && i.variant == r.variant;
        let found = catalog.impls(&r.key.op).find(same);
        let Some(found) = found else {
            return Err(format!("no compiled variant `{}` of `{}`", r.variant, r.algorithm));
        };
        let first = found.launches.first().and_then(|l| catalog.kernel(&l.kernel));
        if let Some(kernel) = first {
            if kernel.source_hash != r.provenance.source {
                return Err(
                    "the kernel's source has changed since; run `tilewright tune` again".into()
                );
            }
            if kernel.toolchain != r.provenance.toolchain {
                let (was, is) = (&r.provenance.toolchain, &kernel.toolchain);
                return Err(format!("it was measured with `{was}`, the kernels are from `{is}`"));
            }
        }
        let choice = Choice { algorithm: r.algorithm, variant: r.variant, time_us: r.time_us };
        let entries = self.ops.entry(r.key.op).or_default().entry(exact.into()).or_default();
        entries.retain(|e| e.ranges != ranges);
        entries.push(Entry { ranges, choice });
        self.n_records += 1;
        Ok(())
    }

    /// The record of a problem: by the exact part of its key (extents of exact axes, codes of dtypes,
    /// layouts and attributes, in the spec's order), and the extents keyed by range.
    pub fn lookup(&self, op: &str, exact: &[i64], buckets: &[i64]) -> Option<&Choice> {
        let entries = self.ops.get(op)?.get(exact)?;
        let within = |e: &&Entry| {
            e.ranges.len() == buckets.len()
                && e.ranges.iter().zip(buckets).all(|(r, b)| r.0 <= *b && *b <= r.1)
        };
        entries.iter().find(within).map(|e| &e.choice)
    }

    /// Why files and records were left out.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Number of records in use.
    pub fn len(&self) -> usize {
        self.n_records
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.n_records == 0
    }
}

/// A key as the numbers that a resolved problem is looked up by; refuses a field that the spec does
/// not have and a missing one.
fn compact(spec: &OpSpec, key: &ConfigKey) -> Result<(Vec<i64>, Vec<(i64, i64)>), String> {
    let mut used = 0;
    let mut take = |name: &str| {
        let field = key.problem.get(name);
        used += usize::from(field.is_some());
        field
    };
    let (mut exact, mut ranges) = (Vec::new(), Vec::new());
    for a in &spec.axes {
        let name = &a.name;
        match (a.key, take(name)) {
            (AxisKey::Ignored, None) => {}
            (AxisKey::Exact, Some(KeyField::Int(n))) if *n >= a.min => exact.push(*n),
            (AxisKey::Bucket, Some(KeyField::Int(n))) if *n >= a.min => ranges.push((*n, *n)),
            (AxisKey::Bucket, Some(KeyField::Range(low, high))) if *low >= a.min => {
                ranges.push((*low, *high));
            }
            (_, None) => return Err(format!("axis `{name}` is missing")),
            (_, Some(field)) => return Err(format!("axis `{name}` cannot be `{field}`")),
        }
    }
    for t in &spec.tensors {
        match take(&t.name) {
            None if t.optional => exact.push(-1),
            None => return Err(format!("the dtype of `{}` is missing", t.name)),
            Some(field) => match DType::from_name(&field.to_string()) {
                Some(d) if t.dtypes.contains(&d) => exact.push(d as i64),
                _ => return Err(format!("tensor `{}` cannot be `{field}`", t.name)),
            },
        }
    }
    for t in &spec.tensors {
        let class = take(&format!("{}.layout", t.name));
        exact.push(class.map_or(0, |c| layout_code(&c.to_string())));
    }
    for a in &spec.attrs {
        let field = take(&a.name).map(ToString::to_string);
        match field.as_ref().and_then(|v| a.values.iter().position(|x| x == v)) {
            Some(i) => exact.push(i as i64),
            None => return Err(format!("attribute `{}` is missing or unknown", a.name)),
        }
    }
    if used != key.problem.len() {
        return Err("it has fields that the op does not have".to_owned());
    }
    Ok((exact, ranges))
}
