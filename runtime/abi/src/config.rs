//! Config records: what the tuner found best, for which problem, and where that was found.
//!
//! One file holds the records of one op on one device: a root block with the form's version, the tool
//! that wrote it and the device key, then a `[[record]]` block each. A bad record never takes the
//! others with it. Keys and values are names, never indices, so that a record means the same as long as
//! it can be read.

use crate::text::{Table, Value, blocks};
use crate::{AxisKey, OpSpec, Problem, Strides, TargetId, Variant};
use std::collections::BTreeMap;
use std::fmt;

/// Version of the records' form that this crate writes and reads.
pub const CONFIG_VERSION: u32 = 1;

/// What a record is for: an op and the named fields of a problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigKey {
    /// The op's name.
    pub op: String,
    /// Axes, dtypes by tensor, attributes, and layouts (`<tensor>.layout`) that are not the default.
    pub problem: BTreeMap<String, KeyField>,
}

/// A field of a [`ConfigKey`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyField {
    /// An exact extent.
    Int(i64),
    /// A range of extents, both ends included. Written `33..=64`.
    Range(i64, i64),
    /// A dtype, an attribute's value, a layout.
    Text(String),
}

/// What the tuner found best for a key.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigRecord {
    /// What it is for.
    pub key: ConfigKey,
    /// The algorithm.
    pub algorithm: String,
    /// Its variant.
    pub variant: Variant,
    /// Median time of a run.
    pub time_us: f64,
    /// Relative spread of the times.
    pub spread: f64,
    /// Where it was found.
    pub provenance: Provenance,
}

/// Where a record comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Source hash of the first kernel. A record whose source changed is not used.
    pub source: String,
    /// Content hash of its artifact.
    pub artifact: String,
    /// What compiled it. A record of another toolchain is not used.
    pub toolchain: String,
    /// Version of the device's driver; empty on a CPU.
    pub driver: String,
    /// Day of the measurement, `2026-11-20`.
    pub date: String,
}

/// A file of records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigFile {
    /// What wrote it.
    pub tool: String,
    /// See [`device_key`].
    pub device: String,
    /// The records.
    pub records: Vec<ConfigRecord>,
    /// Records that could not be read, each with its line and the reason.
    pub skipped: Vec<String>,
}

/// Why a whole file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// Its root block cannot be read: the reason.
    NotConfigs(String),
    /// Written by a newer version of the form, which must not be overwritten: the version.
    Newer(i64),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::NotConfigs(why) => write!(f, "not a file of tuned configs: {why}"),
            ConfigError::Newer(v) => write!(
                f,
                "written in form {v}, newer than {CONFIG_VERSION}, the newest this program reads; \
                 update the program"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}

/// The key of a device: target, number of cores (SMs, CUs) and the limits that variants depend on.
/// Never a marketing name. Also the folder of its files.
///
/// ```
/// use tilewright_abi::{TargetId, device_key};
/// assert_eq!(device_key(&TargetId::new("cpu/x86-64-v3"), 16, 0), "cpu-x86-64-v3-16");
/// let sm90 = TargetId::new("nvptx/sm_90a");
/// assert_eq!(device_key(&sm90, 132, 232448), "nvptx-sm_90a-132-smem232448");
/// assert_ne!(device_key(&sm90, 114, 232448), device_key(&sm90, 132, 232448));
/// ```
pub fn device_key(target: &TargetId, cores: u32, smem_bytes: u32) -> String {
    match smem_bytes {
        0 => format!("{}-{cores}", target.folder()),
        _ => format!("{}-{cores}-smem{smem_bytes}", target.folder()),
    }
}

/// The range of extents that share a record: `0`, `1`, `2`, then from each power of two (not
/// included) to the next (included).
///
/// ```
/// assert_eq!(tilewright_abi::bucket(33), (33, 64));
/// assert_eq!(tilewright_abi::bucket(64), (33, 64));
/// assert_eq!(tilewright_abi::bucket(1), (1, 1));
/// ```
pub fn bucket(extent: i64) -> (i64, i64) {
    if extent <= 2 {
        return (extent, extent);
    }
    let high = (extent as u64).next_power_of_two();
    let high = i64::try_from(high).unwrap_or(i64::MAX);
    (high / 2 + 1, high)
}

/// How a tensor's layout enters a key: none for the default, else the stride class and the alignment.
pub fn layout_class(spec_shape: &[i64], layout: &crate::TensorLayout) -> Option<String> {
    let mut want = 1i64;
    let mut packed = true;
    for (&d, &s) in spec_shape.iter().zip(&layout.strides).rev() {
        packed &= d <= 1 || s == want;
        want = want.saturating_mul(d.max(1));
    }
    let last_is_one =
        layout.strides.last() == Some(&1) || spec_shape.last().is_none_or(|&d| d <= 1);
    let strides = match (packed, last_is_one) {
        (true, _) => Strides::Packed,
        (false, true) => Strides::Rows,
        (false, false) => Strides::Any,
    };
    if strides == Strides::Packed && layout.align >= 64 {
        return None;
    }
    Some(format!("{},align={}", crate::manifest_text::strides_name(strides), layout.align.min(64)))
}

