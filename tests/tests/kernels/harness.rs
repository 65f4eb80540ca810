//! Runs an op of the registry as a plan would: picks the implementation, binds operands, scratch and
//! scalars, and launches on the interpreter or as compiled code.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use tilewright_abi::{Arg, DType, Expr, TargetCaps};
use tilewright_codegen::interp::{self, convert};
use tilewright_codegen::target::TargetDesc;
use tilewright_ir::{Func, Rounding, Type};
use tilewright_kernels::{ImplDef, LaunchDef, OpEntry, registry};
use tilewright_tests::differential::runnable;
use tilewright_tests::guard::{Guarded, Kernel, Touch};

/// Where a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Interp,
    Compiled,
}

/// Both.
pub const BACKENDS: [Backend; 2] = [Backend::Interp, Backend::Compiled];

/// A strided tensor; what is between its elements is poison.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub dtype: DType,
    pub dims: Vec<i64>,
    pub strides: Vec<i64>,
    pub offset: i64,
    pub bytes: Vec<u8>,
}

fn row_major(dims: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i] * dims[i];
    }
    strides
}

fn size(dtype: DType) -> usize {
    dtype.bytes_for(1)
}

fn encode(dtype: DType, x: f64) -> Vec<u8> {
    let bits = if dtype.is_float() {
        convert::encode(dtype, x, Rounding::NearestEven, false)
    } else {
        x as i64 as u64
    };
    bits.to_le_bytes()[..size(dtype)].to_vec()
}

/// `x` as the dtype holds it.
pub fn round(dtype: DType, x: f64) -> f64 {
    convert::decode(dtype, convert::encode(dtype, x, Rounding::NearestEven, false))
}

impl Tensor {
    /// Row-major, of these values rounded to the dtype.
    pub fn new(dtype: DType, dims: &[i64], values: &[f64]) -> Tensor {
        assert_eq!(values.len() as i64, dims.iter().product::<i64>(), "{dims:?}");
        let bytes = values.iter().flat_map(|&x| encode(dtype, x)).collect();
        Tensor { dtype, dims: dims.to_vec(), strides: row_major(dims), offset: 0, bytes }
    }

    /// Row-major, of these bytes.
    pub fn raw(dtype: DType, dims: &[i64], bytes: Vec<u8>) -> Tensor {
        assert_eq!(bytes.len(), dims.iter().product::<i64>() as usize * size(dtype));
        Tensor { dtype, dims: dims.to_vec(), strides: row_major(dims), offset: 0, bytes }
    }

    pub fn f32(dims: &[i64], values: &[f32]) -> Tensor {
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let (dims, strides) = (dims.to_vec(), row_major(dims));
        Tensor { dtype: DType::F32, dims, strides, offset: 0, bytes }
    }

    pub fn i32(values: &[i32]) -> Tensor {
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let dims = vec![values.len() as i64];
        Tensor { dtype: DType::I32, dims, strides: vec![1], offset: 0, bytes }
    }

    pub fn u64(values: &[u64]) -> Tensor {
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let dims = vec![values.len() as i64];
        Tensor { dtype: DType::U64, dims, strides: vec![1], offset: 0, bytes }
    }

    /// All bits set: NaN, or −1.
    pub fn poison(dtype: DType, dims: &[i64]) -> Tensor {
        let bytes = vec![0xff; dims.iter().product::<i64>() as usize * size(dtype)];
        Tensor { dtype, dims: dims.to_vec(), strides: row_major(dims), offset: 0, bytes }
    }

    /// The same elements with other strides, poison between them.
    pub fn spread(&self, strides: &[i64], offset: i64) -> Tensor {
        let last: i64 = self.dims.iter().zip(strides).map(|(d, s)| (d - 1).max(0) * s).sum();
        let empty = self.dims.contains(&0);
        let len = if empty { 0 } else { (offset + last + 1) as usize };
        let mut out = Tensor {
            strides: strides.to_vec(),
            offset,
            bytes: vec![0xff; len * size(self.dtype)],
            ..self.clone()
        };
        let n = size(self.dtype);
        for (from, to) in self.places().into_iter().zip(out.places()) {
            out.bytes[to * n..][..n].copy_from_slice(&self.bytes[from * n..][..n]);
        }
        out
    }

    fn places(&self) -> Vec<usize> {
        let mut at = vec![self.offset];
        for (d, s) in self.dims.iter().zip(&self.strides) {
            at = at.iter().flat_map(|a| (0..*d).map(move |i| a + i * s)).collect();
        }
        at.into_iter().map(|a| a as usize).collect()
    }

