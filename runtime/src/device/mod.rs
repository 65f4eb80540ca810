//! The border to a device: memory, streams, events, graphs, modules, launches; never ops.
//!
//! Every driver passes the conformance suite `tests/cts.rs`. Ids are plain numbers, so that the trait
//! is object safe and no generics reach a server.

use crate::Result;
use std::time::Duration;
use tilewright_abi::{Family, KernelDesc};

pub use crate::launch::LaunchArgs;

pub mod cpu;
pub mod null;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u64);
    };
}
id!(
    /// A queue of work; 0 is the default stream, which always exists.
    StreamId
);
id!(
    /// A point in a stream.
    EventId
);
id!(
    /// A recorded sequence of launches.
    GraphId
);
id!(
    /// A loaded artifact.
    ModuleId
);
id!(
    /// A function of a loaded artifact.
    KernelId
);

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its kind.
    pub family: Family,
    /// For people; never part of a key.
    pub name: String,
    /// What it can execute, in the names that manifests use: processor features, or an architecture.
    pub features: Vec<String>,
    /// Cores, SMs or CUs.
    pub cores: u32,
    /// Threads that a launch uses; 1 on a GPU.
    pub threads: u32,
    /// Whether kernels read host memory, so that buffers may lie in memory that the program owns.
    pub host_memory: bool,
    /// Largest shared memory of a block, in bytes; 0 where there is none.
    pub smem_bytes: u32,
}

/// Memory that a device allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawBuf {
    /// Device address.
    pub addr: u64,
    /// Length.
    pub bytes: usize,
}

/// A copy between memories. Offsets are in bytes.
#[derive(Debug)]
pub enum CopyOp<'a> {
    /// Host to device.
    ToDevice {
        /// From.
        src: &'a [u8],
        /// To.
        dst: RawBuf,
        /// Where in `dst`.
        offset: usize,
    },
    /// Device to host. Returns when the bytes are there.
    ToHost {
        /// From.
        src: RawBuf,
        /// Where in `src`.
        offset: usize,
        /// To.
        dst: &'a mut [u8],
    },
    /// Within the device.
    Within {
        /// From.
        src: RawBuf,
        /// Where in `src`.
        src_offset: usize,
        /// To.
        dst: RawBuf,
        /// Where in `dst`.
        dst_offset: usize,
        /// How much.
        bytes: usize,
    },
}

/// Memory that a launch uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// First address.
    pub addr: u64,
    /// Length.
    pub bytes: u64,
    /// Whether it is written.
    pub write: bool,
}

impl Access {
    /// Whether the two must stay in order.
    pub fn conflicts(&self, other: &Access) -> bool {
        let overlap = self.addr < other.addr.saturating_add(other.bytes)
            && other.addr < self.addr.saturating_add(self.bytes);
        overlap && (self.write || other.write)
    }
}

/// Something that a device made and can let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is named by the id it holds")]
pub enum Handle {
    Stream(StreamId),
    Event(EventId),
    Graph(GraphId),
    Module(ModuleId),
}

/// A device. All methods may be called from any thread; none panics.
pub trait Device: Send + Sync {
    /// What it is.
    fn info(&self) -> &DeviceInfo;
    /// Allocates zeroed memory, aligned to at least 64 bytes.
    fn alloc(&self, bytes: usize) -> Result<RawBuf>;
    /// Frees memory; does nothing for memory it did not allocate.
    fn free(&self, buf: RawBuf);
    /// Copies, in the stream's order.
    fn copy(&self, op: CopyOp<'_>, stream: StreamId) -> Result<()>;
    /// Loads an artifact, after checking its content hash.
    fn load(&self, kernel: &KernelDesc, bytes: &[u8]) -> Result<ModuleId>;
    /// A function of a loaded artifact.
    fn kernel(&self, module: ModuleId, symbol: &str) -> Result<KernelId>;
    /// Launches, or records the launch if the stream is being captured. Allocates nothing unless
    /// captured.
    fn launch(&self, kernel: KernelId, args: &LaunchArgs<'_>, stream: StreamId) -> Result<()>;
    /// A new stream.
    fn create_stream(&self) -> Result<StreamId>;
    /// Waits until all work of the stream is done.
    fn sync(&self, stream: StreamId) -> Result<()>;
    /// Marks the present point of the stream.
    fn record(&self, stream: StreamId) -> Result<EventId>;
    /// Makes later work of the stream wait for the event.
    fn wait(&self, event: EventId, stream: StreamId) -> Result<()>;
    /// Time between two events that have happened.
    fn elapsed(&self, from: EventId, to: EventId) -> Result<Duration>;
    /// From now on the stream's launches and device copies are recorded instead of run.
    fn begin_capture(&self, stream: StreamId) -> Result<()>;
    /// Ends the recording.
    fn end_capture(&self, stream: StreamId) -> Result<GraphId>;
    /// Runs a recording.
    fn replay(&self, graph: GraphId, stream: StreamId) -> Result<()>;
    /// Lets something go; does nothing for what it did not make.
    fn release(&self, handle: Handle);
}
