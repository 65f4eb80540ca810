//! The text form of a [`Manifest`]: a root block, then `[[spec]]`, `[[kernel]]` and `[[impl]]` blocks.
//!
//! Reading order is magic, format version, toolchain, then the rest; each mismatch has its own message.
//! Fields at their defaults are not written.

use crate::text::{Block, Table, Value, blocks};
use crate::{
    Arg, ArtifactKind, AttrSpec, AxisKey, AxisSpec, DType, Expr, KernelDesc, Launch, LaunchDesc,
    MANIFEST_VERSION, Manifest, OpImpl, OpSpec, Role, ScalarSpec, Strides, TargetId, TensorSpec,
    Tolerance, Workspace,
};
use std::collections::BTreeMap;
use std::fmt;

const MAGIC: &str = "tilewright manifest";

/// Why a text is not a manifest that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestError {
    /// It does not say that it is a manifest.
    NotAManifest,
    /// Written by another version of the form: the version found and the toolchain that wrote it.
    Version(u32, String),
    /// A block that cannot be read, and why.
    Corrupt(String),
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ManifestError::NotAManifest => f.write_str("this text is not a tilewright manifest"),
            ManifestError::Version(v, toolchain) if *v > MANIFEST_VERSION => write!(
                f,
                "the manifest has format version {v} (written by `{toolchain}`), newer than \
                 {MANIFEST_VERSION}, the newest this runtime reads; update the runtime or rebuild the \
                 kernels with its own version"
            ),
            ManifestError::Version(v, toolchain) => write!(
                f,
                "the manifest has format version {v} (written by `{toolchain}`), this runtime reads \
                 {MANIFEST_VERSION}; rebuild the kernels"
            ),
            ManifestError::Corrupt(what) => write!(f, "the manifest cannot be read: {what}"),
        }
    }
}

impl std::error::Error for ManifestError {}

/// The root block of a manifest: enough to choose among targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestHead {
    /// See [`Manifest::toolchain`].
    pub toolchain: String,
    /// See [`Manifest::target`].
    pub target: TargetId,
    /// See [`Manifest::features`].
    pub features: Vec<String>,
    /// See [`Manifest::preference`].
    pub preference: u32,
}

fn head(root: &Table) -> Result<ManifestHead, ManifestError> {
    if root.str("magic") != Ok(MAGIC) {
        return Err(ManifestError::NotAManifest);
    }
    let toolchain = root.str("toolchain").unwrap_or("unknown").to_owned();
    let version = root.int("format_version").map_err(ManifestError::Corrupt)?;
    if version != i64::from(MANIFEST_VERSION) {
        let version = u32::try_from(version).unwrap_or(u32::MAX);
        return Err(ManifestError::Version(version, toolchain));
    }
    (|| {
        Ok(ManifestHead {
            toolchain,
            target: TargetId::new(root.str("target")?),
            features: root.parsed("features")?,
            preference: u32::try_from(root.int("preference")?).map_err(|e| e.to_string())?,
        })
    })()
    .map_err(ManifestError::Corrupt)
}

fn root<'t>(blocks: &[Block<'t>]) -> Result<Table, ManifestError> {
    let first = blocks.first().ok_or(ManifestError::NotAManifest)?;
    first.parse().map_err(|_| ManifestError::NotAManifest)
}

impl ManifestHead {
    /// Reads the root block only.
    pub fn from_text(text: &str) -> Result<ManifestHead, ManifestError> {
        let root_text = text.find("\n[").map_or(text, |end| text.get(..=end).unwrap_or(text));
        head(&root(&blocks(root_text))?)
    }
}

impl Manifest {
    /// Writes the text form. The same manifest gives the same text.
    pub fn to_text(&self) -> String {
        let mut root = Table::new();
        root.set("magic", MAGIC);
        root.set("format_version", self.format_version);
        root.set("toolchain", self.toolchain.as_str());
        root.set("target", self.target.as_str());
        root.set("features", Value::strings(&self.features));
        root.set("preference", self.preference);
        let mut out = String::new();
        root.write_lines(&mut out);
        let mut block = |name: &str, table: Table| {
            out.push_str(&format!("\n[[{name}]]\n"));
            table.write_lines(&mut out);
        };
        self.specs.iter().for_each(|s| block("spec", spec_table(s)));
        self.kernels.iter().for_each(|k| block("kernel", kernel_table(k)));
        self.impls.iter().for_each(|i| block("impl", impl_table(i)));
        out
    }

