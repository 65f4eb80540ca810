//! The operating system's side of the CPU device: memory, shared objects, fork detection, and the
//! processor features that need a system call. All unsafe code of the device is here.
#![allow(unsafe_code, reason = "calls libc and dereferences what it returns")]

use crate::device::{Access, LaunchArgs, RawBuf};
use crate::error::fail;
use crate::pool::KernelFn;
use crate::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tilewright_abi::LaunchDesc;

/// Allocations of at least this many bytes are mapped, at this alignment, with huge pages advised.
const HUGE: usize = 2 << 20;
/// Alignment of smaller ones: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// One allocation; freed when dropped.
#[derive(Debug)]
enum Block {
    /// From the allocator: pointer and layout.
    Heap(*mut u8, std::alloc::Layout),
    /// From `mmap`: the whole mapping, and the aligned address in it.
    Map { base: *mut c_void, len: usize, aligned: *mut u8 },
}

// SAFETY: a block owns its memory and has no thread affinity.
unsafe impl Send for Block {}
// SAFETY: as above; its address is all that is shared.
unsafe impl Sync for Block {}

impl Block {
    fn new(bytes: usize) -> Result<Block> {
        let oom = || {
            let message =
                format!("no memory for {bytes} bytes; free buffers or use a smaller batch");
            Error::new(ErrorKind::OutOfMemory, message)
        };
        if bytes < HUGE {
            let size = bytes.max(1).next_multiple_of(ALIGN);
            let layout = std::alloc::Layout::from_size_align(size, ALIGN).map_err(|_| oom())?;
            // SAFETY: the layout's size is not 0.
            let p = unsafe { std::alloc::alloc_zeroed(layout) };
            return if p.is_null() { Err(oom()) } else { Ok(Block::Heap(p, layout)) };
        }
        let len = bytes.checked_add(HUGE).ok_or_else(oom)?;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping touches no existing memory.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(oom());
        }
        let skip = base.addr().next_multiple_of(HUGE) - base.addr();
        let aligned = base.cast::<u8>().wrapping_add(skip);
        // SAFETY: `aligned..aligned + bytes` lies in the mapping. A refused advice does no harm.
        unsafe { libc::madvise(aligned.cast(), bytes, libc::MADV_HUGEPAGE) };
        Ok(Block::Map { base, len, aligned })
    }

    fn ptr(&self) -> *mut u8 {
        match *self {
            Block::Heap(p, _) => p,
            Block::Map { aligned, .. } => aligned,
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        match *self {
            // SAFETY: made by `Block::new` with this layout, and freed once.
            Block::Heap(p, layout) => unsafe { std::alloc::dealloc(p, layout) },
            Block::Map { base, len, .. } => {
                // SAFETY: a mapping made by `Block::new`, unmapped once.
                unsafe { libc::munmap(base, len) };
            }
        }
    }
}

/// The memory of a device: its live allocations by address.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<BTreeMap<u64, (Arc<Block>, usize)>>);

impl Memory {
    fn map(&self) -> MutexGuard<'_, BTreeMap<u64, (Arc<Block>, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Zeroed memory.
    pub(super) fn alloc(&self, bytes: usize) -> Result<RawBuf> {
        let block = Block::new(bytes)?;
        let addr = block.ptr() as u64;
        self.map().insert(addr, (Arc::new(block), bytes));
        Ok(RawBuf { addr, bytes })
    }

    /// Frees an allocation; nothing for what is none.
    pub(super) fn free(&self, buf: RawBuf) {
        let block = self.map().remove(&buf.addr);
        drop(block);
    }

    /// The address of `offset..offset + bytes` in a live allocation, and what keeps it alive.
    fn range(&self, buf: RawBuf, offset: usize, bytes: usize) -> Result<(*mut u8, Arc<Block>)> {
        let block = self.map().get(&buf.addr).cloned();
        match (block, offset.checked_add(bytes)) {
            (Some((block, len)), Some(end)) if end <= len => {
                Ok((block.ptr().wrapping_add(offset), block))
            }
            _ => fail!(
                InvalidArgument,
                "bytes {offset}..{} are outside a buffer of {} bytes of this device",
                offset.saturating_add(bytes),
                buf.bytes
            ),
        }
    }

    /// Copies host bytes in.
    pub(super) fn copy_in(&self, src: &[u8], dst: RawBuf, offset: usize) -> Result<()> {
        let (to, _alive) = self.range(dst, offset, src.len())?;
        // SAFETY: a checked range of a live block; kernels may be at work on it only if the program
        // does not order its own work.
        unsafe { std::ptr::copy(src.as_ptr(), to, src.len()) };
        Ok(())
    }

    /// Copies host bytes out.
    pub(super) fn copy_out(&self, src: RawBuf, offset: usize, dst: &mut [u8]) -> Result<()> {
        let (from, _alive) = self.range(src, offset, dst.len())?;
        // SAFETY: as in `copy_in`.
        unsafe { std::ptr::copy(from, dst.as_mut_ptr(), dst.len()) };
        Ok(())
    }