    /// Elements in row-major order.
    pub fn values(&self) -> Vec<f64> {
        let n = size(self.dtype);
        let value = |at: usize| {
            let bytes = &self.bytes[at * n..][..n];
            let bits = bytes.iter().rev().fold(0u64, |x, &b| (x << 8) | u64::from(b));
            if self.dtype.is_float() {
                convert::decode(self.dtype, bits)
            } else {
                let unused = 64 - 8 * n as u32;
                (((bits << unused) as i64) >> unused) as f64
            }
        };
        self.places().into_iter().map(value).collect()
    }

    pub fn ints(&self) -> Vec<i32> {
        self.values().into_iter().map(|x| x as i32).collect()
    }

    pub fn floats(&self) -> Vec<f32> {
        self.values().into_iter().map(|x| x as f32).collect()
    }
}

/// A fixed sequence of numbers.
pub struct Noise(pub u64);

impl Noise {
    pub fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as u32
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.bits() as usize % n
    }

    /// In −1 .. 1.
    pub fn float(&mut self) -> f64 {
        f64::from(self.bits()) / f64::from(1u32 << 30) - 1.0
    }

    /// About normal.
    pub fn normal(&mut self) -> f64 {
        (0..6).map(|_| self.float()).sum::<f64>() * 0.707
    }

    /// In −1 .. 1.
    pub fn floats(&mut self, n: i64) -> Vec<f64> {
        (0..n).map(|_| self.float()).collect()
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.bits() as u8).collect()
    }

    /// About normal values that the dtype holds.
    pub fn tensor(&mut self, dtype: DType, dims: &[i64]) -> Tensor {
        let n = dims.iter().product::<i64>();
        let values: Vec<f64> = (0..n).map(|_| self.normal()).collect();
        Tensor::new(dtype, dims, &values)
    }
}

/// The operands of an op by name.
pub type Tensors = BTreeMap<&'static str, Tensor>;

/// An op with its axes, attributes and scalars.
#[derive(Clone, Debug)]
pub struct Case {
    op: String,
    axes: BTreeMap<String, i64>,
    attrs: BTreeMap<String, String>,
    scalars: BTreeMap<String, f64>,
    algorithm: Option<&'static str>,
}

impl Case {
    pub fn new(op: &str) -> Case {
        Case {
            op: op.to_owned(),
            axes: BTreeMap::new(),
            attrs: BTreeMap::new(),
            scalars: BTreeMap::new(),
            algorithm: None,
        }
    }

    /// An axis that no operand shows.
    pub fn axis(mut self, name: &str, extent: i64) -> Case {
        self.axes.insert(name.into(), extent);
        self
    }

    pub fn attr(mut self, name: &str, value: &str) -> Case {
        self.attrs.insert(name.into(), value.into());
        self
    }

    pub fn scalar(mut self, name: &str, value: f64) -> Case {
        self.scalars.insert(name.into(), value);
        self
    }

    /// Only this algorithm, not the preferred one.
    pub fn algorithm(mut self, name: &'static str) -> Case {
        self.algorithm = Some(name);
        self
    }

    /// Runs on both backends; `check` sees each result.
    pub fn check(&self, tensors: &Tensors, check: impl Fn(Backend, &Tensors)) {
        for backend in BACKENDS {
            check(backend, &self.run(backend, tensors));
        }
    }

    /// The operands after the op.
    pub fn run(&self, backend: Backend, tensors: &Tensors) -> Tensors {
        self.run_first(1, backend, tensors).remove(0).1
    }

    /// The operands after the op, by each implementation that fits.
    pub fn run_all(&self, backend: Backend, tensors: &Tensors) -> Vec<(String, Tensors)> {
        self.run_first(usize::MAX, backend, tensors)
    }

    fn run_first(&self, n: usize, backend: Backend, tensors: &Tensors) -> Vec<(String, Tensors)> {
        let target = runnable().last().copied().expect("a target that runs here");
        let entry = registry().into_iter().find(|e| e.spec.name == self.op).expect("an op");
        let axes = self.all_axes(&entry, tensors);
        let sym = |s: &str| axes.get(s).copied();
        let fits = |d: &ImplDef| self.matches(&entry, d, tensors, &sym);
        let mut defs: Vec<ImplDef> =
            (entry.impls)(&caps(target)).into_iter().filter(fits).collect();
        defs.sort_by_key(|d| -d.priority);
        assert!(!defs.is_empty(), "{}: nothing fits {axes:?}", self.op);
        let one = |d: &ImplDef| {
            let out = self.launch(&entry, d, backend, target, tensors, &sym);
            (format!("{} {backend:?}", d.to_impl(&self.op).id()), out)
        };
        defs.iter().take(n).map(one).collect()
    }

