//! oneDNN 2.x through its C interface (`libdnnl.so.2`, package `libdnnl-dev` or `libdnnl2`).

use super::{Format, Gemm, Run, bf16_bits};
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

type Ptr = *mut c_void;

/// Descriptors are plain structs of the library; this is larger than any of them.
#[repr(C, align(64))]
struct Desc([u8; 8192]);

impl Desc {
    fn new() -> Box<Desc> {
        Box::new(Desc([0; 8192]))
    }
}

#[repr(C)]
struct Arg {
    arg: c_int,
    memory: Ptr,
}

const SRC: c_int = 1;
const DST: c_int = 17;
const WEIGHTS: c_int = 33;
const TAG_ANY: c_int = 1;
const TAG_AB: c_int = 3;
const TAG_BA: c_int = 22;
const QUERY_WEIGHTS_MD: c_int = 131;
const BF16: c_int = 2;
const F32: c_int = 3;
const S32: c_int = 4;
const S8: c_int = 5;

fn library() -> Option<&'static Library> {
    static LIB: OnceLock<Option<Library>> = OnceLock::new();
    // SAFETY: loading the library runs its initialisers, which is what using it means.
    LIB.get_or_init(|| unsafe { Library::new("libdnnl.so.2") }.ok()).as_ref()
}

/// Calls `name` with the given arguments; `None` when the symbol is missing or the status is not success.
macro_rules! call {
    ($lib:expr, $name:literal, ($($t:ty),*), ($($v:expr),*)) => {{
        // SAFETY: the signature is the library's public one.
        let f = unsafe { $lib.get::<unsafe extern "C" fn($($t),*) -> c_int>($name.as_bytes()) }.ok()?;
        // SAFETY: every pointer is valid for the call and kept alive as long as the library needs it.
        (unsafe { f($($v),*) } == 0).then_some(())?
    }};
}

pub(super) fn gemm(p: &Gemm) -> Option<(String, Run)> {
    let lib = library()?;
    let (ta, tw, tc) = match p.format {
        Format::F32 => (F32, F32, F32),
        Format::Bf16 => (BF16, BF16, F32),
        Format::I8 => (S8, S8, S32),
        Format::F16
        | Format::Q4_0
        | Format::Q4_1
        | Format::Q5_0
        | Format::Q8_0
        | Format::Q4K
        | Format::Q6K => {
            return None;
        }
    };
    let (a, w) = (bytes(&p.activations, ta), bytes(&p.weights, tw));
    let c = vec![0u32; p.m * p.n];
    let (mut engine, mut stream): (Ptr, Ptr) = (null_mut(), null_mut());
    call!(lib, "dnnl_engine_create", (*mut Ptr, c_int, usize), (&mut engine, 1, 0));
    call!(lib, "dnnl_stream_create", (*mut Ptr, Ptr, c_int), (&mut stream, engine, 1));
    let md = |dims: [i64; 2], dtype: c_int, tag: c_int| -> Option<Box<Desc>> {
        let mut d = Desc::new();
        call!(
            lib,
            "dnnl_memory_desc_init_by_tag",
            (*mut Desc, c_int, *const i64, c_int, c_int),
            (&mut *d, 2, dims.as_ptr(), dtype, tag)
        );
        Some(d)
    };
    let (m, n, k) = (p.m as i64, p.n as i64, p.k as i64);
    let (amd, wmd, cmd) =
        (md([m, k], ta, TAG_AB)?, md([k, n], tw, TAG_ANY)?, md([m, n], tc, TAG_AB)?);
    let mut op = Desc::new();
    call!(
        lib,
        "dnnl_matmul_desc_init",
        (*mut Desc, *const Desc, *const Desc, *const Desc, *const Desc),
        (&mut *op, &*amd, &*wmd, null(), &*cmd)
    );
    let (mut pd, mut prim): (Ptr, Ptr) = (null_mut(), null_mut());
    call!(
        lib,
        "dnnl_primitive_desc_create",
        (*mut Ptr, *const Desc, Ptr, Ptr, Ptr),
        (&mut pd, &*op, null_mut(), engine, null_mut())
    );
    call!(lib, "dnnl_primitive_create", (*mut Ptr, Ptr), (&mut prim, pd));
    // SAFETY: the signature is the library's public one.
    let query = unsafe {
        lib.get::<unsafe extern "C" fn(Ptr, c_int, c_int) -> *const Desc>(
            b"dnnl_primitive_desc_query_md",
        )
    }
    .ok()?;
    // SAFETY: `pd` is a live primitive descriptor; the result lives as long as it.
    let packed_md = unsafe { query(pd, QUERY_WEIGHTS_MD, 0) };
    let memory = |md: *const Desc, handle: Ptr| -> Option<Ptr> {
        let mut mem = null_mut();
        call!(
            lib,
            "dnnl_memory_create",
            (*mut Ptr, *const Desc, Ptr, Ptr),
            (&mut mem, md, engine, handle)
        );
        Some(mem)
    };
    let plain_md = md([k, n], tw, TAG_BA)?;
    let plain = memory(&*plain_md, w.as_ptr() as Ptr)?;
    let mut reorder_pd = null_mut();
    call!(
        lib,
        "dnnl_reorder_primitive_desc_create",
        (*mut Ptr, *const Desc, Ptr, *const Desc, Ptr, Ptr),
        (&mut reorder_pd, &*plain_md, engine, packed_md, engine, null_mut())
    );
    let mut reorder = null_mut();
    call!(lib, "dnnl_primitive_create", (*mut Ptr, Ptr), (&mut reorder, reorder_pd));
    type Execute = unsafe extern "C" fn(Ptr, Ptr, c_int, *const Arg) -> c_int;
    // SAFETY: the signatures are the library's public ones.
    let (execute, wait) = unsafe {
        (
            *lib.get::<Execute>(b"dnnl_primitive_execute").ok()?,
            *lib.get::<unsafe extern "C" fn(Ptr) -> c_int>(b"dnnl_stream_wait").ok()?,
        )
    };
    let mut packed = Vec::new();
    for _ in 0..p.copies {
        let mem = memory(packed_md, usize::MAX as Ptr)?; // the library allocates
        let args = [Arg { arg: SRC, memory: plain }, Arg { arg: DST, memory: mem }];
        // SAFETY: both memories are live and as large as their descriptors say.
        (unsafe { execute(reorder, stream, 2, args.as_ptr()) } == 0).then_some(())?;
        packed.push(mem);
    }
    // SAFETY: the stream is live.
    unsafe { wait(stream) };
    let (amem, cmem) = (memory(&*amd, a.as_ptr() as Ptr)?, memory(&*cmd, c.as_ptr() as Ptr)?);
    let run = move |i: usize| {
        let _keep = (&a, &c);
        let args = [
            Arg { arg: SRC, memory: amem },
            Arg { arg: WEIGHTS, memory: packed[i % packed.len()] },
            Arg { arg: DST, memory: cmem },
        ];
        // SAFETY: the primitive and the memories live as long as the process, the host buffers as long as this closure.
        unsafe {
            execute(prim, stream, 3, args.as_ptr());
            wait(stream);
        }
    };
    Some(("oneDNN".into(), Box::new(run)))
}

fn bytes(v: &[f32], dtype: c_int) -> Vec<u8> {
    match dtype {
        F32 => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
        BF16 => bf16_bits(v).into_iter().flat_map(u16::to_le_bytes).collect(),
        _ => v.iter().map(|x| (x * 64.0).clamp(-127.0, 127.0) as i8 as u8).collect(),
    }
}
