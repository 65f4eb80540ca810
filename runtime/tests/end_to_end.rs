//! Plans, calls and graphs on the CPU, through the public interface.

mod common;

use common::{builder, pack, pack_of, runtime};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tilewright::abi::{KernelDesc, Manifest, TargetId, sha256_hex};
use tilewright::store::{ArtifactStore, EmbeddedStore};
use tilewright::{Args, DType, ErrorKind, Graph, Reason, Runtime, Tensor};

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i % 17) as f32 - 3.0).collect()
}

#[test]
fn runs_an_op_and_rebinds() {
    let rt = runtime(2);
    let s = rt.stream().unwrap();
    let x = Tensor::from_slice(&rt, &numbers(12), &[3, 4]).unwrap();
    let y = Tensor::zeros(&rt, DType::F32, &[3, 4]).unwrap();
    let args = Args::new().tensor("x", &x).tensor("y", &y).scalar("alpha", 2.0);
    let plan = rt.plan("axpy", &args).unwrap();
    assert_eq!((plan.chosen(), plan.reason()), ("axpy.rows.bm=4", &Reason::Default));
    let mut call = plan.bind(&args).unwrap();
    call.run(&s).unwrap();
    let twice: Vec<f32> = numbers(12).iter().map(|v| 2.0 * v).collect();
    assert_eq!(y.to_vec::<f32>().unwrap(), twice);
    let z = Tensor::zeros(&rt, DType::F32, &[3, 4]).unwrap();
    call.set_tensor("y", &z).unwrap();
    call.set_scalar("alpha", 1).unwrap();
    call.run(&s).unwrap();
    assert_eq!(z.to_vec::<f32>().unwrap(), numbers(12));
    assert_eq!(y.to_vec::<f32>().unwrap(), twice);
}

#[test]
fn facts_decide_between_impls_and_are_checked_again() {
    let rt = runtime(1);
    let x = Tensor::from_slice(&rt, &numbers(12), &[4, 3]).unwrap();
    let y = Tensor::zeros(&rt, DType::F32, &[3, 4]).unwrap();
    let t = x.transpose(0, 1).unwrap();
    let args = Args::new().tensor("x", &t).tensor("y", &y);
    // n = 4, but the last stride of x is not 1.
    let plan = rt.plan("axpy", &args).unwrap();
    assert_eq!(plan.chosen(), "axpy.rows.bm=1");
    plan.bind(&args).unwrap().run(&rt.stream().unwrap()).unwrap();
    let got = y.to_vec::<f32>().unwrap();
    let want: Vec<f32> = (0..12).map(|i| numbers(12)[i % 4 * 3 + i / 4]).collect();
    assert_eq!(got, want);
    // A plan for packed tensors does not take a transposed one.
    let packed = Tensor::zeros(&rt, DType::F32, &[3, 4]).unwrap();
    let plan = rt.plan("axpy", &args.clone().tensor("x", &packed)).unwrap();
    assert_eq!(plan.chosen(), "axpy.rows.bm=4");
    let error = plan.bind(&args).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("`stride 1 equals 1`"), "{error}");
}

#[test]
fn several_launches_over_a_workspace_for_any_number_of_threads() {
    let (m, n) = (37, 53);
    let mut results = Vec::new();
    for threads in [1, 2, 3, 16] {
        let rt = runtime(threads);
        let x = Tensor::from_slice(&rt, &numbers(m * n), &[m, n]).unwrap();
        let y = Tensor::zeros(&rt, DType::F32, &[n]).unwrap();
        let args = Args::new().tensor("x", &x).tensor("y", &y);
        let plan = rt.plan("column_sum", &args).unwrap();
        assert_eq!(plan.workspace_bytes(), 64 + (m * n * 4usize).next_multiple_of(64));
        let s = rt.stream().unwrap();
        for _ in 0..20 {
            plan.bind(&args).unwrap().run(&s).unwrap();
        }
        results.push(y.to_vec::<f32>().unwrap());
    }
    assert!(results.windows(2).all(|w| w[0] == w[1]));
    let column: f32 = (0..m).map(|i| numbers(m * n)[i * n + 5]).sum();
    assert_eq!(results[0][5], column);
}