    /// The axes that operands show by a bare name in their shapes, and those given.
    fn all_axes(&self, entry: &OpEntry, tensors: &Tensors) -> BTreeMap<String, i64> {
        let mut axes = self.axes.clone();
        let present =
            || entry.spec.tensors.iter().filter_map(|t| Some((t, tensors.get(&*t.name)?)));
        for (spec, given) in present() {
            for (expr, dim) in spec.shape.iter().zip(&given.dims) {
                if let Expr::Sym(name) = expr {
                    axes.entry(name.clone()).or_insert(*dim);
                }
            }
        }
        for (spec, given) in present() {
            let dims: Vec<_> =
                spec.shape.iter().map(|e| e.eval(&|s| axes.get(s).copied())).collect();
            let want: Vec<_> = given.dims.iter().map(|&d| Some(d)).collect();
            assert_eq!(dims, want, "{}: shape of {}", self.op, spec.name);
        }
        axes
    }

    fn matches(
        &self,
        entry: &OpEntry,
        def: &ImplDef,
        tensors: &Tensors,
        sym: &dyn Fn(&str) -> Option<i64>,
    ) -> bool {
        let dtypes = entry.spec.tensors.iter().all(|t| {
            let stated = def.dtypes.get(&t.name).copied();
            match tensors.get(&*t.name) {
                Some(given) => stated.or_else(|| t.implied_dtype()) == Some(given.dtype),
                None => t.optional && stated.is_none(),
            }
        });
        let attrs = entry.spec.attrs.iter().all(|a| {
            let wanted = self.attrs.get(&a.name).unwrap_or(&a.values[0]);
            def.attrs.get(&a.name).unwrap_or(&a.values[0]) == wanted
        });
        let algorithm = self.algorithm.is_none_or(|a| a == def.algorithm);
        dtypes && attrs && algorithm && def.when.iter().all(|c| c.eval(sym) == Some(true))
    }

    fn launch(
        &self,
        entry: &OpEntry,
        def: &ImplDef,
        backend: Backend,
        target: &TargetDesc,
        tensors: &Tensors,
        sym: &dyn Fn(&str) -> Option<i64>,
    ) -> Tensors {
        let eval = |e: &Expr| e.eval(sym).unwrap_or_else(|| panic!("{}: `{e}`", self.op));
        let mut own = tensors.clone();
        let mut scratch: BTreeMap<String, Tensor> = BTreeMap::new();
        for w in &def.workspace {
            let dims: Vec<i64> = w.dims.iter().map(eval).collect();
            scratch.insert(w.name.clone(), Tensor::poison(w.dtype, &dims));
        }
        for launch in &def.launches {
            let built = built(launch, backend, target);
            let grid = [0, 1, 2].map(|i| eval(&launch.grid[i]));
            let mut held: Vec<Result<Tensor, f64>> = Vec::new();
            for arg in &launch.args {
                held.push(match arg {
                    Arg::Tensor { name, view } => {
                        let mut t = own.get(name.as_str()).expect("bound").clone();
                        if let Some(dims) = view {
                            assert_eq!(t.strides, row_major(&t.dims), "{name} must be packed");
                            t.dims = dims.iter().map(eval).collect();
                            t.strides = row_major(&t.dims);
                        }
                        Ok(t)
                    }
                    Arg::Workspace(name) => Ok(scratch[name].clone()),
                    Arg::Scalar(name) => {
                        let default = entry.spec.scalar(name).and_then(|s| s.default);
                        Err(self.scalars.get(name).copied().or(default).expect("a scalar"))
                    }
                    Arg::Axis(e) => Err(eval(e) as f64),
                });
            }
            match &built.kernel {
                None => interpret(&built.func, &mut held, grid),
                Some(kernel) => execute(kernel, &built.func, &mut held, grid),
            }
            for ((arg, held), param) in launch.args.iter().zip(held).zip(&built.func.params) {
                let mutable = matches!(built.func.ty(param.value), Type::View(v) if v.mutable);
                match (arg, held) {
                    (Arg::Tensor { name, .. }, Ok(t)) if mutable => {
                        own.get_mut(name.as_str()).expect("bound").bytes = t.bytes;
                    }
                    (Arg::Workspace(name), Ok(t)) if mutable => {
                        scratch.get_mut(name).expect("bound").bytes = t.bytes;
                    }
                    _ => {}
                }
            }
        }
        own
    }
}

struct Built {
    func: Func,
    kernel: Option<Kernel>,
}

