//! The CPU device: artifacts are shared objects, launches run on a pool of worker threads.
//!
//! A launch or copy has finished when the call returns, so a stream is only a place to record a graph.

use super::{
    CopyOp, Device, DeviceInfo, EventId, GraphId, Handle, KernelId, LaunchArgs, ModuleId, RawBuf,
    StreamId,
};
use crate::error::fail;
use crate::pool::{KernelFn, Pool};
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tilewright_abi::{ArtifactKind, Family, KernelDesc, sha256_hex};

mod driver;
mod features;
mod graph;

pub use features::known_features;
use graph::{Recording, Replayable};

/// How a CPU device is made.
#[derive(Clone, Debug)]
pub struct CpuConfig {
    /// Threads of a launch, the caller's included; 0 for one per core. More than there are cores is
    /// allowed and slow.
    pub threads: usize,
    /// How long an idle worker spins before it sleeps.
    pub spin: Duration,
    /// Processor features to leave unused.
    pub features_off: Vec<String>,
}

impl Default for CpuConfig {
    fn default() -> Self {
        CpuConfig { threads: 0, spin: Duration::from_micros(100), features_off: Vec::new() }
    }
}

/// This machine's processor.
pub struct CpuDevice {
    info: DeviceInfo,
    forks: u64,
    pool: Pool,
    memory: driver::Memory,
    modules: Mutex<HashMap<ModuleId, driver::Library>>,
    kernels: RwLock<Vec<KernelFn>>,
    events: Mutex<HashMap<EventId, Instant>>,
    graphs: Mutex<HashMap<GraphId, Arc<Replayable>>>,
    recordings: Mutex<HashMap<StreamId, Recording>>,
    n_recordings: AtomicUsize,
    next_id: AtomicU64,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while a lock is held; a poisoned one guards consistent data all the same.
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CpuDevice {
    /// Starts the worker threads.
    pub fn new(config: &CpuConfig) -> Result<CpuDevice> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if config.threads == 0 { cores } else { config.threads };
        let pool = Pool::new(threads, cores, config.spin).map_err(|e| {
            let message = format!("cannot start {threads} threads; use fewer");
            Error::new(ErrorKind::Limit, message).with_source(e)
        })?;
        let info = DeviceInfo {
            family: Family::Cpu,
            name: "CPU".to_owned(),
            features: features::detect(&config.features_off),
            cores: u32::try_from(cores).unwrap_or(u32::MAX),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            host_memory: true,
            smem_bytes: 0,
        };
        Ok(CpuDevice {
            info,
            forks: driver::fork_count(),
            pool,
            memory: driver::Memory::default(),
            modules: Mutex::default(),
            kernels: RwLock::default(),
            events: Mutex::default(),
            graphs: Mutex::default(),
            recordings: Mutex::default(),
            n_recordings: AtomicUsize::new(0),
            next_id: AtomicU64::new(1),
        })
    }

    fn id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    fn check_fork(&self) -> Result<()> {
        if driver::fork_count() == self.forks {
            return Ok(());
        }
        fail!(
            Forked,
            "this process was forked after the CPU device was made, and its worker threads exist in \
             the parent only; make a new `Runtime` in the child"
        )
    }

    fn kernel_fn(&self, kernel: KernelId) -> Result<KernelFn> {
        let kernels = self.kernels.read().unwrap_or_else(PoisonError::into_inner);
        let found = usize::try_from(kernel.0).ok().and_then(|i| kernels.get(i)).copied();
        found.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("no kernel {}", kernel.0)))
    }

    fn launch_fn(&self, f: KernelFn, args: &LaunchArgs<'_>, stream: StreamId) {
        let threads = self.pool.threads();
        if self.recording(stream, |r| r.push(f, args, threads)).is_none() {
            graph::run_one(&self.pool, f, args);
        }
    }

    /// The stream's recording, if there is one, is given to `f`.
    fn recording<T>(&self, stream: StreamId, f: impl FnOnce(&mut Recording) -> T) -> Option<T> {
        if self.n_recordings.load(Ordering::Acquire) == 0 {
            return None;
        }
        lock(&self.recordings).get_mut(&stream).map(f)
    }
}