#[test]
fn a_graph_reads_its_buffers_anew() {
    let rt = runtime(2);
    let s = rt.stream().unwrap();
    let x = Tensor::from_slice(&rt, &numbers(8), &[2, 4]).unwrap();
    let y = Tensor::zeros(&rt, DType::F32, &[2, 4]).unwrap();
    let sum = Tensor::zeros(&rt, DType::F32, &[4]).unwrap();
    let first = Args::new().tensor("x", &x).tensor("y", &y);
    let second = Args::new().tensor("x", &y).tensor("y", &sum);
    let graph = {
        let a = rt.plan("axpy", &first).unwrap().bind(&first).unwrap();
        let b = rt.plan("column_sum", &second).unwrap().bind(&second).unwrap();
        Graph::record(&rt, &s, |s| {
            a.run(s)?;
            b.run(s)
        })
        .unwrap()
        // The calls go; the graph keeps their buffers.
    };
    assert_eq!(y.to_vec::<f32>().unwrap(), [0.0; 8], "recording runs nothing");
    graph.replay(&s).unwrap();
    assert_eq!(sum.to_vec::<f32>().unwrap(), [-2.0, 0.0, 2.0, 4.0]);
    x.write_slice(&[1.0f32; 8]).unwrap();
    y.write_slice(&[0.0f32; 8]).unwrap();
    graph.replay(&s).unwrap();
    assert_eq!(sum.to_vec::<f32>().unwrap(), [2.0; 4]);
    drop((x, y));
    graph.replay(&s).unwrap();
    assert_eq!(sum.to_vec::<f32>().unwrap(), [4.0; 4]);
}

#[test]
fn a_kernel_that_is_not_loaded_cannot_be_recorded() {
    let rt = runtime(2);
    let s = rt.stream().unwrap();
    let x = Tensor::zeros(&rt, DType::F32, &[2, 4]).unwrap();
    let args = Args::new().tensor("x", &x).tensor("y", &x.clone());
    let warm = Args::new().axis("programs", 4);
    let nothing = rt.plan("nothing", &warm).unwrap().bind(&warm).unwrap();
    // Kernels of one artifact are loaded together, so a fresh runtime is used for the refusal.
    let cold = runtime(2);
    let cold_stream = cold.stream().unwrap();
    let y = Tensor::zeros(&cold, DType::F32, &[2, 4]).unwrap();
    let cold_args = Args::new().tensor("x", &y).tensor("y", &y.clone());
    let mut inside = None;
    let graph = Graph::record(&cold, &cold_stream, |_| {
        inside = cold.plan("axpy", &cold_args).err();
        Ok(())
    });
    assert_eq!(inside.unwrap().kind(), ErrorKind::NotWarmedUp);
    graph.unwrap().replay(&cold_stream).unwrap();
    // What is loaded can be planned and recorded.
    let graph = Graph::record(&rt, &s, |s| {
        nothing.run(s)?;
        rt.plan("axpy", &args)?.bind(&args)?.run(s)
    });
    graph.unwrap().replay(&s).unwrap();
    // A closure that fails ends the recording.
    let failed = Graph::record(&rt, &s, |s| {
        nothing.run(s)?;
        rt.plan("no_such_op", &args).map(drop)
    });
    assert_eq!(failed.err().unwrap().kind(), ErrorKind::NotFound);
    nothing.run(&s).unwrap();
}

#[test]
fn empty_problems_run() {
    let rt = runtime(2);
    let s = rt.stream().unwrap();
    for shape in [[0, 4], [3, 0], [0, 0]] {
        let x = Tensor::zeros(&rt, DType::F32, &shape).unwrap();
        let y = Tensor::zeros(&rt, DType::F32, &shape).unwrap();
        rt.run("axpy", &Args::new().tensor("x", &x).tensor("y", &y), &s).unwrap();
    }
}

