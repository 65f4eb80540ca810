//! Tensors of other frameworks, in and out, in the form of DLPack (both the unversioned struct and
//! version 1), without copies.
#![allow(unsafe_code, reason = "reads and makes structs that are shared through raw pointers")]

use crate::buffer::Buffer;
use crate::device::RawBuf;
use crate::error::fail;
use crate::{DType, Result, Runtime, Tensor};
use std::ffi::c_void;
use tilewright_abi::Family;

/// Where a tensor's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLDevice {
    /// 1 CPU, 2 CUDA, 10 ROCm.
    pub device_type: i32,
    /// Which of them.
    pub device_id: i32,
}

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLDataType {
    /// What kind of number.
    pub code: u8,
    /// Bits of one.
    pub bits: u8,
    /// Numbers in an element; 1.
    pub lanes: u16,
}

/// A tensor without an owner.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLTensor {
    /// Memory.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DLDevice,
    /// Number of axes.
    pub ndim: i32,
    /// Element type.
    pub dtype: DLDataType,
    /// Extents.
    pub shape: *mut i64,
    /// Strides in elements; null for row-major without gaps.
    pub strides: *mut i64,
    /// Of the first element, from `data`.
    pub byte_offset: u64,
}

/// A tensor with its owner, unversioned.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The owner's own.
    pub manager_ctx: *mut c_void,
    /// Lets the tensor go; called once.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// The version of a [`DLManagedTensorVersioned`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLPackVersion {
    /// Changes when the layout does.
    pub major: u32,
    /// Changes with additions.
    pub minor: u32,
}

/// A tensor with its owner, version 1.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// Version 1.
    pub version: DLPackVersion,
    /// The owner's own.
    pub manager_ctx: *mut c_void,
    /// Lets the tensor go; called once.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// Bit 0: read only.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

const READ_ONLY: u64 = 1;
const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };

/// Codes of DLPack 1.1 (`DLDataTypeCode`).
const DTYPES: &[(DType, u8)] = &[
    (DType::I4, 0),
    (DType::I8, 0),
    (DType::I16, 0),
    (DType::I32, 0),
    (DType::I64, 0),
    (DType::U4, 1),
    (DType::U8, 1),
    (DType::U16, 1),
    (DType::U32, 1),
    (DType::U64, 1),
    (DType::F16, 2),
    (DType::F32, 2),
    (DType::F64, 2),
    (DType::BF16, 4),
    (DType::Bool, 6),
    (DType::F8E4M3, 10),
    (DType::F8E4M3Fnuz, 11),
    (DType::F8E5M2, 12),
    (DType::F8E5M2Fnuz, 13),
    (DType::E8M0, 14),
    (DType::F6E2M3, 15),
    (DType::F6E3M2, 16),
    (DType::F4E2M1, 17),
];

fn device_type(family: Family) -> i32 {
    match family {
        Family::Cpu => 1,
        Family::Nvptx => 2,
        Family::Amdgcn => 10,
    }
}

/// Calls a deleter when dropped.
struct Owner(Managed);

enum Managed {
    Plain(*mut DLManagedTensor),
    Versioned(*mut DLManagedTensorVersioned),
}

// SAFETY: DLPack lets a tensor be deleted from any thread.
unsafe impl Send for Owner {}
// SAFETY: the pointer is only used in Drop.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: whoever made the owner vouched for the pointers; each deleter is called once.
        unsafe {
            match self.0 {
                Managed::Plain(p) => {
                    if let Some(delete) = (*p).deleter {
                        delete(p);
                    }
                }
                Managed::Versioned(p) => {
                    if let Some(delete) = (*p).deleter {
                        delete(p);
                    }
                }
            }
        }
    }
}