// Staged and compiled once a name: a case that runs hundreds of rows stages nothing twice.
fn built(launch: &LaunchDef, backend: Backend, target: &TargetDesc) -> Arc<Built> {
    static BUILT: OnceLock<Mutex<HashMap<(String, bool), Arc<Built>>>> = OnceLock::new();
    let compiled = backend == Backend::Compiled;
    let cache = BUILT.get_or_init(Mutex::default);
    let key = (launch.kernel.clone(), compiled);
    if let Some(built) = cache.lock().expect("cache").get(&key) {
        return built.clone();
    }
    let text = |d: Vec<tilewright_ir::Diagnostic>| {
        d.iter().map(|d| d.render()).collect::<Vec<_>>().join("\n")
    };
    let func = (launch.stage)().unwrap_or_else(|d| panic!("{}: {}", launch.kernel, text(d)));
    let kernel = compiled.then(|| {
        let artifact = tilewright_llvm::compile_kernel(&launch.kernel, &func, target)
            .unwrap_or_else(|e| panic!("{}: {e}", launch.kernel));
        Kernel::load(&artifact.bytes, &artifact.kernel.symbol).expect("a shared object")
    });
    let built = Arc::new(Built { func, kernel });
    cache.lock().expect("cache").insert(key, built.clone());
    built
}

fn interpret(func: &Func, held: &mut [Result<Tensor, f64>], grid: [i64; 3]) {
    let mut args: Vec<interp::Arg<'_>> = Vec::new();
    for (held, param) in held.iter_mut().zip(&func.params) {
        let elem = func.ty(param.value).elem();
        args.push(match held {
            Ok(t) => interp::Arg::View {
                data: &mut t.bytes,
                dtype: t.dtype,
                dims: t.dims.clone(),
                strides: t.strides.clone(),
                offset: t.offset,
            },
            Err(x) if elem.is_float() => interp::Arg::float(elem, *x),
            Err(x) => interp::Arg::int(elem, *x as i64),
        });
    }
    interp::run(func, &mut args, grid).unwrap_or_else(|d| panic!("{}", d.render()));
}

fn execute(kernel: &Kernel, func: &Func, held: &mut [Result<Tensor, f64>], grid: [i64; 3]) {
    let mut words = Vec::new();
    let mut memory = Vec::new();
    for (held, param) in held.iter().zip(&func.params) {
        let elem = func.ty(param.value).elem();
        match held {
            Ok(t) => {
                let guarded = Guarded::from_bytes(&t.bytes, Touch::End).expect("memory");
                words.push(guarded.address() + (t.offset * size(t.dtype) as i64) as u64);
                words.extend(t.dims.iter().map(|&d| d as u64));
                words.extend(t.strides.iter().map(|&s| s as u64));
                memory.push(Some(guarded));
            }
            Err(x) => {
                let mut word = [0u8; 8];
                let bytes = encode(elem, *x);
                word[..bytes.len()].copy_from_slice(&bytes);
                words.push(u64::from_le_bytes(word));
                memory.push(None);
            }
        }
    }
    // In two parts, the later first, as two threads might take them.
    let programs: i64 = grid.iter().product();
    kernel.run(&words, grid, programs / 2, programs);
    kernel.run(&words, grid, 0, programs / 2);
    for (held, memory) in held.iter_mut().zip(memory) {
        if let (Ok(t), Some(m)) = (held, memory) {
            t.bytes = m.bytes().to_vec();
        }
    }
}

fn caps(target: &TargetDesc) -> TargetCaps {
    target.caps()
}

/// `‖got − want‖ ≤ bound · ‖want‖`, and NaN and infinities in the same places.
pub fn assert_close(what: &str, got: &[f64], want: &[f64], bound: f64) {
    assert_eq!(got.len(), want.len(), "{what}: length");
    let (mut error, mut norm, mut worst) = (0.0, 0.0, (0.0, 0));
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        if g == w || (g.is_nan() && w.is_nan()) {
            norm += if w.is_finite() { w * w } else { 0.0 };
            continue;
        }
        assert!(g.is_finite() && w.is_finite(), "{what}: element {i} is {g}, should be {w}");
        error += (g - w) * (g - w);
        norm += w * w;
        if (g - w).abs() > worst.0 {
            worst = ((g - w).abs(), i);
        }
    }
    let i = worst.1;
    assert!(
        error.sqrt() <= bound * norm.sqrt() + 1e-30,
        "{what}: relative error {:e} above {bound:e}; worst at {i}: {} for {}",
        (error / norm).sqrt(),
        got[i],
        want[i]
    );
}

/// The bound of a result of this dtype that sums `k` products.
pub fn bound(dtype: DType, k: usize) -> f64 {
    match dtype {
        DType::BF16 => 1.0 / 256.0,
        DType::F16 => 1.0 / 1024.0,
        _ => 4e-7 * (k as f64).sqrt().max(1.0),
    }
}