    /// Reads the text form. A block of an unknown name is refused: it is from another version.
    pub fn from_text(text: &str) -> Result<Manifest, ManifestError> {
        let blocks = blocks(text);
        let head = head(&root(&blocks)?)?;
        let mut m = Manifest::new(head.target, head.toolchain);
        (m.features, m.preference) = (head.features, head.preference);
        for block in blocks.iter().skip(1) {
            let read = block.parse().map_err(|e| e.to_string()).and_then(|t| {
                match block.name {
                    "spec" => m.specs.push(read_spec(&t)?),
                    "kernel" => m.kernels.push(read_kernel(&t)?),
                    "impl" => m.impls.push(read_impl(&t)?),
                    other => return Err(format!("unknown block `{other}`")),
                }
                Ok(())
            });
            read.map_err(|e| {
                ManifestError::Corrupt(format!("[[{}]] at line {}: {e}", block.name, block.line))
            })?;
        }
        Ok(m)
    }
}

fn set_if(table: &mut Table, key: &str, list: Value) {
    if !matches!(&list, Value::List(l) if l.is_empty()) {
        table.set(key, list);
    }
}

fn text_map<V: fmt::Display>(map: &BTreeMap<String, V>) -> Table {
    let mut table = Table::new();
    map.iter().for_each(|(k, v)| table.set(k, v.to_string()));
    table
}

fn set_map<V: fmt::Display>(table: &mut Table, key: &str, map: &BTreeMap<String, V>) {
    if !map.is_empty() {
        table.set(key, text_map(map));
    }
}

fn dtype(name: &str) -> Result<DType, String> {
    DType::from_name(name).ok_or_else(|| format!("unknown dtype `{name}`"))
}

fn strings(table: &Table, key: &str) -> Result<BTreeMap<String, String>, String> {
    if table.get(key).is_none() {
        return Ok(BTreeMap::new());
    }
    let entry = |(k, v): (&str, &Value)| match v.as_str() {
        Some(s) => Ok((k.to_owned(), s.to_owned())),
        None => Err(format!("`{key}.{k}` must be a string, not {v}")),
    };
    table.table(key)?.iter().map(entry).collect()
}

fn spec_table(s: &OpSpec) -> Table {
    let mut t = Table::new();
    t.set("name", s.name.as_str());
    t.set("doc", s.doc.as_str());
    let list = |tables: Vec<Table>| Value::List(tables.into_iter().map(Value::Table).collect());
    let axis = |a: &AxisSpec| {
        let mut t = Table::new();
        t.set("name", a.name.as_str());
        t.set("doc", a.doc.as_str());
        t.set("min", a.min);
        t.set("key", axis_key_name(a.key));
        t
    };
    set_if(&mut t, "axes", list(s.axes.iter().map(axis).collect()));
    let tensor = |x: &TensorSpec| {
        let mut t = Table::new();
        t.set("name", x.name.as_str());
        t.set("role", role_name(x.role));
        t.set("dtypes", Value::strings(&x.dtypes));
        t.set("shape", Value::strings(&x.shape));
        t.set("strides", strides_name(x.strides));
        if x.optional {
            t.set("optional", true);
        }
        t
    };
    set_if(&mut t, "tensors", list(s.tensors.iter().map(tensor).collect()));
    let scalar = |x: &ScalarSpec| {
        let mut t = Table::new();
        t.set("name", x.name.as_str());
        t.set("dtype", x.dtype.name());
        for (key, bound) in [("min", x.min), ("max", x.max), ("default", x.default)] {
            if let Some(b) = bound {
                t.set(key, b);
            }
        }
        t
    };
    set_if(&mut t, "scalars", list(s.scalars.iter().map(scalar).collect()));
    let attr = |a: &AttrSpec| {
        let mut t = Table::new();
        t.set("name", a.name.as_str());
        t.set("values", Value::strings(&a.values));
        t
    };
    set_if(&mut t, "attrs", list(s.attrs.iter().map(attr).collect()));
    set_if(&mut t, "constraints", Value::strings(&s.constraints));
    let mut tolerance = Table::new();
    tolerance.set("abs", s.tolerance.abs);
    tolerance.set("rel", s.tolerance.rel);
    tolerance.set("ulp", s.tolerance.ulp);
    t.set("tolerance", tolerance);
    t
}