    /// Hands `f` a launch of [`copy_kernel`] that copies within the device.
    pub(super) fn copy_within(
        &self,
        (src, src_offset): (RawBuf, usize),
        (dst, dst_offset): (RawBuf, usize),
        bytes: usize,
        f: impl FnOnce(&LaunchArgs<'_>),
    ) -> Result<()> {
        let (from, _src_alive) = self.range(src, src_offset, bytes)?;
        let (to, _dst_alive) = self.range(dst, dst_offset, bytes)?;
        let words = [from as u64, to as u64, bytes as u64];
        let access = |p: *mut u8, write| Access { addr: p as u64, bytes: bytes as u64, write };
        let accesses = [access(from, false), access(to, true)];
        // SAFETY: the words of `copy_kernel`; the ranges are checked and alive during `f`, and a graph's
        // maker keeps its buffers.
        let args = unsafe { LaunchArgs::new(&words, [1; 3], LaunchDesc::default(), &accesses) };
        f(&args);
        Ok(())
    }
}

/// A kernel that copies, for copies within the device. Words: source, destination, bytes.
pub(super) unsafe extern "C" fn copy_kernel(words: *const u64, _: *const i64, _: i64, _: i64) {
    // SAFETY: launched with the words that `Memory::copy_within` makes; the ranges may overlap.
    unsafe {
        let (src, dst, bytes) = (*words, *words.add(1), *words.add(2));
        std::ptr::copy(src as *const u8, dst as *mut u8, bytes as usize);
    }
}

/// A loaded shared object; closed when dropped.
#[derive(Debug)]
pub(super) struct Library(*mut c_void);

// SAFETY: a handle of the dynamic loader, which is thread safe.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

fn dl_error() -> String {
    // SAFETY: returns null or a C string that stays valid until the next call on this thread.
    let text = unsafe {
        let p = libc::dlerror();
        (!p.is_null()).then(|| CStr::from_ptr(p).to_string_lossy().into_owned())
    };
    text.unwrap_or_else(|| "unknown error".to_owned())
}

impl Library {
    /// Loads a shared object from its bytes.
    pub(super) fn load(bytes: &[u8]) -> Result<Library> {
        let io = |e: std::io::Error| {
            Error::new(ErrorKind::Device, "cannot place a compiled kernel in memory").with_source(e)
        };
        // SAFETY: a constant C string; the result is checked.
        let fd = unsafe { libc::memfd_create(c"tilewright".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io(std::io::Error::last_os_error()));
        }
        // SAFETY: a new descriptor that nothing else owns.
        let mut file = unsafe { std::fs::File::from_raw_fd(fd) };
        file.write_all(bytes).map_err(io)?;
        let path = CString::new(unique_path(file.as_raw_fd())).map_err(|e| io(e.into()))?;
        // SAFETY: a C string. The object's initialisers run: its content hash was checked against the
        // manifest's by the caller.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return fail!(Device, "the system refused a compiled kernel: {}", dl_error());
        }
        Ok(Library(handle))
    }

    /// The kernel of a name.
    pub(super) fn kernel(&self, symbol: &str) -> Option<KernelFn> {
        let name = CString::new(symbol).ok()?;
        // SAFETY: a live handle and a C string.
        let p = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        // SAFETY: symbols of an artifact that a manifest lists are functions of this type.
        (!p.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, KernelFn>(p) })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: closed once; the device drops its libraries when no launch can run any more.
        unsafe { libc::dlclose(self.0) };
    }
}

/// A path of the descriptor that was never used before. The loader takes an object whose path it has
/// seen for the one it has, and numbers of descriptors recur; so a counter is written in the path, as
/// `/.` for 1 and an extra slash for 0.
fn unique_path(fd: i32) -> String {
    static LOADS: AtomicU64 = AtomicU64::new(0);
    let n = LOADS.fetch_add(1, Ordering::Relaxed);
    let mut path = "/proc/self/fd".to_owned();
    for bit in 0..32 {
        path.push_str(if n >> bit & 1 == 1 { "/." } else { "/" });
    }
    path.push_str(&format!("/{fd}"));
    path
}

static FORKS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// How often this process, or an ancestor since its first device, was forked from another. Differs
/// between a parent and its child.
pub(super) fn fork_count() -> u64 {
    static ONCE: std::sync::Once = std::sync::Once::new();
    if !ONCE.is_completed() {
        ONCE.call_once(|| {
            // SAFETY: registers a function that only adds to a counter.
            unsafe { libc::pthread_atfork(None, None, Some(count_fork)) };
        });
    }
    FORKS.load(Ordering::Relaxed)
}

/// Asks the system for the AMX tile registers; whether kernels may use them.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(super) fn permit_amx() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    // SAFETY: a request with two integers; it touches no memory.
    let rc =
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) };
    rc == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zeroed_and_aligned() {
        let memory = Memory::default();
        for bytes in [0, 1, 100, HUGE - 1, HUGE, 3 * HUGE + 5] {
            let buf = memory.alloc(bytes).unwrap();
            let align = if bytes >= HUGE { HUGE } else { ALIGN };
            assert_eq!(buf.addr as usize % align, 0);
            let mut out = vec![1u8; bytes];
            memory.copy_out(buf, 0, &mut out).unwrap();
            assert!(out.iter().all(|&b| b == 0));
            assert!(memory.copy_out(buf, 1, &mut out).is_err());
            memory.free(buf);
            assert!(memory.copy_out(buf, 0, &mut []).is_err());
        }
        for bytes in [usize::MAX, 1 << 62] {
            assert_eq!(memory.alloc(bytes).unwrap_err().kind(), ErrorKind::OutOfMemory);
        }
    }

    #[test]
    fn paths_differ() {
        assert_ne!(unique_path(3), unique_path(3));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let error = Library::load(b"not an object").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
    }
}
