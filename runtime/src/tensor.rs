//! Tensors: a dtype, a shape, strides and an offset over a buffer. Views share the buffer.

use crate::buffer::{Buffer, Element, bytes_of, bytes_of_mut};
use crate::error::fail;
use crate::{DType, Result, Runtime};
use std::fmt;
use tilewright_abi::TensorLayout;

/// Most axes a tensor can have.
pub const MAX_RANK: usize = 8;

/// A tensor in device memory. Cloning shares the memory.
#[derive(Clone)]
pub struct Tensor {
    buffer: Buffer,
    dtype: DType,
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [i64; MAX_RANK],
    /// Of the first element, in bytes.
    offset: usize,
}

impl Tensor {
    /// A tensor of zeros.
    pub fn zeros(rt: &Runtime, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let bytes = size(dtype, shape)?;
        let context = |e: crate::Error| e.context(format!("{dtype} {shape:?}"));
        Tensor::over(Buffer::new(rt.device(), bytes).map_err(context)?, dtype, shape)
    }

    /// A tensor whose content does not matter yet.
    pub fn empty(rt: &Runtime, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        Tensor::zeros(rt, dtype, shape)
    }

    /// A copy of a slice.
    pub fn from_slice<T: Element>(rt: &Runtime, values: &[T], shape: &[usize]) -> Result<Tensor> {
        Tensor::from_bytes(rt, bytes_of(values), T::DTYPE, shape)
    }

    /// A copy of elements given as bytes, in the machine's byte order; sub-byte elements are packed,
    /// the first in the low bits.
    pub fn from_bytes(rt: &Runtime, bytes: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let want = size(dtype, shape)?;
        if bytes.len() != want {
            return fail!(
                InvalidArgument,
                "{dtype} {shape:?} takes {want} bytes, {} were given",
                bytes.len()
            );
        }
        let t = Tensor::zeros(rt, dtype, shape)?;
        t.buffer.write(0, bytes)?;
        Ok(t)
    }

    /// A read-only tensor over memory that `owner` lends, without a copy: a memory map, an
    /// `Arc<[u8]>`. The owner's slice must not move or change while the tensor lives.
    pub fn from_owner<O>(rt: &Runtime, owner: O, dtype: DType, shape: &[usize]) -> Result<Tensor>
    where
        O: AsRef<[u8]> + Send + Sync + 'static,
    {
        Tensor::over(Buffer::from_owner(rt.device(), owner)?, dtype, shape)
    }

    /// A packed tensor at the start of a buffer.
    pub fn over(buffer: Buffer, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        Tensor::at(buffer, 0, dtype, shape)
    }

    /// A packed tensor at a byte offset of a buffer.
    pub fn at(buffer: Buffer, offset: usize, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let strides = packed_strides(shape)?;
        Tensor::with_strides(
            buffer,
            offset,
            dtype,
            shape,
            strides.get(..shape.len()).unwrap_or(&[]),
        )
    }

