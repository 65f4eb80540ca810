//! The registry, compiled: every target × implementation × launch, in parallel, through the cache.

mod cache;
mod jobs;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tilewright_abi::{KernelDesc, Manifest, OpImpl, PackWriter, TargetId};
use tilewright_codegen::target::TargetDesc;
use tilewright_kernels::{OpEntry, registry};
use tilewright_llvm::toolchain;

pub(crate) use cache::{Cache, fingerprint};
use jobs::{Compiled, Job};

/// Failures shown in full; the rest is counted.
const SHOWN: usize = 10;

/// What a build makes.
pub(crate) struct Built {
    toolchain: String,
    manifests: Vec<Manifest>,
    blobs: BTreeMap<String, Vec<u8>>,
    fresh: usize,
    failures: Vec<String>,
}

impl Built {
    /// What failed, if anything did: each with its op, variant, kernel and target.
    pub(crate) fn failures(&self) -> Option<String> {
        let mut text = self.failures.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
        if self.failures.len() > SHOWN {
            let more = self.failures.len() - SHOWN;
            text.push_str(&format!("\nand {more} more kernels that failed"));
        }
        (!self.failures.is_empty()).then_some(text)
    }

    /// One line for people.
    pub(crate) fn summary(&self) -> String {
        let kernels: usize = self.manifests.iter().map(|m| m.kernels.len()).sum();
        let bytes: usize = self.blobs.values().map(Vec::len).sum();
        format!(
            "{kernels} kernels for {} targets, {} compiled now, {} KiB",
            self.manifests.len(),
            self.fresh,
            bytes / 1024
        )
    }

    /// As one file.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut writer = PackWriter::new(&self.toolchain);
        for manifest in &self.manifests {
            writer.manifest(manifest.target.as_str(), manifest.to_text());
        }
        for (hash, bytes) in &self.blobs {
            writer.blob(hash, bytes.clone());
        }
        writer.finish()
    }
}

/// Compiles the registry for some targets with some threads.
pub(crate) fn build(
    targets: &[&'static TargetDesc],
    cache: &Cache,
    threads: usize,
) -> Result<Built, String> {
    let entries: Vec<(&TargetDesc, OpEntry)> =
        targets.iter().flat_map(|&t| registry().into_iter().map(move |e| (t, e))).collect();
    let mut jobs = Vec::new();
    for (target, entry) in &entries {
        jobs::collect(target, entry, &mut jobs);
    }
    let results = run(&jobs, cache, threads);
    let mut built = Built {
        toolchain: toolchain(),
        manifests: targets.iter().map(|t| manifest(t)).collect(),
        blobs: BTreeMap::new(),
        fresh: 0,
        failures: Vec::new(),
    };
    let mut kernels: BTreeMap<(&str, String), KernelDesc> = BTreeMap::new();
    for (job, result) in jobs.iter().zip(results) {
        match result {
            Ok(compiled) => {
                built.fresh += usize::from(compiled.fresh);
                built.blobs.insert(compiled.kernel.artifact.clone(), compiled.bytes);
                kernels.insert((job.target.id, compiled.kernel.name.clone()), compiled.kernel);
            }
            Err(message) => built.failures.push(format!("{}: {message}", job.label())),
        }
    }
    for ((target, _), kernel) in kernels {
        if let Some(m) = built.manifests.iter_mut().find(|m| m.target.as_str() == target) {
            m.kernels.push(kernel);
        }
    }
    for (target, entry) in &entries {
        if let Some(m) = built.manifests.iter_mut().find(|m| m.target.as_str() == target.id) {
            let impls = (entry.impls)(&target.caps());
            let impls = impls.iter().map(|d| d.to_impl(&entry.spec.name));
            let whole = |i: &OpImpl| i.launches.iter().all(|l| m.kernel(&l.kernel).is_some());
            let impls: Vec<OpImpl> = impls.filter(whole).collect();
            if !impls.is_empty() {
                m.impls.extend(impls);
                m.specs.push(entry.spec.clone());
            }
        }
    }
    Ok(built)
}

fn manifest(target: &TargetDesc) -> Manifest {
    let mut manifest = Manifest::new(TargetId::new(target.id), toolchain());
    manifest.features = target.cpuid.iter().map(|&f| f.to_owned()).collect();
    // More required features: a newer machine, preferred where it is one.
    manifest.preference = target.cpuid.len() as u32;
    manifest
}

/// A kernel takes seconds; one that takes this long never ends.
const LIMIT: Duration = Duration::from_secs(300);

/// What each thread compiles, and since when.
type Running = Mutex<BTreeMap<usize, Instant>>;

/// Ends the build with the name of a kernel that takes longer than [`LIMIT`]: LLVM cannot be stopped
/// from outside, and a build that hangs says nothing.
fn watch(jobs: &[Job<'_>], running: &Running, workers: &AtomicUsize) {
    while workers.load(Ordering::Acquire) > 0 {
        std::thread::sleep(Duration::from_millis(20));
        let running = running.lock().unwrap_or_else(|e| e.into_inner());
        for (job, since) in running.iter() {
            if since.elapsed() > LIMIT
                && let Some(job) = jobs.get(*job)
            {
                let label = job.label();
                println!("cargo:error={label}: LLVM was not done after {LIMIT:?}");
                std::process::exit(1);
            }
        }
    }
}

/// Counts a thread out when it ends, by whatever way.
struct Leave<'a>(&'a AtomicUsize);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Results in the order of the jobs.
fn run(jobs: &[Job<'_>], cache: &Cache, threads: usize) -> Vec<Result<Compiled, String>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Compiled, String>)>> = Mutex::default();
    let threads = threads.clamp(1, jobs.len().max(1));
    let (running, workers) = (Running::default(), AtomicUsize::new(threads));
    std::thread::scope(|scope| {
        scope.spawn(|| watch(jobs, &running, &workers));
        for _ in 0..threads {
            scope.spawn(|| {
                let _leave = Leave(&workers);
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(i) else { break };
                    running.lock().unwrap_or_else(|e| e.into_inner()).insert(i, Instant::now());
                    let result = job.run(cache);
                    running.lock().unwrap_or_else(|e| e.into_inner()).remove(&i);
                    done.lock().unwrap_or_else(|e| e.into_inner()).push((i, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}