/// # Safety
/// `t` is a DLPack tensor whose memory `owner` keeps alive.
unsafe fn import(rt: &Runtime, t: &DLTensor, owner: Owner, read_only: bool) -> Result<Tensor> {
    let family = rt.info().family;
    if t.device.device_type != device_type(family) {
        return fail!(
            InvalidArgument,
            "the tensor is on a device of type {}, this runtime uses `{}`",
            t.device.device_type,
            family.name()
        );
    }
    let same = |(d, code): &&(DType, u8)| {
        *code == t.dtype.code && d.bits() == u32::from(t.dtype.bits) && t.dtype.lanes == 1
    };
    let Some((dtype, _)) = DTYPES.iter().find(same) else {
        return fail!(Unsupported, "element type {:?} of a DLPack tensor", t.dtype);
    };
    let rank = usize::try_from(t.ndim).unwrap_or(usize::MAX);
    if rank > crate::MAX_RANK {
        return fail!(Limit, "a DLPack tensor of rank {}, at most {}", t.ndim, crate::MAX_RANK);
    }
    let list = |p: *mut i64| -> Vec<i64> {
        if p.is_null() || rank == 0 {
            return Vec::new();
        }
        // SAFETY: the caller's promise: shape and strides hold `ndim` numbers.
        unsafe { std::slice::from_raw_parts(p, rank) }.to_vec()
    };
    let dims: Option<Vec<usize>> = list(t.shape).iter().map(|&d| usize::try_from(d).ok()).collect();
    let Some(shape) = dims.filter(|d| d.len() == rank) else {
        return fail!(InvalidArgument, "a DLPack tensor of a negative or absent extent");
    };
    let strides = match list(t.strides) {
        s if s.len() == rank => s,
        _ => crate::tensor::packed_strides(&shape)?.get(..rank).unwrap_or(&[]).to_vec(),
    };
    if strides.iter().any(|&s| s < 0) {
        return fail!(Unsupported, "a DLPack tensor of negative strides {strides:?}");
    }
    let elements = shape.iter().zip(&strides).try_fold(1usize, |n, (&d, &s)| {
        n.checked_add(d.saturating_sub(1).checked_mul(usize::try_from(s).ok()?)?)
    });
    let elements = if shape.contains(&0) { Some(0) } else { elements };
    let bytes = elements.and_then(|n| n.checked_mul(dtype.bits() as usize)).map(|b| b.div_ceil(8));
    let Some(bytes) = bytes else {
        return fail!(Limit, "a DLPack tensor of shape {shape:?}, strides {strides:?}");
    };
    let raw = RawBuf { addr: (t.data as u64).wrapping_add(t.byte_offset), bytes };
    // SAFETY: the caller's promise; the range is what shape and strides reach.
    let buffer = unsafe { Buffer::from_raw(rt.device(), raw, Box::new(owner), read_only) }?;
    Tensor::with_strides(buffer, 0, *dtype, &shape, &strides)
}

/// What an exported tensor owns: the struct, and what its pointers point to.
struct Export<M> {
    managed: M,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _tensor: Tensor,
}

unsafe extern "C" fn delete_plain(p: *mut DLManagedTensor) {
    // SAFETY: `manager_ctx` is the box that `to_dlpack` leaked; the consumer calls this once.
    drop(unsafe { Box::from_raw((*p).manager_ctx.cast::<Export<DLManagedTensor>>()) });
}

unsafe extern "C" fn delete_versioned(p: *mut DLManagedTensorVersioned) {
    // SAFETY: as in `delete_plain`.
    drop(unsafe { Box::from_raw((*p).manager_ctx.cast::<Export<DLManagedTensorVersioned>>()) });
}

impl Tensor {
    fn dl_tensor(&self) -> Result<DLTensor> {
        let Some((_, code)) = DTYPES.iter().find(|(d, _)| *d == self.dtype()) else {
            return fail!(Unsupported, "{} has no DLPack code", self.dtype());
        };
        let family = self.buffer().device().info().family;
        Ok(DLTensor {
            data: self.addr() as *mut c_void,
            device: DLDevice { device_type: device_type(family), device_id: 0 },
            ndim: self.shape().len() as i32,
            dtype: DLDataType { code: *code, bits: self.dtype().bits() as u8, lanes: 1 },
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        })
    }