    /// A tensor at a byte offset of a buffer, with strides in elements.
    pub fn with_strides(
        buffer: Buffer,
        offset: usize,
        dtype: DType,
        shape: &[usize],
        strides: &[i64],
    ) -> Result<Tensor> {
        size(dtype, shape)?;
        if strides.len() != shape.len() {
            return fail!(
                InvalidArgument,
                "shape {shape:?} and strides {strides:?} differ in rank"
            );
        }
        let mut t = Tensor {
            buffer,
            dtype,
            rank: shape.len(),
            shape: [0; MAX_RANK],
            strides: [0; MAX_RANK],
            offset,
        };
        t.shape.iter_mut().zip(shape).for_each(|(to, from)| *to = *from);
        t.strides.iter_mut().zip(strides).for_each(|(to, from)| *to = *from);
        if dtype.bits() < 8 && !t.is_packed() {
            return fail!(Unsupported, "{dtype} {shape:?}: elements below a byte must be packed");
        }
        let (low, high) = t.extent().unwrap_or((0, u64::MAX));
        if low < t.buffer.addr() || high > t.buffer.addr() + t.buffer.bytes() as u64 {
            return fail!(
                InvalidArgument,
                "{dtype} {shape:?} with strides {strides:?} at byte {offset} is outside a buffer of \
                 {} bytes",
                t.buffer.bytes()
            );
        }
        Ok(t)
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Extents.
    pub fn shape(&self) -> &[usize] {
        self.shape.get(..self.rank).unwrap_or(&[])
    }

    /// Strides in elements.
    pub fn strides(&self) -> &[i64] {
        self.strides.get(..self.rank).unwrap_or(&[])
    }

    /// The extent of an axis; 1 for one that is not there.
    pub fn dim(&self, axis: usize) -> usize {
        self.shape().get(axis).copied().unwrap_or(1)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Address of the first element, on the device.
    pub fn addr(&self) -> u64 {
        self.buffer.addr().wrapping_add(self.offset as u64)
    }

    /// Whether the elements are row-major without gaps.
    pub fn is_packed(&self) -> bool {
        let mut want = 1i64;
        for (&d, &s) in self.shape().iter().zip(self.strides()).rev() {
            if d != 1 && s != want && !self.is_empty() {
                return false;
            }
            want = want.saturating_mul(d as i64);
        }
        true
    }

    /// Strides and alignment, as a problem states them.
    pub fn layout(&self) -> TensorLayout {
        let align = 1u64 << self.addr().trailing_zeros().min(6);
        TensorLayout { strides: self.strides().to_vec(), align }
    }

    /// First address and the one after the last.
    pub(crate) fn extent(&self) -> Option<(u64, u64)> {
        let addr = self.buffer.addr().checked_add(self.offset as u64)?;
        if self.is_empty() {
            return Some((addr, addr));
        }
        if self.dtype.bits() < 8 {
            return Some((addr, addr.checked_add(self.dtype.bytes_for(self.len()) as u64)?));
        }
        let elem = i64::from(self.dtype.bits() / 8);
        let (mut low, mut high) = (0i64, elem);
        for (&d, &s) in self.shape().iter().zip(self.strides()) {
            let span = i64::try_from(d - 1).ok()?.checked_mul(s)?.checked_mul(elem)?;
            let side = if span < 0 { &mut low } else { &mut high };
            *side = side.checked_add(span)?;
        }
        Some((addr.checked_add_signed(low)?, addr.checked_add_signed(high)?))
    }

    /// Whether two places of the tensor may be one place of memory.
    pub(crate) fn overlaps_itself(&self) -> bool {
        let mut axes: Vec<(u64, u64)> = self
            .shape()
            .iter()
            .zip(self.strides())
            .filter(|(d, _)| **d > 1)
            .map(|(&d, &s)| (s.unsigned_abs(), d as u64))
            .collect();
        axes.sort_unstable();
        let mut reach = 0u64;
        for (stride, dim) in axes {
            if stride <= reach {
                return true;
            }
            reach = reach.saturating_add(stride.saturating_mul(dim - 1));
        }
        false
    }

    fn axis(&self, axis: usize) -> Result<(usize, i64)> {
        match (self.shape().get(axis), self.strides().get(axis)) {
            (Some(&d), Some(&s)) => Ok((d, s)),
            _ => fail!(InvalidArgument, "axis {axis} of a tensor of shape {:?}", self.shape()),
        }
    }

    /// `len` indices of an axis from `start` on, as a view.
    pub fn slice(&self, axis: usize, start: usize, len: usize) -> Result<Tensor> {
        let (dim, stride) = self.axis(axis)?;
        if start.checked_add(len).is_none_or(|end| end > dim) {
            return fail!(
                InvalidArgument,
                "slice {start}..{} of axis {axis} of a tensor of shape {:?}",
                start.saturating_add(len),
                self.shape()
            );
        }
        let skip_bits = start as i64 * stride * i64::from(self.dtype.bits());
        if skip_bits % 8 != 0 {
            return fail!(Unsupported, "a {} slice that starts within a byte", self.dtype);
        }
        let mut t = self.clone();
        if let Some(d) = t.shape.get_mut(axis) {
            *d = len;
        }
        // An empty view may start anywhere; it stays where it is.
        if !t.is_empty() {
            t.offset = t.offset.wrapping_add_signed((skip_bits / 8) as isize);
        }
        if t.dtype.bits() < 8 && !t.is_packed() {
            return fail!(Unsupported, "a {} slice that is not packed", self.dtype);
        }
        Ok(t)
    }

    /// The same elements in another shape. The tensor must be packed.
    pub fn reshape(&self, shape: &[usize]) -> Result<Tensor> {
        size(self.dtype, shape)?;
        if shape.iter().product::<usize>() != self.len() {
            let (from, len) = (self.shape(), self.len());
            return fail!(
                InvalidArgument,
                "shape {shape:?} has not the {len} elements of {from:?}"
            );
        }
        if !self.is_packed() {
            return fail!(
                InvalidArgument,
                "a reshape of {:?} with strides {:?}: copy it to a packed tensor first",
                self.shape(),
                self.strides()
            );
        }
        Tensor::at(self.buffer.clone(), self.offset, self.dtype, shape)
    }

    /// Two axes exchanged, as a view.
    pub fn transpose(&self, a: usize, b: usize) -> Result<Tensor> {
        self.axis(a)?;
        self.axis(b)?;
        let mut t = self.clone();
        t.shape.swap(a, b);
        t.strides.swap(a, b);
        if t.dtype.bits() < 8 && !t.is_packed() {
            return fail!(Unsupported, "a transposed {} tensor", self.dtype);
        }
        Ok(t)
    }

    /// One index of an axis, which goes.
    pub fn select(&self, axis: usize, index: usize) -> Result<Tensor> {
        let mut t = self.slice(axis, index, 1)?;
        t.shape.copy_within(axis + 1.., axis);
        t.strides.copy_within(axis + 1.., axis);
        t.rank -= 1;
        Ok(t)
    }

    /// The elements in row-major order, as bytes. Waits for the device.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = vec![0; self.dtype.bytes_for(self.len())];
        self.read_bytes(&mut out)?;
        Ok(out)
    }

    /// The elements in row-major order. Waits for the device.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let mut out = vec![T::default(); self.len()];
        self.read_into(&mut out)?;
        Ok(out)
    }