fn read_spec(t: &Table) -> Result<OpSpec, String> {
    let axis = |t: &Table| {
        Ok(AxisSpec {
            name: t.str("name")?.to_owned(),
            doc: t.str("doc")?.to_owned(),
            min: t.int("min")?,
            key: by_name("key", t.str("key")?, &AXIS_KEYS, axis_key_name)?,
        })
    };
    let tensor = |t: &Table| {
        let dtypes: Vec<String> = t.parsed("dtypes")?;
        Ok(TensorSpec {
            name: t.str("name")?.to_owned(),
            role: by_name("role", t.str("role")?, &ROLES, role_name)?,
            dtypes: dtypes.iter().map(|d| dtype(d)).collect::<Result<_, _>>()?,
            shape: t.parsed("shape")?,
            optional: t.flag("optional")?,
            strides: by_name("strides", t.str("strides")?, &STRIDES, strides_name)?,
        })
    };
    let scalar = |t: &Table| {
        let bound = |key: &str| t.get(key).is_some().then(|| t.float(key)).transpose();
        Ok(ScalarSpec {
            name: t.str("name")?.to_owned(),
            dtype: dtype(t.str("dtype")?)?,
            min: bound("min")?,
            max: bound("max")?,
            default: bound("default")?,
        })
    };
    let attr =
        |t: &Table| Ok(AttrSpec { name: t.str("name")?.to_owned(), values: t.parsed("values")? });
    let tolerance = t.table("tolerance")?;
    Ok(OpSpec {
        name: t.str("name")?.to_owned(),
        doc: t.str("doc")?.to_owned(),
        axes: each(t, "axes", axis)?,
        tensors: each(t, "tensors", tensor)?,
        scalars: each(t, "scalars", scalar)?,
        attrs: each(t, "attrs", attr)?,
        constraints: t.parsed("constraints")?,
        tolerance: Tolerance {
            abs: tolerance.float("abs")?,
            rel: tolerance.float("rel")?,
            ulp: u32::try_from(tolerance.int("ulp")?).map_err(|e| e.to_string())?,
        },
    })
}

fn each<T>(
    t: &Table,
    key: &str,
    read: impl Fn(&Table) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    t.tables(key)?.into_iter().map(read).collect()
}

const AXIS_KEYS: [AxisKey; 3] = [AxisKey::Exact, AxisKey::Bucket, AxisKey::Ignored];
const ROLES: [Role; 3] = [Role::In, Role::Out, Role::InOut];
const STRIDES: [Strides; 3] = [Strides::Rows, Strides::Packed, Strides::Any];

fn axis_key_name(k: AxisKey) -> &'static str {
    match k {
        AxisKey::Exact => "exact",
        AxisKey::Bucket => "bucket",
        AxisKey::Ignored => "ignored",
    }
}

fn role_name(r: Role) -> &'static str {
    match r {
        Role::In => "in",
        Role::Out => "out",
        Role::InOut => "inout",
    }
}

pub(crate) fn strides_name(s: Strides) -> &'static str {
    match s {
        Strides::Rows => "rows",
        Strides::Packed => "packed",
        Strides::Any => "any",
    }
}

