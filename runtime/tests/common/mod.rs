//! Kernels made with the system's C compiler, so that the runtime's tests need no LLVM.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use tilewright::abi::{
    Arg, ArtifactKind, AssumeDesc, AttrSpec, AxisSpec, Cond, DType, Expr, Fact, KernelDesc, Launch,
    LaunchDesc, Manifest, OpImpl, OpSpec, PackWriter, ParamDesc, ParamKind, Role, ScalarSpec,
    Strides, TargetId, TensorSpec, Variant, Workspace, sha256_hex,
};

/// A directory that is removed with its content when dropped.
pub struct TempDir(pub PathBuf);

impl TempDir {
    pub fn new() -> TempDir {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("tilewright-test-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        TempDir(dir)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compiles C source to a shared object and returns its bytes.
pub fn compile_c(source: &str) -> Vec<u8> {
    let dir = TempDir::new();
    let (c, so) = (dir.0.join("k.c"), dir.0.join("k.so"));
    std::fs::write(&c, source).unwrap();
    let out = Command::new("cc")
        .args(["-O1", "-shared", "-fPIC", "-nostdlib", "-o"])
        .args([&so, &c])
        .output()
        .expect("the tests need a C compiler named `cc`");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    std::fs::read(&so).unwrap()
}

/// `y[i, :] = alpha * x[i, :] + y[i, :]`, a program a row; and helpers for other tests.
pub const SOURCE: &str = r#"
typedef long i64; typedef unsigned long u64;
union f { unsigned u; float f; };
/* x: base, d0, d1, s0, s1; y: base, d0, d1, s0, s1; alpha */
void axpy(const u64 *a, const i64 *grid, i64 begin, i64 end) {
  const float *x = (const float *)a[0]; float *y = (float *)a[5];
  union f alpha; alpha.u = (unsigned)a[10];
  for (i64 i = begin; i < end; i++)
    for (i64 j = 0; j < (i64)a[2]; j++)
      y[i * (i64)a[8] + j * (i64)a[9]] += alpha.f * x[i * (i64)a[3] + j * (i64)a[4]];
}
/* x, t: copies x to the workspace */
void stash(const u64 *a, const i64 *grid, i64 begin, i64 end) {
  const float *x = (const float *)a[0]; float *t = (float *)a[5];
  for (i64 i = begin; i < end; i++)
    for (i64 j = 0; j < (i64)a[2]; j++)
      t[i * (i64)a[8] + j] = x[i * (i64)a[3] + j * (i64)a[4]];
}
/* t, y, n: sums the rows of the workspace, from the last program on, into y[0..d1] */
void colsum(const u64 *a, const i64 *grid, i64 begin, i64 end) {
  const float *t = (const float *)a[0]; float *y = (float *)a[5];
  for (i64 j = begin; j < end; j++) {
    float s = 0;
    for (i64 i = 0; i < (i64)a[8]; i++) s += t[i * (i64)a[3] + j];
    y[j * (i64)a[7]] = s;
  }
}
void empty(const u64 *a, const i64 *grid, i64 begin, i64 end) {}
"#;

fn view(name: &str, rank: usize, mutable: bool) -> ParamDesc {
    ParamDesc { name: name.into(), kind: ParamKind::View { dtype: DType::F32, rank, mutable } }
}

fn kernel(
    symbol: &str,
    hash: &str,
    params: Vec<ParamDesc>,
    assumes: Vec<AssumeDesc>,
) -> KernelDesc {
    KernelDesc {
        name: format!("test.{symbol}"),
        symbol: symbol.into(),
        artifact: hash.into(),
        kind: ArtifactKind::SharedObject,
        params,
        assumes,
        launch: LaunchDesc::default(),
        source_hash: "sha256:src".into(),
        ir_hash: "sha256:ir".into(),
        toolchain: "cc".into(),
    }
}

fn grid(x: &str) -> [Expr; 3] {
    [Expr::from(x), Expr::from(1), Expr::from(1)]
}

/// Ops `axpy` (two impls: any shape, and n a multiple of 4 at a higher priority) and `column_sum` (two
/// launches over a workspace), and `nothing`.
pub fn manifest(hash: &str) -> Manifest {
    let mut m = Manifest::new(TargetId::new("cpu/test"), "cc");
    m.preference = 1;
    let f32s = &[DType::F32][..];
    let rows = [AxisSpec::new("m", "rows").bucketed(), AxisSpec::new("n", "columns")];
    m.specs.push(OpSpec {
        name: "axpy".into(),
        doc: "y = alpha * x + y".into(),
        axes: rows.to_vec(),
        tensors: vec![
            TensorSpec::new("x", Role::In, &[DType::F32, DType::F64], &["m", "n"])
                .strides(Strides::Any),
            TensorSpec::new("y", Role::InOut, f32s, &["m", "n"]),
        ],
        scalars: vec![ScalarSpec::new("alpha", DType::F32).range(-100.0, 100.0).default_value(1.0)],
        attrs: vec![AttrSpec::new("mode", &["plain", "other"])],
        constraints: vec![Cond::from("n <= 4096")],
        ..OpSpec::default()
    });
    m.specs.push(OpSpec {
        name: "column_sum".into(),
        doc: "y[n] = sum of x[:, n]".into(),
        axes: rows.to_vec(),
        tensors: vec![
            TensorSpec::new("x", Role::In, f32s, &["m", "n"]).strides(Strides::Any),
            TensorSpec::new("y", Role::Out, f32s, &["n"]),
        ],
        ..OpSpec::default()
    });
    m.specs.push(OpSpec {
        name: "nothing".into(),
        axes: vec![AxisSpec::new("programs", "programs")],
        ..OpSpec::default()
    });
    let alpha = ParamDesc { name: "alpha".into(), kind: ParamKind::Scalar(DType::F32) };
    let n = ParamDesc { name: "n".into(), kind: ParamKind::Scalar(DType::I64) };
    let axpy = vec![view("x", 2, false), view("y", 2, true), alpha];
    m.kernels.push(kernel("axpy", hash, axpy.clone(), Vec::new()));
    let fact = |p: &str, fact| AssumeDesc { param: p.into(), fact };
    let facts = vec![fact("x", Fact::DimMultiple(1, 4)), fact("x", Fact::StrideEquals(1, 1))];
    m.kernels.push(KernelDesc { name: "test.axpy4".into(), ..kernel("axpy", hash, axpy, facts) });
    m.kernels.push(kernel(
        "stash",
        hash,
        vec![view("x", 2, false), view("t", 2, true)],
        Vec::new(),
    ));
    m.kernels.push(kernel(
        "colsum",
        hash,
        vec![view("t", 2, false), view("y", 1, true), n],
        Vec::new(),
    ));
    m.kernels.push(kernel("empty", hash, Vec::new(), Vec::new()));
    let imp = |op: &str, algorithm: &str| OpImpl {
        op: op.into(),
        algorithm: algorithm.into(),
        ..OpImpl::default()
    };
    let x = [("x".to_owned(), DType::F32)];
    for (kernel, priority, bm) in [("test.axpy", 0, 1), ("test.axpy4", 5, 4)] {
        m.impls.push(OpImpl {
            variant: Variant::new().with("bm", bm),
            dtypes: x.clone().into(),
            priority,
            launches: vec![Launch {
                kernel: kernel.into(),
                args: vec![Arg::tensor("x"), Arg::tensor("y"), Arg::scalar("alpha")],
                grid: grid("m"),
            }],
            ..imp("axpy", "rows")
        });
    }
    m.impls.push(OpImpl {
        workspace: vec![
            Workspace { name: "pad".into(), dtype: DType::U8, dims: vec![Expr::from(3)] },
            Workspace { name: "t".into(), dtype: DType::F32, dims: vec!["m".into(), "n".into()] },
        ],
        launches: vec![
            Launch {
                kernel: "test.stash".into(),
                args: vec![Arg::tensor("x"), Arg::workspace("t")],
                grid: grid("m"),
            },
            Launch {
                kernel: "test.colsum".into(),
                args: vec![Arg::workspace("t"), Arg::tensor("y"), Arg::axis("m")],
                grid: grid("n"),
            },
        ],
        ..imp("column_sum", "stash")
    });
    m.impls.push(OpImpl {
        launches: vec![Launch {
            kernel: "test.empty".into(),
            args: vec![],
            grid: grid("programs"),
        }],
        ..imp("nothing", "empty")
    });
    m
}

/// The pack of the test kernels.
pub fn pack() -> &'static [u8] {
    static PACK: std::sync::OnceLock<&'static [u8]> = std::sync::OnceLock::new();
    PACK.get_or_init(|| {
        let so = compile_c(SOURCE);
        let hash = sha256_hex(&so);
        let m = manifest(&hash);
        assert_eq!(m.check(), Vec::<String>::new());
        pack_of(&[m], &[so])
    })
}

/// A pack of manifests and artifacts.
pub fn pack_of(manifests: &[Manifest], artifacts: &[Vec<u8>]) -> &'static [u8] {
    let mut w = PackWriter::new("cc");
    for m in manifests {
        w.manifest(m.target.as_str(), m.to_text());
    }
    for bytes in artifacts {
        w.blob(sha256_hex(bytes), bytes.clone());
    }
    Box::leak(w.finish().into_boxed_slice())
}

/// A runtime over the test kernels, deaf to the environment, with its notices.
pub fn runtime(threads: usize) -> tilewright::Runtime {
    builder(threads).pack(pack()).build().unwrap()
}

/// A builder that ignores the environment and is silent.
pub fn builder(threads: usize) -> tilewright::Builder {
    tilewright::Runtime::builder().cpu_threads(threads).knobs(Default::default()).on_notice(|_| {})
}