    /// Copies the elements into a slice, in row-major order. Waits for the device.
    pub fn read_into<T: Element>(&self, out: &mut [T]) -> Result<()> {
        self.same_type::<T>(out.len())?;
        self.read_bytes(bytes_of_mut(out))
    }

    /// Copies a slice into the tensor, in row-major order.
    pub fn write_slice<T: Element>(&self, values: &[T]) -> Result<()> {
        self.same_type::<T>(values.len())?;
        self.write_bytes(bytes_of(values))
    }

    fn same_type<T: Element>(&self, len: usize) -> Result<()> {
        if T::DTYPE == self.dtype && len == self.len() {
            return Ok(());
        }
        fail!(
            InvalidArgument,
            "{len} elements of {} for a tensor of {} {:?}",
            T::DTYPE,
            self.dtype,
            self.shape()
        )
    }

    /// Calls `f` with the byte offset of each packed run of `run` bytes, in row-major order.
    fn runs(&self, f: &mut dyn FnMut(usize, usize) -> Result<()>) -> Result<()> {
        if self.is_packed() {
            return f(self.offset, self.dtype.bytes_for(self.len()));
        }
        let elem = self.dtype.bits() as usize / 8;
        let mut index = [0usize; MAX_RANK];
        // The innermost axis is one run when its elements are neighbours.
        let inner = match (self.shape().last(), self.strides().last()) {
            (Some(&d), Some(1)) => d,
            _ => 1,
        };
        let outer_rank = if inner == 1 { self.rank } else { self.rank - 1 };
        loop {
            let at = index.iter().zip(&self.strides).fold(0i64, |n, (&i, &s)| n + i as i64 * s);
            let offset = self.offset.wrapping_add_signed(at as isize * elem as isize);
            f(offset, inner * elem)?;
            let mut axis = outer_rank;
            loop {
                if axis == 0 {
                    return Ok(());
                }
                axis -= 1;
                if let (Some(i), Some(&d)) = (index.get_mut(axis), self.shape.get(axis)) {
                    *i += 1;
                    if *i < d {
                        break;
                    }
                    *i = 0;
                }
            }
        }
    }

    fn read_bytes(&self, out: &mut [u8]) -> Result<()> {
        let mut at = 0;
        self.runs(&mut |offset, bytes| {
            let part = out.get_mut(at..at + bytes).unwrap_or(&mut []);
            at += bytes;
            self.buffer.read(offset, part)
        })
    }

    /// Copies elements given as bytes into the tensor, in row-major order.
    pub fn write_bytes(&self, bytes: &[u8]) -> Result<()> {
        let want = self.dtype.bytes_for(self.len());
        if bytes.len() != want {
            let (dtype, shape, got) = (self.dtype, self.shape(), bytes.len());
            return fail!(
                InvalidArgument,
                "{dtype} {shape:?} takes {want} bytes, {got} were given"
            );
        }
        let mut at = 0;
        self.runs(&mut |offset, len| {
            let part = bytes.get(at..at + len).unwrap_or(&[]);
            at += len;
            self.buffer.write(offset, part)
        })
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.dtype, self.shape())?;
        if !self.is_packed() {
            write!(f, " strides {:?}", self.strides())?;
        }
        Ok(())
    }
}

/// Bytes of a packed tensor, if the shape is allowed.
fn size(dtype: DType, shape: &[usize]) -> Result<usize> {
    if shape.len() > MAX_RANK {
        return fail!(Limit, "shape {shape:?} has more than {MAX_RANK} axes");
    }
    let elements = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    let bytes = elements.map(|n| (n as u128 * u128::from(dtype.bits())).div_ceil(8));
    match bytes.map(isize::try_from) {
        Some(Ok(bytes)) => Ok(bytes.unsigned_abs()),
        _ => fail!(Limit, "{dtype} {shape:?} has more bytes than an address can count"),
    }
}

/// Strides of a packed tensor.
pub(crate) fn packed_strides(shape: &[usize]) -> Result<[i64; MAX_RANK]> {
    if shape.len() > MAX_RANK {
        return fail!(Limit, "shape {shape:?} has more than {MAX_RANK} axes");
    }
    let mut strides = [0i64; MAX_RANK];
    let mut step = 1i64;
    for (s, &d) in strides.iter_mut().take(shape.len()).zip(shape).rev() {
        *s = step;
        step = step.saturating_mul(i64::try_from(d.max(1)).unwrap_or(i64::MAX));
    }
    Ok(strides)
}
