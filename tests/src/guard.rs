//! Memory between pages that fault, and compiled kernels called on it.
//!
//! A kernel that reads or writes one byte outside its buffers ends the test with a fault instead of
//! passing by luck.
#![allow(unsafe_code, reason = "page protection, loading and calling generated code")]

use std::cell::Cell;
use std::ffi::CString;
use std::fmt;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Once;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// Which guard page the bytes touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Their first byte follows the guard page before them.
    Start,
    /// Their last byte precedes the guard page after them.
    End,
}

/// Bytes between two pages that fault.
pub struct Guarded {
    map: *mut u8,
    map_len: usize,
    offset: usize,
    len: usize,
}

// SAFETY: the mapping belongs to the value alone.
unsafe impl Send for Guarded {}

impl Guarded {
    /// Maps `len` bytes and fills them with `fill`.
    pub fn new(len: usize, touch: Touch, fill: u8) -> std::io::Result<Guarded> {
        let page = page();
        let inner = len.next_multiple_of(page).max(page);
        let map_len = inner + 2 * page;
        // SAFETY: a fresh anonymous mapping; the middle is made accessible before it is used.
        let map = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let map = libc::mmap(std::ptr::null_mut(), map_len, libc::PROT_NONE, flags, -1, 0);
            if map == libc::MAP_FAILED {
                return Err(std::io::Error::last_os_error());
            }
            let map = map.cast::<u8>();
            let access = libc::PROT_READ | libc::PROT_WRITE;
            if libc::mprotect(map.add(page).cast(), inner, access) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            map
        };
        let offset = match touch {
            Touch::Start => page,
            Touch::End => page + inner - len,
        };
        let mut guarded = Guarded { map, map_len, offset, len };
        guarded.bytes_mut().fill(fill);
        Ok(guarded)
    }

    /// The same with these bytes in it.
    pub fn from_bytes(bytes: &[u8], touch: Touch) -> std::io::Result<Guarded> {
        let mut guarded = Guarded::new(bytes.len(), touch, 0)?;
        guarded.bytes_mut().copy_from_slice(bytes);
        Ok(guarded)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: inside the accessible part of the mapping, initialised by the kernel to zero.
        unsafe { std::slice::from_raw_parts(self.map.add(self.offset), self.len) }
    }

    /// The bytes, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.map.add(self.offset), self.len) }
    }

    /// The first byte's address, as an argument word.
    pub fn address(&self) -> u64 {
        self.map as u64 + self.offset as u64
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: maps exactly what `new` mapped; nothing refers to it any more.
        unsafe { libc::munmap(self.map.cast(), self.map_len) };
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guarded({} bytes)", self.len)
    }
}

fn page() -> usize {
    // SAFETY: asks for a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

type Entry = unsafe extern "C" fn(args: *const u64, grid: *const i64, begin: i64, end: i64);

/// A loaded shared object and one kernel of it.
pub struct Kernel {
    entry: Entry,
    _library: Library,
    /// Open as long as the object is loaded: the loader knows objects by their path, which holds its number.
    _file: OwnedFd,
}

impl Kernel {
    /// Loads a shared object from memory.
    pub fn load(object: &[u8], symbol: &str) -> Result<Kernel, String> {
        let fail = |what: &str, e: &dyn fmt::Display| format!("{what} of `{symbol}`: {e}");
        // SAFETY: creates a file descriptor and nothing else.
        let fd = unsafe { libc::memfd_create(c"kernel".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(fail("memfd", &std::io::Error::last_os_error()));
        }
        // SAFETY: the descriptor is fresh and ours.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        std::fs::write(&path, object).map_err(|e| fail("writing", &e))?;
        // SAFETY: the objects that the compiler makes have no initialisers.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|e| fail("loading", &e))?;
        let name = CString::new(symbol).map_err(|e| fail("name", &e))?;
        // SAFETY: every kernel has this signature; the library lives as long as the pointer.
        let entry = unsafe {
            *library.get::<Entry>(name.as_bytes_with_nul()).map_err(|e| fail("symbol", &e))?
        };
        Ok(Kernel { entry, _library: library, _file: fd })
    }

    /// Runs the programs `begin..end` of a grid.
    ///
    /// The caller passes words that fit the kernel's parameters and addresses that stay mapped; the
    /// tests pass those of [`Guarded`].
    pub fn run(&self, args: &[u64], grid: [i64; 3], begin: i64, end: i64) {
        // SAFETY: see above; a stray access hits a guard page.
        unsafe { (self.entry)(args.as_ptr(), grid.as_ptr(), begin, end) };
    }

    /// Runs all programs of a grid.
    pub fn run_all(&self, args: &[u64], grid: [i64; 3]) {
        self.run(args, grid, 0, grid.iter().product());
    }
}

thread_local! {
    static RUNNING: Cell<[u8; 160]> = const { Cell::new([0; 160]) };
}

/// Names what this thread runs next: a fault prints it before the process ends.
pub fn announce(what: &str) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT] {
            // SAFETY: the handler only writes to standard error and ends the process.
            unsafe { libc::signal(signal, on_fault as *const () as libc::sighandler_t) };
        }
    });
    let mut text = [0; 160];
    for (to, from) in text.iter_mut().zip(what.bytes()) {
        *to = from;
    }
    RUNNING.set(text);
}

extern "C" fn on_fault(signal: i32) {
    let text = RUNNING.try_with(Cell::get).unwrap_or([0; 160]);
    let len = text.iter().position(|&b| b == 0).unwrap_or(text.len());
    // SAFETY: `write`, `signal` and `raise` may be called from a handler; the default action then
    // ends the process with the signal as its status.
    unsafe {
        for part in [&b"\nfault while running "[..], &text[..len], b"\n"] {
            libc::write(2, part.as_ptr().cast(), part.len());
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_touch_the_page_they_are_asked_to_touch() {
        let page = page() as u64;
        for len in [0usize, 1, 100, 4096, 5000] {
            let end = Guarded::new(len, Touch::End, 0xa5).unwrap();
            assert_eq!((end.address() + len as u64) % page, 0);
            assert!(end.bytes().iter().all(|&b| b == 0xa5));
            let start = Guarded::from_bytes(&vec![7; len], Touch::Start).unwrap();
            assert_eq!(start.address() % page, 0);
            assert_eq!(start.bytes(), vec![7; len]);
        }
    }

    #[test]
    fn a_shared_object_runs_from_memory() {
        let text = "
define void @add_one(ptr %args, ptr %grid, i64 %begin, i64 %end) {
  %word = load i64, ptr %args
  %p = inttoptr i64 %word to ptr
  %x = load float, ptr %p
  %y = fadd float %x, 1.0
  store float %y, ptr %p
  ret void
}
";
        let v3 = tilewright_codegen::target::find("cpu/x86-64-v3").unwrap();
        let machine = tilewright_llvm::Machine::from(&v3.llvm);
        let so = tilewright_llvm::shared_object(text, &machine, Default::default()).unwrap();
        let kernel = Kernel::load(&so, "add_one").unwrap();
        let buffer = Guarded::from_bytes(&2.5f32.to_le_bytes(), Touch::End).unwrap();
        kernel.run_all(&[buffer.address()], [1, 1, 1]);
        assert_eq!(buffer.bytes(), 3.5f32.to_le_bytes());
        assert!(Kernel::load(&so, "other").is_err());
    }
}