impl Device for CpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn alloc(&self, bytes: usize) -> Result<RawBuf> {
        self.check_fork()?;
        self.memory.alloc(bytes)
    }

    fn free(&self, buf: RawBuf) {
        self.memory.free(buf);
    }

    fn copy(&self, op: CopyOp<'_>, stream: StreamId) -> Result<()> {
        self.check_fork()?;
        let captured = self.recording(stream, |_| ()).is_some();
        match op {
            CopyOp::ToDevice { .. } | CopyOp::ToHost { .. } if captured => {
                fail!(Unsupported, "a copy from or to the host cannot be recorded in a graph")
            }
            CopyOp::ToDevice { src, dst, offset } => self.memory.copy_in(src, dst, offset),
            CopyOp::ToHost { src, offset, dst } => self.memory.copy_out(src, offset, dst),
            CopyOp::Within { src, src_offset, dst, dst_offset, bytes } => {
                self.memory.copy_within((src, src_offset), (dst, dst_offset), bytes, |args| {
                    self.launch_fn(driver::copy_kernel, args, stream);
                })
            }
        }
    }

    fn load(&self, kernel: &KernelDesc, bytes: &[u8]) -> Result<ModuleId> {
        self.check_fork()?;
        if kernel.kind != ArtifactKind::SharedObject {
            let (kind, name) = (kernel.kind.name(), &kernel.name);
            return fail!(Unsupported, "kernel `{name}` is a {kind}, the CPU loads shared objects");
        }
        let found = sha256_hex(bytes);
        if found != kernel.artifact {
            return fail!(
                Corrupt,
                "artifact of kernel `{}` has hash {found}, its manifest says {}; rebuild or copy the \
                 pack again",
                kernel.name,
                kernel.artifact
            );
        }
        let library =
            driver::Library::load(bytes).map_err(|e| e.context(format!("`{}`", kernel.name)))?;
        let id = ModuleId(self.id());
        lock(&self.modules).insert(id, library);
        Ok(id)
    }

    fn kernel(&self, module: ModuleId, symbol: &str) -> Result<KernelId> {
        let modules = lock(&self.modules);
        let library = modules.get(&module);
        let library = library
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("no module {}", module.0)))?;
        let Some(f) = library.kernel(symbol) else {
            return fail!(NotFound, "the artifact has no symbol `{symbol}`; rebuild the pack");
        };
        let mut kernels = self.kernels.write().unwrap_or_else(PoisonError::into_inner);
        kernels.push(f);
        Ok(KernelId(kernels.len() as u64 - 1))
    }

    fn launch(&self, kernel: KernelId, args: &LaunchArgs<'_>, stream: StreamId) -> Result<()> {
        self.check_fork()?;
        let f = self.kernel_fn(kernel)?;
        self.launch_fn(f, args, stream);
        Ok(())
    }

    fn create_stream(&self) -> Result<StreamId> {
        self.check_fork()?;
        Ok(StreamId(self.id()))
    }

    fn sync(&self, _stream: StreamId) -> Result<()> {
        self.check_fork()
    }

    fn record(&self, _stream: StreamId) -> Result<EventId> {
        let id = EventId(self.id());
        lock(&self.events).insert(id, Instant::now());
        Ok(id)
    }

    fn wait(&self, event: EventId, _stream: StreamId) -> Result<()> {
        match lock(&self.events).contains_key(&event) {
            true => Ok(()),
            false => fail!(NotFound, "no event {}", event.0),
        }
    }

    fn elapsed(&self, from: EventId, to: EventId) -> Result<Duration> {
        let events = lock(&self.events);
        match (events.get(&from), events.get(&to)) {
            (Some(a), Some(b)) => Ok(b.saturating_duration_since(*a)),
            _ => fail!(NotFound, "no event {} or {}", from.0, to.0),
        }
    }

    fn begin_capture(&self, stream: StreamId) -> Result<()> {
        self.check_fork()?;
        let mut recordings = lock(&self.recordings);
        if recordings.contains_key(&stream) {
            return fail!(InvalidArgument, "the stream is being recorded already");
        }
        recordings.insert(stream, Recording::default());
        self.n_recordings.store(recordings.len(), Ordering::Release);
        Ok(())
    }

    fn end_capture(&self, stream: StreamId) -> Result<GraphId> {
        let mut recordings = lock(&self.recordings);
        let recording = recordings.remove(&stream);
        self.n_recordings.store(recordings.len(), Ordering::Release);
        drop(recordings);
        let Some(recording) = recording else {
            return fail!(InvalidArgument, "the stream is not being recorded");
        };
        let id = GraphId(self.id());
        let graph = recording.finish();
        lock(&self.graphs).insert(id, Arc::new(graph));
        Ok(id)
    }

    fn replay(&self, graph: GraphId, _stream: StreamId) -> Result<()> {
        self.check_fork()?;
        let found = lock(&self.graphs).get(&graph).cloned();
        match found {
            Some(g) => g.run(&self.pool),
            None => return fail!(NotFound, "no graph {}", graph.0),
        }
        Ok(())
    }

    fn release(&self, handle: Handle) {
        match handle {
            // Kernels of a module may be held by plans, so a module goes with the device.
            Handle::Stream(_) | Handle::Module(_) => {}
            Handle::Event(e) => drop(lock(&self.events).remove(&e)),
            Handle::Graph(g) => drop(lock(&self.graphs).remove(&g)),
        }
    }
}

impl Drop for CpuDevice {
    fn drop(&mut self) {
        if driver::fork_count() != self.forks {
            self.pool.abandon();
        }
    }
}
