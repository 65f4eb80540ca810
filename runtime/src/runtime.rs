//! The runtime: a device, the compiled kernels for it, and the tuned configs.

use crate::args::Args;
use crate::buffer::Buffer;
use crate::catalog::Catalog;
use crate::config_store::Configs;
use crate::device::cpu::{CpuConfig, CpuDevice};
use crate::device::{Device, DeviceInfo, KernelId};
use crate::error::fail;
use crate::graph::{Stream, is_recording};
use crate::knobs::Knobs;
use crate::notice::Notices;
use crate::plan::Plan;
use crate::select::{Reason, describe, select, select_exactly};
use crate::store::{ArtifactStore, DirStore, EmbeddedStore, pick};
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tilewright_abi::{KernelDesc, OpSpec, Problem, TargetId, Variant, device_key};

/// Plans kept for [`Runtime::plan`]; when more problems than this are met, all are forgotten.
const MAX_PLANS: usize = 4096;

/// A device with compiled kernels. Clones share everything.
#[derive(Clone)]
pub struct Runtime {
    core: Arc<Core>,
    plans: Arc<Mutex<HashMap<Problem, Plan>>>,
}

/// What plans and calls need of a runtime.
pub(crate) struct Core {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) catalog: Catalog,
    store: Box<dyn ArtifactStore>,
    configs: Configs,
    device_key: String,
    notices: Notices,
    modules: Mutex<HashMap<String, Arc<Mutex<Option<crate::device::ModuleId>>>>>,
    kernels: Mutex<HashMap<String, KernelId>>,
}

/// Makes a [`Runtime`].
#[derive(Default)]
pub struct Builder {
    device: Option<Arc<dyn Device>>,
    threads: Option<usize>,
    stores: Vec<Box<dyn ArtifactStore>>,
    packs: Vec<&'static [u8]>,
    config_dir: Option<PathBuf>,
    knobs: Option<Knobs>,
    notices: Notices,
}

impl Builder {
    /// Threads of a CPU launch, the caller's included; 0 for one per core.
    #[must_use]
    pub fn cpu_threads(mut self, threads: usize) -> Builder {
        self.threads = Some(threads);
        self
    }

    /// A device other than this machine's processor.
    #[must_use]
    pub fn device(mut self, device: Arc<dyn Device>) -> Builder {
        self.device = Some(device);
        self
    }

    /// Kernels embedded in the program.
    #[must_use]
    pub fn pack(mut self, bytes: &'static [u8]) -> Builder {
        self.packs.push(bytes);
        self
    }

    /// The kernels that the feature `pack` compiled into this crate.
    #[cfg(feature = "pack")]
    #[must_use]
    pub fn embedded_pack(self) -> Builder {
        self.pack(tilewright_pack::PACK)
    }

    /// Kernels in a directory.
    #[must_use]
    pub fn pack_dir(mut self, dir: impl Into<PathBuf>) -> Builder {
        self.stores.push(Box::new(DirStore::new(dir)));
        self
    }

    /// Kernels from anywhere else.
    #[must_use]
    pub fn store(mut self, store: Box<dyn ArtifactStore>) -> Builder {
        self.stores.push(store);
        self
    }

    /// Tuned configs; a directory with a folder for each device.
    #[must_use]
    pub fn config_dir(mut self, dir: impl Into<PathBuf>) -> Builder {
        self.config_dir = Some(dir.into());
        self
    }

    /// Settings in place of the environment's.
    #[must_use]
    pub fn knobs(mut self, knobs: Knobs) -> Builder {
        self.knobs = Some(knobs);
        self
    }

    /// Where notices go: what falls back to a default, and how to tune it. Each is said once. The
    /// default is standard error.
    #[must_use]
    pub fn on_notice(mut self, sink: impl Fn(&str) + Send + Sync + 'static) -> Builder {
        self.notices = Notices::new(sink);
        self
    }

    /// Finds the device's kernels and configs.
    pub fn build(self) -> Result<Runtime> {
        let Builder { device, threads, mut stores, packs, config_dir, knobs, notices } = self;
        let knobs = knobs.unwrap_or_else(Knobs::from_env);
        knobs.faults.iter().for_each(|f| notices.say(f, || f.clone()));
        let device = match device {
            Some(device) => device,
            None => {
                let mut config =
                    CpuConfig { features_off: knobs.cpu_features_off, ..CpuConfig::default() };
                config.threads = threads.or(knobs.cpu_threads).unwrap_or(0);
                if let Some(us) = knobs.cpu_spin_us {
                    config.spin = std::time::Duration::from_micros(us);
                }
                Arc::new(CpuDevice::new(&config)?)
            }
        };
        for bytes in packs {
            stores.push(Box::new(EmbeddedStore::new(bytes)?));
        }
        if let Some(dir) = knobs.pack_dir {
            stores.push(Box::new(DirStore::new(dir)));
        }
        let info = device.info();
        let (index, manifest) = pick(&stores, info.family, &info.features)?;
        let device_key = device_key(&manifest.target, info.cores, info.smem_bytes);
        let catalog = Catalog::new(manifest)?;
        let configs = match config_dir.or(knobs.config_dir) {
            Some(dir) => Configs::read_dir(&dir, &device_key, &catalog),
            None => Configs::default(),
        };
        configs.faults().iter().for_each(|f| notices.say(f, || format!("ignored: {f}")));
        let core = Core {
            device,
            catalog,
            store: stores.swap_remove(index),
            configs,
            device_key,
            notices,
            modules: Mutex::default(),
            kernels: Mutex::default(),
        };
        Ok(Runtime { core: Arc::new(core), plans: Arc::default() })
    }
}

