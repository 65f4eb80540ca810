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
    /// Set for memory that the program lends.
    owner: Option<Box<dyn Any + Send + Sync>>,
    read_only: bool,
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
        Ok(Buffer(Arc::new(Inner {
            device: Arc::clone(device),
            raw,
            owner: None,
            read_only: false,
        })))
    }

    /// Memory that `owner` lends for as long as the buffer lives; it is only read. The owner's slice
    /// must not move or change: a memory map, an `Arc<[u8]>`, a `Vec<u8>` given away.
    pub(crate) fn from_owner<O>(device: &Arc<dyn Device>, owner: O) -> Result<Buffer>
    where
        O: AsRef<[u8]> + Send + Sync + 'static,
    {
        // Boxed first: the slice may lie in the owner itself.
        let owner = Box::new(owner);
        let slice: &[u8] = (*owner).as_ref();
        let raw = RawBuf { addr: slice.as_ptr() as u64, bytes: slice.len() };
        // SAFETY: the owner lends the slice as long as it lives, for reading.
        unsafe { Buffer::from_raw(device, raw, owner, true) }
    }

    /// Memory that `owner` keeps alive.
    ///
    /// # Safety
    /// The range is valid, for writing too unless `read_only`, until `owner` is dropped.
    pub(crate) unsafe fn from_raw(
        device: &Arc<dyn Device>,
        raw: RawBuf,
        owner: Box<dyn Any + Send + Sync>,
        read_only: bool,
    ) -> Result<Buffer> {
        if !device.info().host_memory {
            return fail!(
                Unsupported,
                "`{}` cannot use memory of the program in place; copy it with `from_bytes`",
                device.info().name
            );
        }
        let device = Arc::clone(device);
        Ok(Buffer(Arc::new(Inner { device, raw, owner: Some(owner), read_only })))
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.0.raw.bytes
    }

    /// First address, on the device.
    pub fn addr(&self) -> u64 {
        self.0.raw.addr
    }

    /// Whether the memory is lent by the program for reading only.
    pub fn is_read_only(&self) -> bool {
        self.0.read_only
    }

    /// Whether both are the same memory.
    pub fn same_as(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn device(&self) -> &Arc<dyn Device> {
        &self.0.device
    }

    fn check_range(&self, offset: usize, bytes: usize) -> Result<()> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes() => Ok(()),
            _ => fail!(
                InvalidArgument,
                "{bytes} bytes at {offset} are outside a buffer of {} bytes",
                self.bytes()
            ),
        }
    }

    /// Copies bytes out, after all work of the default stream.
    pub fn read(&self, offset: usize, dst: &mut [u8]) -> Result<()> {
        self.check_range(offset, dst.len())?;
        if self.0.owner.is_none() {
            return self
                .0
                .device
                .copy(CopyOp::ToHost { src: self.0.raw, offset, dst }, StreamId(0));
        }
        let from = (self.0.raw.addr as *const u8).wrapping_add(offset);
        // SAFETY: a checked range of memory that the owner keeps alive.
        unsafe { std::ptr::copy(from, dst.as_mut_ptr(), dst.len()) };
        Ok(())
    }

    /// Copies bytes in.
    pub fn write(&self, offset: usize, src: &[u8]) -> Result<()> {
        self.check_range(offset, src.len())?;
        if self.is_read_only() {
            return fail!(
                InvalidArgument,
                "this buffer is memory lent by the program, and read only"
            );
        }
        if self.0.owner.is_none() {
            return self
                .0
                .device
                .copy(CopyOp::ToDevice { src, dst: self.0.raw, offset }, StreamId(0));
        }
        let to = (self.0.raw.addr as *mut u8).wrapping_add(offset);
        // SAFETY: a checked range of memory that the owner keeps alive, lent for writing.
        unsafe { std::ptr::copy(src.as_ptr(), to, src.len()) };
        Ok(())
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes at {:#x})", self.bytes(), self.addr())
    }
}