fn by_name<T: Copy>(
    what: &str,
    name: &str,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<T, String> {
    let found = all.iter().copied().find(|&x| name_of(x) == name);
    found.ok_or_else(|| format!("unknown {what} `{name}`"))
}

fn kernel_table(k: &KernelDesc) -> Table {
    let mut t = Table::new();
    t.set("name", k.name.as_str());
    t.set("symbol", k.symbol.as_str());
    t.set("artifact", k.artifact.as_str());
    t.set("kind", k.kind.name());
    set_if(&mut t, "params", Value::strings(&k.params));
    set_if(&mut t, "assumes", Value::strings(&k.assumes));
    if k.launch != LaunchDesc::default() {
        let axes = |v: [u32; 3]| Value::List(v.iter().map(|&x| x.into()).collect());
        t.set("block", axes(k.launch.block));
        t.set("cluster", axes(k.launch.cluster));
        t.set("static_smem", k.launch.static_smem);
        t.set("dynamic_smem", k.launch.dynamic_smem);
    }
    t.set("source_hash", k.source_hash.as_str());
    t.set("ir_hash", k.ir_hash.as_str());
    t.set("toolchain", k.toolchain.as_str());
    t
}

fn read_kernel(t: &Table) -> Result<KernelDesc, String> {
    let small = |v: i64| u32::try_from(v).map_err(|e| e.to_string());
    let axes = |key: &str| match t.list(key)? {
        [Value::Int(x), Value::Int(y), Value::Int(z)] => Ok([small(*x)?, small(*y)?, small(*z)?]),
        _ => Err(format!("`{key}` must hold three integers")),
    };
    let launch = match t.get("block") {
        None => LaunchDesc::default(),
        Some(_) => LaunchDesc {
            block: axes("block")?,
            cluster: axes("cluster")?,
            static_smem: small(t.int("static_smem")?)?,
            dynamic_smem: small(t.int("dynamic_smem")?)?,
        },
    };
    let kind = t.str("kind")?;
    Ok(KernelDesc {
        name: t.str("name")?.to_owned(),
        symbol: t.str("symbol")?.to_owned(),
        artifact: t.str("artifact")?.to_owned(),
        kind: ArtifactKind::from_name(kind).ok_or_else(|| format!("unknown kind `{kind}`"))?,
        params: t.parsed("params")?,
        assumes: t.parsed("assumes")?,
        launch,
        source_hash: t.str("source_hash")?.to_owned(),
        ir_hash: t.str("ir_hash")?.to_owned(),
        toolchain: t.str("toolchain")?.to_owned(),
    })
}

fn impl_table(i: &OpImpl) -> Table {
    let mut t = Table::new();
    t.set("op", i.op.as_str());
    t.set("algorithm", i.algorithm.as_str());
    t.set("variant", i.variant.to_string());
    set_map(&mut t, "dtypes", &i.dtypes);
    set_map(&mut t, "attrs", &i.attrs);
    set_if(&mut t, "when", Value::strings(&i.when));
    t.set("priority", i64::from(i.priority));
    let workspace = |w: &Workspace| {
        let mut t = Table::new();
        t.set("name", w.name.as_str());
        t.set("dtype", w.dtype.name());
        t.set("dims", Value::strings(&w.dims));
        Value::Table(t)
    };
    set_if(&mut t, "workspace", Value::List(i.workspace.iter().map(workspace).collect()));
    let launch = |l: &Launch| {
        let mut t = Table::new();
        t.set("kernel", l.kernel.as_str());
        t.set("grid", Value::strings(&l.grid));
        t.set("args", Value::List(l.args.iter().map(|a| Value::Table(arg_table(a))).collect()));
        Value::Table(t)
    };
    set_if(&mut t, "launches", Value::List(i.launches.iter().map(launch).collect()));
    t
}

fn arg_table(a: &Arg) -> Table {
    let mut t = Table::new();
    match a {
        Arg::Tensor { name, view } => {
            t.set("tensor", name.as_str());
            if let Some(dims) = view {
                t.set("view", Value::strings(dims));
            }
        }
        Arg::Workspace(name) => t.set("workspace", name.as_str()),
        Arg::Scalar(name) => t.set("scalar", name.as_str()),
        Arg::Axis(e) => t.set("axis", e.to_string()),
    }
    t
}

fn read_arg(t: &Table) -> Result<Arg, String> {
    let kind = t.iter().next().map_or("", |(k, _)| k);
    match kind {
        "tensor" => {
            let view = t.get("view").is_some().then(|| t.parsed("view")).transpose()?;
            Ok(Arg::Tensor { name: t.str(kind)?.to_owned(), view })
        }
        "workspace" => Ok(Arg::Workspace(t.str(kind)?.to_owned())),
        "scalar" => Ok(Arg::Scalar(t.str(kind)?.to_owned())),
        "axis" => Ok(Arg::Axis(t.str(kind)?.parse().map_err(|e| format!("{e}"))?)),
        other => Err(format!("unknown argument `{other}`")),
    }
}

fn read_impl(t: &Table) -> Result<OpImpl, String> {
    let dtypes = strings(t, "dtypes")?;
    let workspace = |t: &Table| {
        Ok(Workspace {
            name: t.str("name")?.to_owned(),
            dtype: dtype(t.str("dtype")?)?,
            dims: t.parsed("dims")?,
        })
    };
    let launch = |t: &Table| {
        let grid: Vec<Expr> = t.parsed("grid")?;
        Ok(Launch {
            kernel: t.str("kernel")?.to_owned(),
            args: each(t, "args", read_arg)?,
            grid: grid.try_into().map_err(|_| "`grid` must hold three expressions".to_owned())?,
        })
    };
    Ok(OpImpl {
        op: t.str("op")?.to_owned(),
        algorithm: t.str("algorithm")?.to_owned(),
        variant: t.str("variant")?.parse()?,
        dtypes: dtypes
            .into_iter()
            .map(|(k, v)| Ok((k, dtype(&v)?)))
            .collect::<Result<_, String>>()?,
        attrs: strings(t, "attrs")?,
        when: t.parsed("when")?,
        priority: i32::try_from(t.int("priority")?).map_err(|e| e.to_string())?,
        workspace: each(t, "workspace", workspace)?,
        launches: each(t, "launches", launch)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssumeDesc, Cond, Fact, ParamDesc, ParamKind, Variant};

    /// A manifest with every kind of field in use.
    pub(crate) fn sample() -> Manifest {
        let mut m = Manifest::new(TargetId::new("cpu/x86-64-v3"), "llvm-22.1");
        m.features = vec!["avx2".into(), "fma".into()];
        m.preference = 3;
        let f32s = &[DType::F32, DType::BF16];
        m.specs.push(OpSpec {
            name: "gemm.dense".into(),
            doc: "c = \"a\" · bᵀ".into(),
            axes: vec![
                AxisSpec::new("m", "rows").bucketed(),
                AxisSpec::new("n", "columns").at_least(1),
                AxisSpec::new("k", "depth"),
            ],
            tensors: vec![
                TensorSpec::new("a", Role::In, f32s, &["m", "k"]),
                TensorSpec::new("b", Role::In, f32s, &["n", "k"]).strides(Strides::Packed),
                TensorSpec::new("bias", Role::In, f32s, &["n"]).optional(),
                TensorSpec::new("c", Role::Out, &[DType::F32], &["m", "n"]),
            ],
            scalars: vec![ScalarSpec::new("alpha", DType::F32).range(0.0, 10.0).default_value(1.0)],
            attrs: vec![AttrSpec::new("epilogue", &["none", "silu"])],
            constraints: vec![Cond::from("n % 8 == 0")],
            tolerance: Tolerance { abs: 1e-5, rel: 1e-4, ulp: 2 },
        });
        let view = |name: &str, mutable| ParamDesc {
            name: name.into(),
            kind: ParamKind::View { dtype: DType::F32, rank: 2, mutable },
        };
        let alpha = ParamDesc { name: "alpha".into(), kind: ParamKind::Scalar(DType::F32) };
        let count = ParamDesc { name: "count".into(), kind: ParamKind::Scalar(DType::I64) };
        m.kernels.push(KernelDesc {
            name: "gemm.dense.main.bm=6".into(),
            symbol: "gemm".into(),
            artifact: "ab".repeat(32),
            kind: ArtifactKind::SharedObject,
            params: vec![view("a", false), view("b", false), view("c", true), alpha, count],
            assumes: vec![AssumeDesc { param: "a".into(), fact: Fact::DimMultiple(1, 8) }],
            launch: LaunchDesc { block: [128, 1, 1], ..LaunchDesc::default() },
            source_hash: "sha256:1".into(),
            ir_hash: "sha256:2".into(),
            toolchain: "llvm-22.1".into(),
        });
        m.impls.push(OpImpl {
            op: "gemm.dense".into(),
            algorithm: "main".into(),
            variant: Variant::new().with("bm", 6),
            dtypes: [("a", DType::F32), ("b", DType::F32)].map(|(k, v)| (k.into(), v)).into(),
            attrs: [("epilogue".to_owned(), "none".to_owned())].into(),
            when: vec![Cond::from("m <= 16")],
            priority: -3,
            workspace: vec![Workspace {
                name: "acc".into(),
                dtype: DType::F32,
                dims: vec![Expr::from("m"), Expr::from("ceil_div(n, 2)")],
            }],
            launches: vec![Launch {
                kernel: "gemm.dense.main.bm=6".into(),
                args: vec![
                    Arg::tensor("a"),
                    Arg::tensor_as("b", &["n", "k"]),
                    Arg::workspace("acc"),
                    Arg::scalar("alpha"),
                    Arg::axis("m * n"),
                ],
                grid: [Expr::from("ceil_div(m, 6)"), Expr::from(1), Expr::from(1)],
            }],
        });
        m
    }

    #[test]
    fn round_trip() {
        let m = sample();
        let text = m.to_text();
        assert_eq!(Manifest::from_text(&text).unwrap(), m, "{text}");
        assert_eq!(m.check(), Vec::<String>::new());
        let head = ManifestHead::from_text(&text).unwrap();
        assert_eq!((head.target, head.features), (m.target, m.features));
    }

    #[test]
    fn each_fault_has_its_message() {
        let text = sample().to_text();
        assert_eq!(Manifest::from_text("x = 1"), Err(ManifestError::NotAManifest));
        assert_eq!(Manifest::from_text(""), Err(ManifestError::NotAManifest));
        let newer = text.replace("format_version = 1", "format_version = 2");
        let error = Manifest::from_text(&newer).unwrap_err();
        assert_eq!(error, ManifestError::Version(2, "llvm-22.1".into()));
        assert!(error.to_string().contains("update the runtime"), "{error}");
        let bad = text.replace("op = \"gemm.dense\"", "op = 3");
        let error = Manifest::from_text(&bad).unwrap_err().to_string();
        assert!(error.contains("[[impl]]") && error.contains("`op` must be a string"), "{error}");
    }

    #[test]
    fn any_cut_is_an_error_or_a_shorter_manifest() {
        let text = sample().to_text();
        for (cut, _) in text.char_indices() {
            let _ = Manifest::from_text(&text[..cut]);
        }
    }

    #[test]
    fn check_names_the_fault() {
        let broken = |change: &dyn Fn(&mut Manifest), want: &str| {
            let mut m = sample();
            change(&mut m);
            let faults = m.check().join("\n");
            assert!(faults.contains(want), "wanted `{want}` in:\n{faults}");
        };
        broken(&|m| m.impls[0].op = "x".into(), "no spec of op `x`");
        broken(&|m| m.impls[0].launches[0].kernel = "x".into(), "no kernel `x`");
        broken(&|m| drop(m.impls[0].launches[0].args.pop()), "4 arguments for 5 parameters");
        broken(&|m| m.impls[0].launches[0].args[0] = Arg::tensor("z"), "no tensor `z`");
        broken(&|m| m.impls[0].launches[0].args[2] = Arg::tensor("a"), "writes `a`");
        broken(&|m| m.impls[0].when = vec!["zz <= 1".into()], "unknown name `zz`");
        broken(&|m| m.impls[0].launches[0].grid[0] = "q".into(), "unknown name `q`");
        broken(&|m| m.impls[0].dtypes.retain(|k, _| k != "a"), "dtype of tensor `a`");
        broken(&|m| m.kernels[0].artifact = "zz".into(), "not a content hash");
        broken(&|m| m.kernels.push(m.kernels[0].clone()), "listed twice");
        broken(&|m| m.specs[0].tensors[0].name = "m".into(), "`m` names two things");
    }
}