    fn export<M>(&self, managed: M) -> Box<Export<M>> {
        let shape = self.shape().iter().map(|&d| d as i64).collect();
        Box::new(Export { managed, shape, strides: self.strides().to_vec(), _tensor: self.clone() })
    }

    /// This tensor as an unversioned DLPack tensor, which keeps the memory until its deleter is called.
    /// A read-only tensor is refused: this form cannot say so.
    pub fn to_dlpack(&self) -> Result<*mut DLManagedTensor> {
        if self.buffer().is_read_only() {
            return fail!(Unsupported, "a read-only tensor needs the versioned DLPack form");
        }
        let dl_tensor = self.dl_tensor()?;
        let deleter = Some(delete_plain as unsafe extern "C" fn(_));
        let managed = DLManagedTensor { dl_tensor, manager_ctx: std::ptr::null_mut(), deleter };
        let mut export = self.export(managed);
        export.managed.dl_tensor.shape = export.shape.as_mut_ptr();
        export.managed.dl_tensor.strides = export.strides.as_mut_ptr();
        let p = Box::into_raw(export);
        // SAFETY: the box was leaked just now; the field is inside it.
        unsafe {
            (*p).managed.manager_ctx = p.cast();
            Ok(&raw mut (*p).managed)
        }
    }

    /// This tensor as a DLPack tensor of version 1.
    pub fn to_dlpack_versioned(&self) -> Result<*mut DLManagedTensorVersioned> {
        let managed = DLManagedTensorVersioned {
            version: VERSION,
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(delete_versioned),
            flags: if self.buffer().is_read_only() { READ_ONLY } else { 0 },
            dl_tensor: self.dl_tensor()?,
        };
        let mut export = self.export(managed);
        export.managed.dl_tensor.shape = export.shape.as_mut_ptr();
        export.managed.dl_tensor.strides = export.strides.as_mut_ptr();
        let p = Box::into_raw(export);
        // SAFETY: the box was leaked just now; the field is inside it.
        unsafe {
            (*p).managed.manager_ctx = p.cast();
            Ok(&raw mut (*p).managed)
        }
    }

    /// A tensor over an unversioned DLPack tensor's memory. The tensor is taken: it is deleted when the
    /// last view of it goes, or now if it is refused.
    ///
    /// # Safety
    /// `managed` is a live DLPack tensor that nobody else will delete.
    pub unsafe fn from_dlpack(rt: &Runtime, managed: *mut DLManagedTensor) -> Result<Tensor> {
        if managed.is_null() {
            return fail!(InvalidArgument, "a null DLPack tensor");
        }
        let owner = Owner(Managed::Plain(managed));
        // SAFETY: the caller's promise.
        unsafe {
            let t = (*managed).dl_tensor;
            import(rt, &t, owner, false)
        }
    }

