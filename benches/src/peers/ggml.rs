//! ggml through its C interface, opened from the folder that `TILEWRIGHT_GGML_DIR` names.

use super::{Format, Gemm, Run};
use crate::knobs;
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

type Ptr = *mut c_void;

#[repr(C)]
struct InitParams {
    mem_size: usize,
    mem_buffer: Ptr,
    no_alloc: bool,
}

/// The two libraries; never closed, because ggml's initialiser refuses to run twice.
fn libraries() -> Option<&'static (Library, Library)> {
    static LIBS: OnceLock<Option<(Library, Library)>> = OnceLock::new();
    LIBS.get_or_init(|| {
        let dir = knobs::ggml_dir()?;
        // SAFETY: loading the libraries runs their initialisers, which is what using them means.
        let open = |name: &str| unsafe { Library::new(dir.join(name)) }.ok();
        Some((open("libggml-base.so")?, open("libggml-cpu.so")?))
    })
    .as_ref()
}

fn symbol<T: Copy>(name: &str) -> Option<T> {
    let (base, cpu) = libraries()?;
    // SAFETY: `T` is the public signature of `name`.
    unsafe {
        base.get::<T>(name.as_bytes()).or_else(|_| cpu.get::<T>(name.as_bytes())).ok().map(|s| *s)
    }
}

fn type_id(f: Format) -> Option<c_int> {
    Some(match f {
        Format::F32 => 0,
        Format::F16 => 1,
        Format::Q4_0 => 2,
        Format::Q4_1 => 3,
        Format::Q5_0 => 6,
        Format::Q8_0 => 8,
        Format::Q4K => 12,
        Format::Q6K => 14,
        Format::Bf16 => 30,
        Format::I8 => return None,
    })
}

pub(super) fn gemm(p: &Gemm) -> Option<(String, Run)> {
    let dtype = type_id(p.format)?;
    let backend_init: unsafe extern "C" fn() -> Ptr = symbol("ggml_backend_cpu_init")?;
    let set_threads: unsafe extern "C" fn(Ptr, c_int) = symbol("ggml_backend_cpu_set_n_threads")?;
    let init: unsafe extern "C" fn(InitParams) -> Ptr = symbol("ggml_init")?;
    let tensor: unsafe extern "C" fn(Ptr, c_int, i64, i64) -> Ptr = symbol("ggml_new_tensor_2d")?;
    let mul_mat: unsafe extern "C" fn(Ptr, Ptr, Ptr) -> Ptr = symbol("ggml_mul_mat")?;
    let new_graph: unsafe extern "C" fn(Ptr, usize, bool) -> Ptr = symbol("ggml_new_graph_custom")?;
    let expand: unsafe extern "C" fn(Ptr, Ptr) = symbol("ggml_build_forward_expand")?;
    let alloc: unsafe extern "C" fn(Ptr, Ptr) -> Ptr = symbol("ggml_backend_alloc_ctx_tensors")?;
    let set: unsafe extern "C" fn(Ptr, *const c_void, usize, usize) =
        symbol("ggml_backend_tensor_set")?;
    let compute: unsafe extern "C" fn(Ptr, Ptr) -> c_int = symbol("ggml_backend_graph_compute")?;
    let quantize: unsafe extern "C" fn(c_int, *const f32, Ptr, i64, i64, i64, *const f32) -> usize =
        symbol("ggml_quantize_chunk")?;
    let row_size: unsafe extern "C" fn(c_int, i64) -> usize = symbol("ggml_row_size")?;
    let (m, n, k) = (p.m as i64, p.n as i64, p.k as i64);
    // SAFETY: calls follow the library's protocol; every buffer has the size that it asks for, and its objects live as
    // long as the process.
    unsafe {
        let backend = backend_init();
        set_threads(backend, p.threads as c_int);
        let cx = init(InitParams { mem_size: 16 << 20, mem_buffer: null_mut(), no_alloc: true });
        let a = tensor(cx, 0, k, m);
        let weights: Vec<Ptr> = (0..p.copies).map(|_| tensor(cx, dtype, k, n)).collect();
        let graphs: Vec<Ptr> = weights
            .iter()
            .map(|&w| {
                let g = new_graph(cx, 16, false);
                expand(g, mul_mat(cx, w, a));
                g
            })
            .collect();
        if alloc(cx, backend).is_null() {
            return None;
        }
        let mut bytes = vec![0u8; row_size(dtype, k) * p.n];
        quantize(dtype, p.weights.as_ptr(), bytes.as_mut_ptr().cast(), 0, n, k, null());
        for &w in &weights {
            set(w, bytes.as_ptr().cast(), 0, bytes.len());
        }
        set(a, p.activations.as_ptr().cast(), 0, p.activations.len() * 4);
        Some((
            "ggml".into(),
            Box::new(move |i| {
                compute(backend, graphs[i % graphs.len()]);
            }),
        ))
    }
}