impl Runtime {
    /// A builder; without further calls, of this machine's processor with a thread per core.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// This machine's processor with a number of threads (0: one per core) and an embedded pack.
    pub fn new(cpu_threads: usize, pack: &'static [u8]) -> Result<Runtime> {
        Runtime::builder().cpu_threads(cpu_threads).pack(pack).build()
    }

    /// What the device is.
    pub fn info(&self) -> &DeviceInfo {
        self.core.device.info()
    }

    /// The target whose kernels are in use.
    pub fn target(&self) -> &TargetId {
        &self.core.catalog.manifest().target
    }

    /// The folder of this device's tuned configs.
    pub fn device_key(&self) -> &str {
        &self.core.device_key
    }

    /// The compiled kernels and specs.
    pub fn catalog(&self) -> &Catalog {
        &self.core.catalog
    }

    /// The tuned configs.
    pub fn configs(&self) -> &Configs {
        &self.core.configs
    }

    /// The spec of an op.
    pub fn spec(&self, op: &str) -> Result<&OpSpec> {
        self.core.catalog.spec(op)
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.core.device
    }

    /// A new stream.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(&self.core.device)
    }

    /// Scratch memory for [`Plan::bind_with`].
    pub fn workspace(&self, bytes: usize) -> Result<Buffer> {
        Buffer::new(&self.core.device, bytes)
    }

    /// Plans an op for these operands; plans are kept, so that a problem met again costs a look-up.
    pub fn plan(&self, op: &str, args: &Args) -> Result<Plan> {
        self.plan_problem(&args.problem(self.spec(op)?)?)
    }

    /// Plans a problem.
    pub fn plan_problem(&self, problem: &Problem) -> Result<Plan> {
        let lock = || self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = lock().get(problem) {
            return Ok(plan.clone());
        }
        let plan = self.core.plan(problem)?;
        let mut plans = lock();
        if plans.len() >= MAX_PLANS {
            plans.clear();
        }
        plans.insert(problem.clone(), plan.clone());
        Ok(plan)
    }

    /// Plans a problem with the impl of this algorithm and variant: for tuners and tests. Not kept.
    pub fn plan_exactly(
        &self,
        problem: &Problem,
        algorithm: &str,
        variant: &Variant,
    ) -> Result<Plan> {
        let selection = select_exactly(problem, &self.core.catalog, algorithm, variant)?;
        Plan::new(&self.core, problem, selection)
    }

    /// Plans, binds and runs, for what runs once.
    pub fn run(&self, op: &str, args: &Args, stream: &Stream) -> Result<()> {
        self.plan(op, args)?.bind(args)?.run(stream)
    }
}

impl Core {
    fn plan(self: &Arc<Core>, problem: &Problem) -> Result<Plan> {
        let selection = select(problem, &self.catalog, &self.configs)?;
        self.notify(problem, &selection.chosen.id(), &selection.reason);
        Plan::new(self, problem, selection)
    }

    fn notify(&self, problem: &Problem, chosen: &str, reason: &Reason) {
        let why = match reason {
            Reason::Tuned { .. } | Reason::Asked => return,
            Reason::Default => "no tuned config".to_owned(),
            Reason::RecordRefused { wanted, why } => {
                format!("the tuned config `{wanted}` does not apply ({why})")
            }
        };
        let Ok(spec) = self.catalog.spec(&problem.op) else { return };
        let key = tilewright_abi::ConfigKey::of(spec, problem).to_string();
        self.notices.say(&key, || {
            format!(
                "{why} for {key} on {}; using `{chosen}`; to tune: `tilewright tune --op {} --problem \
                 \"{}\"`",
                self.device_key,
                problem.op,
                describe(problem)
            )
        });
    }

    /// The function of a kernel; its artifact is loaded by the first caller, once.
    pub(crate) fn kernel(&self, kernel: &KernelDesc) -> Result<KernelId> {
        let kernels = || self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&id) = kernels().get(&kernel.name) {
            return Ok(id);
        }
        let slot = {
            let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(modules.entry(kernel.artifact.clone()).or_default())
        };
        // Callers that want the same artifact wait here for the one that loads it.
        let mut module = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let module = match *module {
            Some(id) => id,
            None if is_recording() => {
                return fail!(
                    NotWarmedUp,
                    "kernel `{}` is not loaded, and a graph is being recorded; plan this problem once \
                     before recording",
                    kernel.name
                );
            }
            None => {
                let bytes = self.store.artifact(&self.catalog.manifest().target, kernel)?;
                *module.insert(self.device.load(kernel, &bytes)?)
            }
        };
        // Again: another caller may have been here while this one waited.
        if let Some(&id) = kernels().get(&kernel.name) {
            return Ok(id);
        }
        let id = self
            .device
            .kernel(module, &kernel.symbol)
            .map_err(|e| e.context(format!("kernel `{}`", kernel.name)))?;
        kernels().insert(kernel.name.clone(), id);
        Ok(id)
    }

    pub(crate) fn bug(&self, what: impl std::fmt::Display) -> Error {
        Error::new(
            ErrorKind::Bug,
            format!(
                "{what}; this is a bug in tilewright or in the pack of `{}`",
                self.catalog.manifest().target
            ),
        )
    }
}