    /// A tensor over a versioned DLPack tensor's memory; see [`Tensor::from_dlpack`].
    ///
    /// # Safety
    /// `managed` is a live DLPack tensor that nobody else will delete.
    pub unsafe fn from_dlpack_versioned(
        rt: &Runtime,
        managed: *mut DLManagedTensorVersioned,
    ) -> Result<Tensor> {
        if managed.is_null() {
            return fail!(InvalidArgument, "a null DLPack tensor");
        }
        let owner = Owner(Managed::Versioned(managed));
        // SAFETY: the caller's promise. All versions begin with version, context and deleter.
        unsafe {
            let version = (*managed).version;
            if version.major != VERSION.major {
                return fail!(Unsupported, "DLPack version {}, not 1", version.major);
            }
            let (t, flags) = ((*managed).dl_tensor, (*managed).flags);
            import(rt, &t, owner, flags & READ_ONLY != 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::device::null::NullDevice;
    use crate::device::{DeviceInfo, cpu::CpuDevice};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tilewright_abi::{Manifest, PackWriter, TargetId};

    fn runtime(family: Family, target: &str) -> Runtime {
        let info = CpuDevice::new(&Default::default()).unwrap_or_else(|e| panic!("{e}"));
        let info = DeviceInfo { family, ..crate::device::Device::info(&info).clone() };
        let mut w = PackWriter::new("test");
        w.manifest(target, Manifest::new(TargetId::new(target), "test").to_text());
        let pack = Box::leak(w.finish().into_boxed_slice());
        let builder = Runtime::builder().knobs(Default::default()).pack(pack);
        builder.device(Arc::new(NullDevice::new(info))).build().unwrap_or_else(|e| panic!("{e}"))
    }

    static DELETED: AtomicU32 = AtomicU32::new(0);

    unsafe extern "C" fn count(_: *mut DLManagedTensor) {
        DELETED.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn tensors_come_in_and_are_deleted_once() {
        let rt = runtime(Family::Cpu, "cpu/test");
        let mut data = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let (mut shape, mut strides) = ([2i64, 2], [1i64, 2]);
        let mut managed = DLManagedTensor {
            dl_tensor: DLTensor {
                data: data.as_mut_ptr().cast(),
                device: DLDevice { device_type: 1, device_id: 0 },
                ndim: 2,
                dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
                shape: shape.as_mut_ptr(),
                strides: strides.as_mut_ptr(),
                byte_offset: 4,
            },
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(count),
        };
        let mut import = |change: &dyn Fn(&mut DLTensor)| {
            let mut m = DLManagedTensor { dl_tensor: managed.dl_tensor, ..managed };
            change(&mut m.dl_tensor);
            managed = m;
            // SAFETY: the struct and what it points to outlive the tensors of this test.
            unsafe { Tensor::from_dlpack(&rt, &raw mut managed) }
        };
        let t = import(&|_| {}).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(t.to_vec::<f32>().ok(), Some(vec![2.0, 4.0, 3.0, 5.0]));
        let view = t.slice(0, 1, 1).unwrap_or_else(|e| panic!("{e}"));
        drop(t);
        assert_eq!(DELETED.load(Ordering::Relaxed), 0);
        drop(view);
        assert_eq!(DELETED.load(Ordering::Relaxed), 1);
        let refused = [
            import(&|t| t.device.device_type = 2),
            import(&|t| (t.device.device_type, t.dtype.bits) = (1, 7)),
            import(&|t| (t.dtype.bits, t.ndim) = (32, 9)),
            import(&|t| t.ndim = -1),
            import(&|t| (t.ndim, t.shape) = (2, std::ptr::null_mut())),
        ];
        assert!(refused.iter().all(Result::is_err));
        assert_eq!(DELETED.load(Ordering::Relaxed), 6);
    }

    #[test]
    fn round_trip_keeps_the_memory() {
        let rt = runtime(Family::Cpu, "cpu/test");
        let t = Tensor::from_owner(&rt, vec![1u8, 2, 3, 4], DType::U8, &[2, 2]);
        let t = t.unwrap_or_else(|e| panic!("{e}"));
        let out = t.to_dlpack_versioned().unwrap_or_else(|e| panic!("{e}"));
        drop(t);
        // SAFETY: exported just now and not deleted.
        let back = unsafe { Tensor::from_dlpack_versioned(&rt, out) };
        let back = back.unwrap_or_else(|e| panic!("{e}"));
        assert!(back.buffer().is_read_only());
        assert_eq!(back.to_vec::<u8>().ok(), Some(vec![1, 2, 3, 4]));
        // SAFETY: as above; here the major version is one that is not known.
        let unknown = unsafe {
            let out = back.to_dlpack_versioned().unwrap_or_else(|e| panic!("{e}"));
            (*out).version.major = 2;
            Tensor::from_dlpack_versioned(&rt, out)
        };
        assert_eq!(unknown.err().map(|e| e.kind()), Some(ErrorKind::Unsupported));
        let gpu = runtime(Family::Nvptx, "nvptx/sm_90a");
        let t = Tensor::zeros(&gpu, DType::BF16, &[3]).unwrap_or_else(|e| panic!("{e}"));
        let dl = t.dl_tensor().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((dl.device.device_type, dl.dtype.code, dl.dtype.bits), (2, 4, 16));
    }
}