#[test]
fn wrong_arguments_are_named() {
    let rt = runtime(1);
    let f = |shape: &[usize]| Tensor::zeros(&rt, DType::F32, shape).unwrap();
    let (x, y) = (f(&[3, 4]), f(&[3, 4]));
    let base = Args::new().tensor("x", &x).tensor("y", &y);
    let check = |args: Args, want: &str| {
        let error = rt.plan("axpy", &args).and_then(|p| p.bind(&args)).err();
        let error = error.unwrap_or_else(|| panic!("no error; wanted `{want}`")).to_string();
        assert!(error.contains(want), "wanted `{want}` in `{error}`");
        assert!(error.contains("axpy"), "{error}");
    };
    check(base.clone().tensor("y", &f(&[3, 5])), "axis `n` is 5 in tensor `y`");
    check(base.clone().tensor("y", &f(&[12])), "the op takes [m, n]");
    check(base.clone().tensor("z", &y), "no tensor `z`; the op has x, y");
    check(Args::new().tensor("x", &x), "tensor `y` [m, n] is not bound");
    check(Args::new().tensor("y", &y), "the dtype of tensor `x` is not given");
    check(base.clone().scalar("alpha", 200.0), "scalar `alpha` is 200, allowed is -100..=100");
    check(base.clone().scalar("alpha", f64::NAN), "scalar `alpha` is NaN");
    check(base.clone().scalar("beta", 1.0), "no scalar `beta`");
    check(
        base.clone().attr("mode", "fast"),
        "attribute `mode` is `fast`, the op takes plain, other",
    );
    check(base.clone().attr("mode", "other"), "`mode` is other, not plain");
    check(base.clone().axis("q", 3), "no axis `q`; the op has m, n");
    let wide = f(&[3, 5000]);
    check(Args::new().tensor("x", &wide).tensor("y", &wide), "needs `n <= 4096`, but n = 5000");
    let x64 = Tensor::zeros(&rt, DType::F64, &[3, 4]).unwrap();
    check(base.clone().tensor("x", &x64), "no kernel for x f64");
    let y64 = Tensor::zeros(&rt, DType::F64, &[3, 4]).unwrap();
    check(base.clone().tensor("y", &y64), "tensor `y` is f64, the op takes f32");
    check(base.clone().tensor("y", &f(&[4, 3]).transpose(0, 1).unwrap()), "must have stride 1");
    let lent = Tensor::from_owner(&rt, vec![0u8; 48], DType::F32, &[3, 4]).unwrap();
    check(base.clone().tensor("y", &lent), "read only");
    let wide = f(&[6, 4]);
    let (top, low) = (wide.slice(0, 0, 3).unwrap(), wide.slice(0, 1, 3).unwrap());
    check(Args::new().tensor("x", &top).tensor("y", &low), "overlap in part");
    let one_row =
        Tensor::with_strides(y.buffer().clone(), 0, DType::F32, &[3, 4], &[0, 1]).unwrap();
    check(base.clone().tensor("y", &one_row), "several elements");
    let odd = Tensor::at(f(&[20]).buffer().clone(), 2, DType::F32, &[3, 4]).unwrap();
    check(base.clone().tensor("x", &odd), "no multiple of the 4 bytes of a f32");
    let other = runtime(1);
    let far = Tensor::zeros(&other, DType::F32, &[3, 4]).unwrap();
    check(base.clone().tensor("x", &far), "on another device");
    let error = rt.plan("axpi", &base).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn packs_that_cannot_be_used_say_why() {
    let build = |pack| builder(1).pack(pack).build().err().unwrap();
    let so = b"not an object".to_vec();
    let m = common::manifest(&sha256_hex(&so));
    let with = |change: &dyn Fn(&mut Manifest)| {
        let mut m = m.clone();
        change(&mut m);
        build(pack_of(&[m], std::slice::from_ref(&so)))
    };
    let check = |error: tilewright::Error, kind: ErrorKind, want: &str| {
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(want), "wanted `{want}` in `{error}`");
    };
    check(build(b"garbage"), ErrorKind::Corrupt, "not a pack");
    check(build(&pack()[..100]), ErrorKind::Corrupt, "damaged");
    let mut newer = pack().to_vec();
    newer[8] = 99;
    check(build(Box::leak(newer.into_boxed_slice())), ErrorKind::Version, "version 99");
    let text = m.to_text();
    let raw = |text: String| {
        let mut w = tilewright::abi::PackWriter::new("cc");
        w.manifest("cpu/test", text);
        w.blob(sha256_hex(&so), so.clone());
        build(Box::leak(w.finish().into_boxed_slice()))
    };
    let newer = raw(text.replace("format_version = 1", "format_version = 7"));
    check(newer, ErrorKind::Version, "format version 7 (written by `cc`), newer than 1");
    let older = raw(text.replace("format_version = 1", "format_version = 0"));
    check(older, ErrorKind::Version, "rebuild the kernels");
    check(raw("x = 1".into()), ErrorKind::Corrupt, "not a tilewright manifest");
    check(raw(text.replace("[[impl]]", "[[imp]]")), ErrorKind::Corrupt, "unknown block `imp`");
    check(with(&|m| drop(m.kernels.pop())), ErrorKind::Corrupt, "contradicts itself");
    // Artifacts are looked at when a plan needs them.
    let plan = |pack| {
        let rt = builder(1).pack(pack).build().unwrap();
        rt.plan("nothing", &Args::new().axis("programs", 1)).err().unwrap()
    };
    check(
        plan(pack_of(std::slice::from_ref(&m), std::slice::from_ref(&so))),
        ErrorKind::Device,
        "refused",
    );
    check(plan(pack_of(std::slice::from_ref(&m), &[])), ErrorKind::Corrupt, "lacks artifact");
    let mut w = tilewright::abi::PackWriter::new("cc");
    w.manifest("cpu/test", m.to_text());
    w.blob(sha256_hex(&so), b"changed".to_vec());
    check(plan(Box::leak(w.finish().into_boxed_slice())), ErrorKind::Corrupt, "has hash");
    let real = common::compile_c("int other;");
    let mut m = common::manifest(&sha256_hex(&real));
    m.kernels.iter_mut().for_each(|k| k.artifact = sha256_hex(&real));
    check(plan(pack_of(&[m], &[real])), ErrorKind::NotFound, "no symbol `empty`");
}

