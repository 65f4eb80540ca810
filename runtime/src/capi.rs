//! The C interface; `include/tilewright.h` documents it.
//!
//! Handles are boxes. A status of 0 is success; the message of the last failure on the calling thread
//! is kept for [`tw_last_error`]. Nothing unwinds into C: nothing here panics, and `extern "C"` would
//! stop the process if it did.
#![allow(unsafe_code, reason = "a C interface takes raw pointers")]
#![allow(missing_docs, reason = "documented in the C header, for those who call them")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the header's contract: pointers are live handles, or valid C strings and arrays"
)]

use crate::device::RawBuf;
use crate::dlpack::DLManagedTensorVersioned;
use crate::error::fail;
use crate::graph::{Graph, Stream};
use crate::{Args, Buffer, Call, DType, Error, ErrorKind, MAX_RANK, Result, Runtime, Tensor};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// The status of a kind; the header's `tw_status`.
fn code(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::InvalidArgument => 1,
        ErrorKind::NotFound => 2,
        ErrorKind::Unsupported => 3,
        ErrorKind::Limit => 4,
        ErrorKind::OutOfMemory => 5,
        ErrorKind::Corrupt => 6,
        ErrorKind::Version => 7,
        ErrorKind::Io => 8,
        ErrorKind::Device => 9,
        ErrorKind::Forked => 10,
        ErrorKind::NotWarmedUp => 11,
        ErrorKind::Bug => 12,
    }
}

fn status(result: Result<()>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(e) => {
            let text = CString::new(e.to_string().replace('\0', "?")).unwrap_or_default();
            LAST_ERROR.with(|last| last.replace(text));
            code(e.kind())
        }
    }
}

fn null(what: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("`{what}` is null"))
}

/// # Safety
/// `p` is null or a live handle.
unsafe fn get<'h, T>(p: *const T, what: &str) -> Result<&'h T> {
    // SAFETY: the caller's promise.
    unsafe { p.as_ref() }.ok_or_else(|| null(what))
}

/// # Safety
/// `p` is null or a live handle that no other thread uses now.
unsafe fn get_mut<'h, T>(p: *mut T, what: &str) -> Result<&'h mut T> {
    // SAFETY: the caller's promise.
    unsafe { p.as_mut() }.ok_or_else(|| null(what))
}

/// # Safety
/// `p` is null or a C string.
unsafe fn text<'h>(p: *const c_char, what: &str) -> Result<&'h str> {
    if p.is_null() {
        return Err(null(what));
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(p) };
    let bad = |_| Error::new(ErrorKind::InvalidArgument, format!("`{what}` is not UTF-8"));
    text.to_str().map_err(bad)
}

/// # Safety
/// `p` is null with `n` 0, or points to `n` numbers.
unsafe fn numbers<'h, T>(p: *const T, n: usize, what: &str) -> Result<&'h [T]> {
    if n == 0 {
        return Ok(&[]);
    }
    if p.is_null() {
        return Err(null(what));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(p, n) })
}

/// # Safety
/// `out` is null or can be written.
unsafe fn give<T>(out: *mut *mut T, value: T) -> Result<()> {
    if out.is_null() {
        return Err(null("out"));
    }
    // SAFETY: the caller's promise.
    unsafe { out.write(Box::into_raw(Box::new(value))) };
    Ok(())
}

/// # Safety
/// `p` is null or a handle that is given up here.
unsafe fn release<T>(p: *mut T) {
    if !p.is_null() {
        // SAFETY: the caller's promise; handles are made by `give`.
        drop(unsafe { Box::from_raw(p) });
    }
}

fn shape_of(shape: &[i64]) -> Result<Vec<usize>> {
    let dims: Option<Vec<usize>> = shape.iter().map(|&d| usize::try_from(d).ok()).collect();
    match dims {
        Some(dims) if dims.len() <= MAX_RANK => Ok(dims),
        Some(_) => fail!(Limit, "shape {shape:?} has more than {MAX_RANK} axes"),
        None => fail!(InvalidArgument, "shape {shape:?} has a negative extent"),
    }
}

fn dtype_of(name: &str) -> Result<DType> {
    match DType::from_name(name) {
        Some(d) => Ok(d),
        None => fail!(InvalidArgument, "unknown dtype `{name}`"),
    }
}

/// Defines exported functions whose body is a `Result<()>`.
macro_rules! exports {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $type),*) -> i32 {
                // SAFETY: the header's contract, which the caller keeps.
                status((|| unsafe { $body })())
            }
        )*
    };
}

macro_rules! releases {
    ($($name:ident: $type:ty),* $(,)?) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(handle: *mut $type) {
                // SAFETY: the header's contract: null, or a handle that is not used again.
                unsafe { release(handle) }
            }
        )*
    };
}

releases! {
    tw_runtime_free: Runtime,
    tw_stream_free: Stream,
    tw_tensor_free: Tensor,
    tw_args_free: Args,
    tw_call_free: Call,
    tw_graph_free: Graph,
}