impl ConfigKey {
    /// The key of a problem: attributes at their defaults and implied dtypes are written out.
    pub fn of(spec: &OpSpec, problem: &Problem) -> ConfigKey {
        let mut fields = BTreeMap::new();
        for a in &spec.axes {
            let extent = problem.axes.get(&a.name).copied().unwrap_or(0);
            let field = match a.key {
                AxisKey::Exact => KeyField::Int(extent),
                AxisKey::Bucket => {
                    let (low, high) = bucket(extent);
                    KeyField::Range(low, high)
                }
                AxisKey::Ignored => continue,
            };
            fields.insert(a.name.clone(), field);
        }
        for t in &spec.tensors {
            let dtype = problem.dtypes.get(&t.name).copied().or(t.implied_dtype());
            if let Some(dtype) = dtype {
                fields.insert(t.name.clone(), KeyField::Text(dtype.name().to_owned()));
            }
            let axis = |s: &str| problem.axes.get(s).copied();
            let shape: Option<Vec<i64>> = t.shape.iter().map(|e| e.eval(&axis)).collect();
            if let (Some(layout), Some(shape)) = (problem.layouts.get(&t.name), shape)
                && let Some(class) = layout_class(&shape, layout)
            {
                fields.insert(format!("{}.layout", t.name), KeyField::Text(class));
            }
        }
        for a in &spec.attrs {
            let value = problem.attrs.get(&a.name).or(a.values.first());
            if let Some(value) = value {
                fields.insert(a.name.clone(), KeyField::Text(value.clone()));
            }
        }
        ConfigKey { op: spec.name.clone(), problem: fields }
    }
}

impl fmt::Display for KeyField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyField::Int(i) => write!(f, "{i}"),
            KeyField::Range(low, high) => write!(f, "{low}..={high}"),
            KeyField::Text(s) => f.write_str(s),
        }
    }
}

