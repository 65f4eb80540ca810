//! The null device: hands out addresses, checks arguments, records what would be launched and runs
//! nothing. For dry runs (which kernels would serve a problem on a device that is not here) and tests.

use super::{
    CopyOp, Device, DeviceInfo, EventId, GraphId, Handle, KernelId, LaunchArgs, ModuleId, RawBuf,
    StreamId,
};
use crate::error::fail;
use crate::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tilewright_abi::{KernelDesc, sha256_hex};

/// A launch that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NullLaunch {
    /// Symbol of the kernel.
    pub symbol: String,
    /// Argument words.
    pub words: Vec<u64>,
    /// Programs along each axis.
    pub grid: [i64; 3],
    /// The stream.
    pub stream: StreamId,
}

/// A device that runs nothing.
pub struct NullDevice {
    info: DeviceInfo,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    buffers: BTreeMap<u64, usize>,
    modules: BTreeSet<ModuleId>,
    kernels: Vec<String>,
    events: BTreeSet<EventId>,
    recordings: BTreeMap<StreamId, Vec<NullLaunch>>,
    graphs: BTreeMap<GraphId, Vec<NullLaunch>>,
    launches: Vec<NullLaunch>,
}

impl State {
    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn check(&self, buf: RawBuf, offset: usize, bytes: usize) -> Result<()> {
        let len = self.buffers.get(&buf.addr).copied();
        match (len, offset.checked_add(bytes)) {
            (Some(len), Some(end)) if end <= len => Ok(()),
            _ => fail!(
                InvalidArgument,
                "bytes {offset}..{} are outside a buffer of {} bytes of this device",
                offset.saturating_add(bytes),
                buf.bytes
            ),
        }
    }
}

fn missing<T>(what: &str, id: u64) -> Result<T> {
    fail!(NotFound, "no {what} {id}")
}

impl NullDevice {
    /// A device that says of itself what it is told to.
    pub fn new(info: DeviceInfo) -> NullDevice {
        NullDevice { info, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The launches since the last call, in order.
    pub fn take_launches(&self) -> Vec<NullLaunch> {
        std::mem::take(&mut self.state().launches)
    }
}

impl Device for NullDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn alloc(&self, bytes: usize) -> Result<RawBuf> {
        let mut s = self.state();
        let start = s.buffers.last_key_value().map_or(1 << 32, |(a, n)| a + *n as u64);
        let addr = start.checked_add(256).map(|a| a.next_multiple_of(256));
        let end = addr.and_then(|a| a.checked_add(bytes as u64)).filter(|e| *e < 1 << 56);
        let (Some(addr), Some(_)) = (addr, end) else {
            return fail!(OutOfMemory, "no memory for {bytes} bytes");
        };
        s.buffers.insert(addr, bytes);
        Ok(RawBuf { addr, bytes })
    }

    fn free(&self, buf: RawBuf) {
        self.state().buffers.remove(&buf.addr);
    }

    fn copy(&self, op: CopyOp<'_>, stream: StreamId) -> Result<()> {
        let s = self.state();
        let captured = s.recordings.contains_key(&stream);
        match op {
            CopyOp::ToDevice { .. } | CopyOp::ToHost { .. } if captured => {
                fail!(Unsupported, "a copy from or to the host cannot be recorded in a graph")
            }
            CopyOp::ToDevice { src, dst, offset } => s.check(dst, offset, src.len()),
            CopyOp::ToHost { src, offset, dst } => {
                s.check(src, offset, dst.len())?;
                dst.fill(0);
                Ok(())
            }
            CopyOp::Within { src, src_offset, dst, dst_offset, bytes } => {
                s.check(src, src_offset, bytes)?;
                s.check(dst, dst_offset, bytes)
            }
        }
    }

    fn load(&self, kernel: &KernelDesc, bytes: &[u8]) -> Result<ModuleId> {
        let found = sha256_hex(bytes);
        if found != kernel.artifact {
            let (name, want) = (&kernel.name, &kernel.artifact);
            return fail!(Corrupt, "artifact of kernel `{name}` has hash {found}, wanted {want}");
        }
        let mut s = self.state();
        let id = ModuleId(s.id());
        s.modules.insert(id);
        Ok(id)
    }

    fn kernel(&self, module: ModuleId, symbol: &str) -> Result<KernelId> {
        let mut s = self.state();
        if !s.modules.contains(&module) {
            return missing("module", module.0);
        }
        s.kernels.push(symbol.to_owned());
        Ok(KernelId(s.kernels.len() as u64 - 1))
    }

    fn launch(&self, kernel: KernelId, args: &LaunchArgs<'_>, stream: StreamId) -> Result<()> {
        let mut s = self.state();
        let symbol = usize::try_from(kernel.0).ok().and_then(|i| s.kernels.get(i)).cloned();
        let symbol = symbol
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("no kernel {}", kernel.0)))?;
        let (words, grid) = (args.words().to_vec(), args.grid());
        let launch = NullLaunch { symbol, words, grid, stream };
        match s.recordings.get_mut(&stream) {
            Some(recording) => recording.push(launch),
            None => s.launches.push(launch),
        }
        Ok(())
    }

    fn create_stream(&self) -> Result<StreamId> {
        Ok(StreamId(self.state().id()))
    }

    fn sync(&self, _stream: StreamId) -> Result<()> {
        Ok(())
    }

    fn record(&self, _stream: StreamId) -> Result<EventId> {
        let mut s = self.state();
        let id = EventId(s.id());
        s.events.insert(id);
        Ok(id)
    }

    fn wait(&self, event: EventId, _stream: StreamId) -> Result<()> {
        if self.state().events.contains(&event) { Ok(()) } else { missing("event", event.0) }
    }

    fn elapsed(&self, from: EventId, to: EventId) -> Result<Duration> {
        let s = self.state();
        match [from, to].into_iter().find(|e| !s.events.contains(e)) {
            Some(e) => missing("event", e.0),
            None => Ok(Duration::ZERO),
        }
    }

    fn begin_capture(&self, stream: StreamId) -> Result<()> {
        let mut s = self.state();
        if s.recordings.contains_key(&stream) {
            return fail!(InvalidArgument, "the stream is being recorded already");
        }
        s.recordings.insert(stream, Vec::new());
        Ok(())
    }

    fn end_capture(&self, stream: StreamId) -> Result<GraphId> {
        let mut s = self.state();
        let Some(launches) = s.recordings.remove(&stream) else {
            return fail!(InvalidArgument, "the stream is not being recorded");
        };
        let id = GraphId(s.id());
        s.graphs.insert(id, launches);
        Ok(id)
    }

    fn replay(&self, graph: GraphId, _stream: StreamId) -> Result<()> {
        let mut s = self.state();
        let Some(launches) = s.graphs.get(&graph).cloned() else {
            return missing("graph", graph.0);
        };
        s.launches.extend(launches);
        Ok(())
    }

    fn release(&self, handle: Handle) {
        let mut s = self.state();
        match handle {
            Handle::Stream(_) | Handle::Module(_) => {}
            Handle::Event(e) => drop(s.events.remove(&e)),
            Handle::Graph(g) => drop(s.graphs.remove(&g)),
        }
    }
}