/// The message of the last failure on this thread; valid until the next.
#[unsafe(no_mangle)]
pub extern "C" fn tw_last_error() -> *const c_char {
    LAST_ERROR.with(|last| last.borrow().as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn tw_args_new() -> *mut Args {
    Box::into_raw(Box::new(Args::new()))
}

exports! {
    fn tw_runtime_open(pack_dir: *const c_char, threads: u32, out: *mut *mut Runtime) {
        let dir = text(pack_dir, "pack_dir")?;
        give(out, Runtime::builder().cpu_threads(threads as usize).pack_dir(dir).build()?)
    }
    fn tw_runtime_open_pack(pack: *const u8, len: usize, threads: u32, out: *mut *mut Runtime) {
        let pack: &'static [u8] = numbers(pack, len, "pack")?;
        give(out, Runtime::new(threads as usize, pack)?)
    }
    fn tw_stream_new(rt: *const Runtime, out: *mut *mut Stream) {
        give(out, get(rt, "rt")?.stream()?)
    }
    fn tw_stream_sync(stream: *const Stream) {
        get(stream, "stream")?.sync()
    }
    fn tw_tensor_zeros(
        rt: *const Runtime,
        dtype: *const c_char,
        rank: usize,
        shape: *const i64,
        out: *mut *mut Tensor,
    ) {
        let shape = shape_of(numbers(shape, rank, "shape")?)?;
        give(out, Tensor::zeros(get(rt, "rt")?, dtype_of(text(dtype, "dtype")?)?, &shape)?)
    }
    fn tw_tensor_wrap(
        rt: *const Runtime,
        data: *mut c_void,
        bytes: usize,
        dtype: *const c_char,
        rank: usize,
        shape: *const i64,
        strides: *const i64,
        out: *mut *mut Tensor,
    ) {
        let shape = shape_of(numbers(shape, rank, "shape")?)?;
        let raw = RawBuf { addr: data as u64, bytes };
        let buffer = Buffer::from_raw(get(rt, "rt")?.device(), raw, Box::new(()), false)?;
        let dtype = dtype_of(text(dtype, "dtype")?)?;
        let tensor = if strides.is_null() {
            Tensor::over(buffer, dtype, &shape)?
        } else {
            let strides = numbers(strides, rank, "strides")?;
            Tensor::with_strides(buffer, 0, dtype, &shape, strides)?
        };
        give(out, tensor)
    }
    fn tw_tensor_read(tensor: *const Tensor, data: *mut c_void, bytes: usize) {
        let from = get(tensor, "tensor")?.to_bytes()?;
        if from.len() != bytes {
            return fail!(InvalidArgument, "{bytes} bytes for a tensor of {} bytes", from.len());
        }
        if bytes > 0 && data.is_null() {
            return Err(null("data"));
        }
        std::ptr::copy_nonoverlapping(from.as_ptr(), data.cast(), bytes);
        Ok(())
    }
    fn tw_tensor_write(tensor: *const Tensor, data: *const c_void, bytes: usize) {
        get(tensor, "tensor")?.write_bytes(numbers(data.cast(), bytes, "data")?)
    }
    fn tw_tensor_import(
        rt: *const Runtime,
        managed: *mut DLManagedTensorVersioned,
        out: *mut *mut Tensor,
    ) {
        give(out, Tensor::from_dlpack_versioned(get(rt, "rt")?, managed)?)
    }
    fn tw_tensor_export(tensor: *const Tensor, out: *mut *mut DLManagedTensorVersioned) {
        if out.is_null() {
            return Err(null("out"));
        }
        out.write(get(tensor, "tensor")?.to_dlpack_versioned()?);
        Ok(())
    }
    fn tw_args_tensor(args: *mut Args, name: *const c_char, tensor: *const Tensor) {
        let args = get_mut(args, "args")?;
        *args = std::mem::take(args).tensor(text(name, "name")?, get(tensor, "tensor")?);
        Ok(())
    }
    fn tw_args_float(args: *mut Args, name: *const c_char, value: f64) {
        let args = get_mut(args, "args")?;
        *args = std::mem::take(args).scalar(text(name, "name")?, value);
        Ok(())
    }
    fn tw_args_int(args: *mut Args, name: *const c_char, value: i64) {
        let args = get_mut(args, "args")?;
        *args = std::mem::take(args).scalar(text(name, "name")?, value);
        Ok(())
    }
    fn tw_args_axis(args: *mut Args, name: *const c_char, extent: usize) {
        let args = get_mut(args, "args")?;
        *args = std::mem::take(args).axis(text(name, "name")?, extent);
        Ok(())
    }
    fn tw_args_attr(args: *mut Args, name: *const c_char, value: *const c_char) {
        let args = get_mut(args, "args")?;
        *args = std::mem::take(args).attr(text(name, "name")?, text(value, "value")?);
        Ok(())
    }
    fn tw_call_new(
        rt: *const Runtime,
        op: *const c_char,
        args: *const Args,
        out: *mut *mut Call,
    ) {
        let args = get(args, "args")?;
        give(out, get(rt, "rt")?.plan(text(op, "op")?, args)?.bind(args)?)
    }
    fn tw_call_set_tensor(call: *mut Call, name: *const c_char, tensor: *const Tensor) {
        get_mut(call, "call")?.set_tensor(text(name, "name")?, get(tensor, "tensor")?)
    }
    fn tw_call_set_float(call: *mut Call, name: *const c_char, value: f64) {
        get_mut(call, "call")?.set_scalar(text(name, "name")?, value)
    }
    fn tw_call_set_int(call: *mut Call, name: *const c_char, value: i64) {
        get_mut(call, "call")?.set_scalar(text(name, "name")?, value)
    }
    fn tw_call_run(call: *const Call, stream: *const Stream) {
        get(call, "call")?.run(get(stream, "stream")?)
    }
    fn tw_graph_begin(stream: *const Stream) {
        Graph::begin(get(stream, "stream")?)
    }
    fn tw_graph_end(rt: *const Runtime, stream: *const Stream, out: *mut *mut Graph) {
        give(out, Graph::end(get(rt, "rt")?, get(stream, "stream")?)?)
    }
    fn tw_graph_replay(graph: *const Graph, stream: *const Stream) {
        get(graph, "graph")?.replay(get(stream, "stream")?)
    }
}
