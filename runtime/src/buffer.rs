//! Buffers: device memory, or memory of the program that the device reads in place.
#![allow(unsafe_code, reason = "views plain numbers as bytes, reads memory that an owner lends")]

use crate::device::{CopyOp, Device, RawBuf, StreamId};
use crate::error::fail;
use crate::{DType, Result};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Memory of a device, shared: clones are the same memory, freed with the last of them.
#[derive(Clone)]
pub struct Buffer(Arc<Inner>);

struct Inner {
    device: Arc<dyn Device>,
    raw: RawBuf,
    /// Set for memory that the program lends; it is never written.
    owner: Option<Box<dyn Any + Send + Sync>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.owner.is_none() {
            self.device.free(self.raw);
        }
    }
}

/// A Rust type that is the element type of a tensor.
pub trait Element: sealed::Plain {
    /// The dtype.
    const DTYPE: DType;
}

mod sealed {
    /// Types without padding whose every bit pattern is a value.
    pub trait Plain: Copy + Default + Send + Sync + 'static {}
}

macro_rules! element {
    ($($type:ty => $dtype:ident),* $(,)?) => {
        $(
            impl sealed::Plain for $type {}
            impl Element for $type {
                const DTYPE: DType = DType::$dtype;
            }
        )*
    };
}
element!(
    f32 => F32, f64 => F64, i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32,
    i64 => I64, u64 => U64,
);

/// The bytes of a slice of numbers.
pub(crate) fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: an `Element` has no padding, so each of its bytes is initialised; u8 needs no alignment.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), std::mem::size_of_val(values)) }
}

/// The bytes of a slice of numbers, to be written.
pub(crate) fn bytes_of_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    let len = std::mem::size_of_val(values);
    // SAFETY: as in `bytes_of`, and every bit pattern is a value.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), len) }
}

impl Buffer {
    /// Zeroed memory.
    pub(crate) fn new(device: &Arc<dyn Device>, bytes: usize) -> Result<Buffer> {
        let raw = device.alloc(bytes)?;
        Ok(Buffer(Arc::new(Inner { device: Arc::clone(device), raw, owner: None })))
    }

    /// Memory that `owner` lends for as long as the buffer lives; it is only read. The owner's slice
    /// must not move or change: a memory map, an `Arc<[u8]>`, a `Vec<u8>` given away.
    pub(crate) fn from_owner<O>(device: &Arc<dyn Device>, owner: O) -> Result<Buffer>
    where
        O: AsRef<[u8]> + Send + Sync + 'static,
    {
        if !device.info().host_memory {
            return fail!(
                Unsupported,
                "`{}` cannot read memory of the program in place; copy it with `from_bytes`",
                device.info().name
            );
        }
        // Boxed first: the slice may lie in the owner itself.
        let owner = Box::new(owner);
        let slice: &[u8] = (*owner).as_ref();
        let raw = RawBuf { addr: slice.as_ptr() as u64, bytes: slice.len() };
        Ok(Buffer(Arc::new(Inner { device: Arc::clone(device), raw, owner: Some(owner) })))
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.0.raw.bytes
    }

    /// First address, on the device.
    pub fn addr(&self) -> u64 {
        self.0.raw.addr
    }

    /// Whether the memory is lent by the program, and so never written.
    pub fn is_read_only(&self) -> bool {
        self.0.owner.is_some()
    }

    /// Whether both are the same memory.
    pub fn same_as(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn device(&self) -> &Arc<dyn Device> {
        &self.0.device
    }

    /// Copies bytes out, after all work of the default stream.
    pub fn read(&self, offset: usize, dst: &mut [u8]) -> Result<()> {
        let bytes = dst.len();
        if offset.checked_add(bytes).is_none_or(|end| end > self.bytes()) {
            return fail!(
                InvalidArgument,
                "a read of {bytes} bytes at {offset} is outside a buffer of {} bytes",
                self.bytes()
            );
        }
        if self.0.owner.is_none() {
            return self
                .0
                .device
                .copy(CopyOp::ToHost { src: self.0.raw, offset, dst }, StreamId(0));
        }
        let from = (self.0.raw.addr as *const u8).wrapping_add(offset);
        // SAFETY: the owner lives as long as the buffer and lent this range as a shared slice.
        dst.copy_from_slice(unsafe { std::slice::from_raw_parts(from, bytes) });
        Ok(())
    }

    /// Copies bytes in.
    pub fn write(&self, offset: usize, src: &[u8]) -> Result<()> {
        if self.is_read_only() {
            return fail!(
                InvalidArgument,
                "this buffer is memory lent by the program, and read only"
            );
        }
        self.0.device.copy(CopyOp::ToDevice { src, dst: self.0.raw, offset }, StreamId(0))
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes at {:#x})", self.bytes(), self.addr())
    }
}