/// `gemm.dense(a = f32, m = 33..=64)`.
impl fmt::Display for ConfigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.op)?;
        for (i, (name, field)) in self.problem.iter().enumerate() {
            write!(f, "{}{name} = {field}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

impl ConfigRecord {
    fn from_table(t: &Table) -> Result<ConfigRecord, String> {
        let field = |(name, v): (&str, &Value)| {
            let field = match v {
                Value::Int(i) => KeyField::Int(*i),
                Value::Str(s) => match s.split_once("..=") {
                    Some((low, high)) => match (low.parse(), high.parse()) {
                        (Ok(low), Ok(high)) if low <= high => KeyField::Range(low, high),
                        _ => return Err(format!("`{name}`: `{s}` is not a range")),
                    },
                    None => KeyField::Text(s.clone()),
                },
                other => return Err(format!("`{name}` must be a number or a string, not {other}")),
            };
            Ok((name.to_owned(), field))
        };
        let p = t.table("provenance")?;
        let positive = |key: &str| match t.float(key)? {
            x if x.is_finite() && x >= 0.0 => Ok(x),
            x => Err(format!("`{key}` is {x}")),
        };
        Ok(ConfigRecord {
            key: ConfigKey {
                op: t.str("op")?.to_owned(),
                problem: t.table("problem")?.iter().map(field).collect::<Result<_, _>>()?,
            },
            algorithm: t.str("algorithm")?.to_owned(),
            variant: t.str("variant")?.parse()?,
            time_us: positive("time_us")?,
            spread: positive("spread")?,
            provenance: Provenance {
                source: p.str("source")?.to_owned(),
                artifact: p.str("artifact")?.to_owned(),
                toolchain: p.str("toolchain")?.to_owned(),
                driver: p.str("driver")?.to_owned(),
                date: p.str("date")?.to_owned(),
            },
        })
    }

    fn to_table(&self) -> Table {
        let mut t = Table::new();
        t.set("op", self.key.op.as_str());
        let mut problem = Table::new();
        for (name, field) in &self.key.problem {
            match field {
                KeyField::Int(i) => problem.set(name, *i),
                other => problem.set(name, other.to_string()),
            }
        }
        t.set("problem", problem);
        t.set("algorithm", self.algorithm.as_str());
        t.set("variant", self.variant.to_string());
        t.set("time_us", self.time_us);
        t.set("spread", self.spread);
        let p = &self.provenance;
        let mut provenance = Table::new();
        provenance.set("source", p.source.as_str());
        provenance.set("artifact", p.artifact.as_str());
        provenance.set("toolchain", p.toolchain.as_str());
        provenance.set("driver", p.driver.as_str());
        provenance.set("date", p.date.as_str());
        t.set("provenance", provenance);
        t
    }
}

impl ConfigFile {
    /// Reads a file. Bad records are listed in `skipped`.
    pub fn from_text(text: &str) -> Result<ConfigFile, ConfigError> {
        let blocks = blocks(text);
        let bad = |e: String| ConfigError::NotConfigs(e);
        let root = blocks.first().map(|b| b.parse().map_err(|e| bad(e.to_string())));
        let root = root.unwrap_or_else(|| Err(bad("it is empty".to_owned())))?;
        match root.int("schema").map_err(bad)? {
            v if v > i64::from(CONFIG_VERSION) => return Err(ConfigError::Newer(v)),
            v if v < i64::from(CONFIG_VERSION) => {
                return Err(bad(format!("schema {v} is unknown")));
            }
            _ => {}
        }
        let mut file = ConfigFile {
            tool: root.str("tool").unwrap_or("unknown").to_owned(),
            device: root.str("device").map_err(bad)?.to_owned(),
            ..ConfigFile::default()
        };
        for block in blocks.iter().skip(1) {
            let record = match block.name {
                "record" => block
                    .parse()
                    .map_err(|e| e.to_string())
                    .and_then(|t| ConfigRecord::from_table(&t)),
                other => Err(format!("unknown block `{other}`")),
            };
            match record {
                Ok(r) => file.records.push(r),
                Err(e) => file.skipped.push(format!("record at line {}: {e}", block.line)),
            }
        }
        Ok(file)
    }

    /// Writes a file; records that were skipped are not in it.
    pub fn to_text(&self) -> String {
        let mut root = Table::new();
        root.set("schema", CONFIG_VERSION);
        root.set("tool", self.tool.as_str());
        root.set("device", self.device.as_str());
        let mut out = String::new();
        root.write_lines(&mut out);
        for r in &self.records {
            out.push_str("\n[[record]]\n");
            r.to_table().write_lines(&mut out);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AttrSpec, AxisSpec, DType, Role, TensorLayout, TensorSpec};

    fn spec() -> OpSpec {
        OpSpec {
            name: "gemm.dense".into(),
            axes: vec![AxisSpec::new("m", "").bucketed(), AxisSpec::new("n", "")],
            tensors: vec![TensorSpec::new("a", Role::In, &[DType::F32, DType::BF16], &["m", "n"])],
            attrs: vec![AttrSpec::new("epilogue", &["none", "silu"])],
            ..OpSpec::default()
        }
    }

    fn record() -> ConfigRecord {
        let problem = Problem::new("gemm.dense").dtype("a", DType::F32).axis("m", 40).axis("n", 8);
        ConfigRecord {
            key: ConfigKey::of(&spec(), &problem),
            algorithm: "split_k".into(),
            variant: "bm=6".parse().unwrap(),
            time_us: 11.9,
            spread: 0.02,
            provenance: Provenance { source: "sha256:1".into(), ..Provenance::default() },
        }
    }

    #[test]
    fn problems_that_differ_have_distinct_keys() {
        let base = Problem::new("gemm.dense").dtype("a", DType::F32).axis("m", 40).axis("n", 8);
        let layout = |strides: &[i64], align| TensorLayout { strides: strides.to_vec(), align };
        let keys: std::collections::BTreeSet<ConfigKey> = [
            base.clone(),
            base.clone().dtype("a", DType::BF16),
            base.clone().attr("epilogue", "silu"),
            base.clone().axis("m", 65),
            base.clone().axis("n", 9),
            base.clone().layout("a", layout(&[8, 1], 16)),
            base.clone().layout("a", layout(&[1, 40], 64)),
            base.clone().layout("a", layout(&[16, 1], 64)),
        ]
        .iter()
        .map(|p| ConfigKey::of(&spec(), p))
        .collect();
        assert_eq!(keys.len(), 8);
        let same = base.clone().axis("m", 64).attr("epilogue", "none");
        let packed = same.clone().layout("a", layout(&[8, 1], 64));
        assert_eq!(ConfigKey::of(&spec(), &same), ConfigKey::of(&spec(), &base));
        assert_eq!(ConfigKey::of(&spec(), &packed), ConfigKey::of(&spec(), &base));
    }

    #[test]
    fn a_bad_record_does_not_take_the_others() {
        let good = ConfigFile {
            tool: "t".into(),
            device: "d".into(),
            records: vec![record()],
            ..Default::default()
        };
        let text = good.to_text();
        assert_eq!(ConfigFile::from_text(&text).unwrap(), good, "{text}");
        let bad = format!(
            "{text}\n[[record]]\nop = 3\n[[record]]\nop =\n{}",
            &text[text.find("[[").unwrap()..]
        );
        let file = ConfigFile::from_text(&bad).unwrap();
        assert_eq!((file.records.len(), file.skipped.len()), (2, 2), "{:?}", file.skipped);
    }

    #[test]
    fn whole_files_that_cannot_be_used() {
        for text in ["", "x", "schema = \"a\"", "schema = 0\ndevice = 'd'", "schema = 1"] {
            assert!(
                matches!(ConfigFile::from_text(text), Err(ConfigError::NotConfigs(_))),
                "{text}"
            );
        }
        assert_eq!(ConfigFile::from_text("schema = 9"), Err(ConfigError::Newer(9)));
    }
}