#[test]
fn targets_are_picked_by_features_and_preference() {
    let so = common::compile_c(common::SOURCE);
    let base = common::manifest(&sha256_hex(&so));
    let with = |name: &str, features: &[&str], preference| Manifest {
        target: TargetId::new(name),
        features: features.iter().map(|&f| f.to_owned()).collect(),
        preference,
        ..base.clone()
    };
    let manifests = [
        with("cpu/plain", &[], 1),
        with("cpu/better", &["sse2"], 5),
        with("cpu/alien", &["neon-of-mars"], 9),
        with("nvptx/sm_90a", &[], 99),
    ];
    let both = pack_of(&manifests, std::slice::from_ref(&so));
    let rt = builder(1).pack(both).build().unwrap();
    assert_eq!(rt.target().as_str(), "cpu/better");
    let masked =
        tilewright::knobs::Knobs { cpu_features_off: vec!["sse2".into()], ..Default::default() };
    let rt = builder(1).knobs(masked).pack(both).build().unwrap();
    assert_eq!(rt.target().as_str(), "cpu/plain");
    let error = builder(1).pack(pack_of(&manifests[2..], &[so])).build().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("`cpu/alien` needs neon-of-mars"), "{error}");
    let error = builder(1).build().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

/// Counts how often an artifact is fetched, which a load does once.
struct Counting(EmbeddedStore, Arc<AtomicUsize>);

impl ArtifactStore for Counting {
    fn describe(&self) -> String {
        self.0.describe()
    }
    fn manifests(&self) -> tilewright::Result<Vec<(String, Cow<'_, str>)>> {
        self.0.manifests()
    }
    fn artifact(&self, t: &TargetId, k: &KernelDesc) -> tilewright::Result<Cow<'_, [u8]>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.artifact(t, k)
    }
}

#[test]
fn sixty_four_threads_load_once() {
    let loads = Arc::new(AtomicUsize::new(0));
    let store = Counting(EmbeddedStore::new(pack()).unwrap(), Arc::clone(&loads));
    let rt: Runtime = builder(2).store(Box::new(store)).build().unwrap();
    let args = Args::new().axis("programs", 3);
    std::thread::scope(|s| {
        for _ in 0..64 {
            s.spawn(|| {
                let stream = rt.stream().unwrap();
                let call = rt.plan("nothing", &args).unwrap().bind(&args).unwrap();
                for _ in 0..100 {
                    call.run(&stream).unwrap();
                }
            });
        }
    });
    assert_eq!(loads.load(Ordering::Relaxed), 1);
}
