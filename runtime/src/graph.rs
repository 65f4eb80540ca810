//! Streams, and graphs recorded from them.

use crate::buffer::Buffer;
use crate::device::{Device, EventId, GraphId, Handle, StreamId};
use crate::{Result, Runtime};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A queue of work on a device.
pub struct Stream {
    device: Arc<dyn Device>,
    id: StreamId,
    recording: AtomicBool,
    /// Buffers of the calls recorded so far.
    held: Mutex<Vec<Buffer>>,
}

impl Stream {
    pub(crate) fn new(device: &Arc<dyn Device>) -> Result<Stream> {
        Ok(Stream {
            id: device.create_stream()?,
            device: Arc::clone(device),
            recording: AtomicBool::new(false),
            held: Mutex::default(),
        })
    }

    /// The stream's id on its device.
    pub fn id(&self) -> StreamId {
        self.id
    }

    pub(crate) fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Waits until all work is done.
    pub fn sync(&self) -> Result<()> {
        self.device.sync(self.id)
    }

    /// Marks the present point.
    pub fn record(&self) -> Result<Event> {
        Ok(Event { id: self.device.record(self.id)?, device: Arc::clone(&self.device) })
    }

    /// Makes later work wait for an event of another stream.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.device.wait(event.id, self.id)
    }

    /// Keeps buffers for the graph that is being recorded, if one is.
    pub(crate) fn hold<'b>(&self, buffers: impl Iterator<Item = &'b Buffer>) {
        if self.recording.load(Ordering::Relaxed) {
            self.held.lock().unwrap_or_else(PoisonError::into_inner).extend(buffers.cloned());
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.device.release(Handle::Stream(self.id));
    }
}

/// A point in a stream.
pub struct Event {
    device: Arc<dyn Device>,
    id: EventId,
}

impl Event {
    /// Time from this event to a later one.
    pub fn elapsed(&self, later: &Event) -> Result<Duration> {
        self.device.elapsed(self.id, later.id)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.device.release(Handle::Event(self.id));
    }
}

thread_local! {
    /// Graphs that this thread is recording.
    static RECORDING: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread is recording a graph.
pub(crate) fn is_recording() -> bool {
    RECORDING.get() > 0
}

/// Recorded calls. It keeps their buffers; what is in the buffers is read anew by each replay.
pub struct Graph {
    device: Arc<dyn Device>,
    id: GraphId,
    _held: Vec<Buffer>,
}

impl Graph {
    /// Records what `f` runs on the stream; nothing is executed. All kernels must be loaded, which
    /// planning a problem does.
    pub fn record(
        rt: &Runtime,
        stream: &Stream,
        f: impl FnOnce(&Stream) -> Result<()>,
    ) -> Result<Graph> {
        Graph::begin(stream)?;
        let result = f(stream);
        // The recording is ended either way, so that the stream can be used again.
        let graph = Graph::end(rt, stream)?;
        result.map(|()| graph)
    }

    /// Starts to record.
    pub(crate) fn begin(stream: &Stream) -> Result<()> {
        stream.device.begin_capture(stream.id)?;
        stream.recording.store(true, Ordering::Relaxed);
        RECORDING.set(RECORDING.get() + 1);
        Ok(())
    }

    /// Ends a recording on the thread that began it.
    pub(crate) fn end(rt: &Runtime, stream: &Stream) -> Result<Graph> {
        let id = stream.device.end_capture(stream.id)?;
        stream.recording.store(false, Ordering::Relaxed);
        RECORDING.set(RECORDING.get().saturating_sub(1));
        let held = std::mem::take(&mut *stream.held.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Graph { device: Arc::clone(rt.device()), id, _held: held })
    }

    /// Runs the recorded calls.
    pub fn replay(&self, stream: &Stream) -> Result<()> {
        self.device.replay(self.id, stream.id)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.device.release(Handle::Graph(self.id));
    }
}
