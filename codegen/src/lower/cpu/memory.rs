//! Reads and writes of views.
//!
//! An access at spans and rows is a box. If the whole box is known or found to be inside the view,
//! registers are read straight from it. Otherwise a helper copies what is inside to a buffer on the
//! stack, where the rest has been filled in, and registers are read from there: both ways share one
//! sequence of vector loads, at another address with other strides. Stores are the same backwards.

use super::convert::{Lane, assemble, convert, inside, is_live};
use super::elementwise::memory_elem;
use super::{Bound, Cx, Result, Tile, View, helpers};
use crate::lir::{BinOp, Builder, CastOp, CmpOp, Elem, Ty, Val};
use std::collections::BTreeMap;
use std::rc::Rc;
use tilewright_abi::DType;
use tilewright_ir::{Access, Bound as Limit, Coord, Dim, Layout, Value};

/// Rows that are chosen one by one instead of by a branch for all.
const MOST_ROWS: usize = 32;

/// Bytes from the start of a box to a coordinate of one axis.
#[derive(Clone, Debug)]
enum Steps {
    /// Bytes for each step.
    Even(Val),
    /// Bytes by coordinate.
    Table(Vec<Val>),
}

/// Where a box lies in memory.
struct Place {
    start: Val,
    /// One address for each coordinate of an axis, in place of `start`.
    pointers: Option<(usize, Vec<Val>)>,
    axes: Vec<Steps>,
    /// Addresses of rows (all axes but the last), by packed index.
    rows: BTreeMap<u64, Val>,
}

impl Place {
    /// Address of coordinates.
    fn address(&mut self, b: &mut Builder, layout: &Layout, index: u64) -> Val {
        let coords = layout.unpack(index);
        let Some(last) = coords.len().checked_sub(1) else { return self.start };
        let key = index & !layout.axis_mask(last);
        let row = match self.rows.get(&key) {
            Some(&row) => row,
            None => {
                let mut sum = b.i64(0);
                let mut start = self.start;
                for (axis, (steps, &c)) in self.axes.iter().zip(&coords).take(last).enumerate() {
                    match &self.pointers {
                        Some((a, list)) if *a == axis => start = *list.get(c).unwrap_or(&start),
                        _ => {
                            let off = offset(b, steps, c);
                            sum = b.bin(BinOp::Add, sum, off);
                        }
                    }
                }
                let row = b.gep(start, sum);
                self.rows.insert(key, row);
                row
            }
        };
        let off = offset(b, &self.axes[last], coords[last]);
        b.gep(row, off)
    }
}

fn offset(b: &mut Builder, steps: &Steps, c: usize) -> Val {
    match steps {
        Steps::Even(step) => b.bin_imm(BinOp::Mul, *step, c as u64),
        Steps::Table(list) => match list.get(c) {
            Some(&v) => v,
            None => b.i64(0),
        },
    }
}

/// A box access before it is known whether it is inside.
pub(super) struct BoxAccess {
    pub(super) start: Val,
    axes: Vec<Steps>,
    /// For each axis: first and past-the-last coordinate inside, in the box's own counting; for a
    /// table axis whether each row exists.
    ranges: Vec<Range>,
    /// Whether everything is inside; `None` if known to be.
    pub(super) inside: Option<Val>,
}

enum Range {
    All,
    Span(Val, Val),
    Rows(Vec<Val>),
}

fn row_major_strides(shape: &[usize], bytes: u32) -> Vec<i64> {
    let mut strides = vec![i64::from(bytes); shape.len()];
    for i in (0..shape.len().saturating_sub(1)).rev() {
        strides[i] = strides[i + 1] * shape[i + 1] as i64;
    }
    strides
}

impl Cx<'_> {
    /// The number of coordinates on an axis that are allowed: `min(dim, limit)`.
    pub(super) fn limit_of(
        &mut self,
        view: &View,
        axis: usize,
        bound: &Limit,
    ) -> Result<Option<Val>> {
        Ok(match bound {
            Limit::Inside => None,
            Limit::Dim => Some(view.dims[axis]),
            Limit::Limit(v) => {
                let v = self.scalar(*v)?;
                Some(self.b.intrinsic("smin", &[view.dims[axis], v]))
            }
        })
    }

    pub(super) fn stride_bytes(&mut self, view: &View, axis: usize) -> Val {
        let bytes = memory_elem(view.dtype).bytes();
        self.b.bin_imm(BinOp::Mul, view.strides[axis], u64::from(bytes))
    }

    pub(super) fn box_access(&mut self, access: &Access, shape: &[usize]) -> Result<BoxAccess> {
        let view = self.view(access.view)?;
        let mut start_offset = self.b.i64(0);
        let (mut axes, mut ranges) = (Vec::new(), Vec::new());
        let (mut spans, mut all_rows): (Option<Val>, Option<Val>) = (None, None);
        for (axis, (coord, bound)) in access.coords.iter().zip(&access.bounds).enumerate() {
            let extent = shape.get(axis).copied().unwrap_or(1);
            let stride = self.stride_bytes(&view, axis);
            let limit = match bound {
                _ if self.program.info.is_inside(self.inst, axis) => None,
                bound => self.limit_of(&view, axis, bound)?,
            };
            match coord {
                Coord::Span(origin) => {
                    let origin = self.scalar(*origin)?;
                    let bytes = self.b.bin(BinOp::Mul, origin, stride);
                    start_offset = self.b.bin(BinOp::Add, start_offset, bytes);
                    axes.push(Steps::Even(stride));
                    let Some(limit) = limit else {
                        ranges.push(Range::All);
                        continue;
                    };
                    let zero = self.b.i64(0);
                    let room = self.b.bin(BinOp::Sub, limit, origin);
                    let size = self.b.i64(extent as i64);
                    let from_zero = self.b.cmp(CmpOp::Sge, origin, zero);
                    let fits = self.b.cmp(CmpOp::Sge, room, size);
                    let ok = self.b.bin(BinOp::And, from_zero, fits);
                    spans = Some(match spans {
                        Some(i) => self.b.bin(BinOp::And, i, ok),
                        None => ok,
                    });
                    ranges.push(Range::Span(origin, room));
                }
                Coord::Rows(index) => {
                    let (table, valid, all) = self.rows(*index, stride, limit)?;
                    axes.push(Steps::Table(table));
                    if limit.is_none() && self.program.info.has_all_rows(self.inst, axis) {
                        ranges.push(Range::All);
                    } else {
                        ranges.push(Range::Rows(valid));
                        all_rows = Some(all);
                    }
                }
                Coord::Gather(_) => return self.bug("a gather is not a box"),
            }
        }
        let start = self.b.gep(view.base, start_offset);
        let inside = match (spans, all_rows) {
            (Some(s), Some(r)) => Some(self.b.bin(BinOp::And, s, r)),
            (s, r) => s.or(r),
        };
        Ok(BoxAccess { start, axes, ranges, inside })
    }

    /// For each row of an index tile its offset in bytes and whether it exists; whether all exist.
    fn rows(
        &mut self,
        index: Value,
        stride: Val,
        limit: Option<Val>,
    ) -> Result<(Vec<Val>, Vec<Val>, Val)> {
        let t = self.tile(index)?;
        let n = t.shape.first().copied().unwrap_or(0);
        let (mut table, mut valid) = (Vec::new(), Vec::new());
        let mut all: Option<Val> = None;
        for row in 0..n {
            let Some(i) = super::convert::element(&mut self.b, &t, row as u64) else {
                return self.bug("a row index is missing");
            };
            let i = self.b.cast(CastOp::SExt, i, Elem::I64);
            let bytes = self.b.bin(BinOp::Mul, i, stride);
            let mut ok = self.b.cmp_imm(CmpOp::Sge, i, 0);
            if let Some(limit) = limit {
                let below = self.b.cmp(CmpOp::Slt, i, limit);
                ok = self.b.bin(BinOp::And, ok, below);
            }
            table.push(bytes);
            valid.push(ok);
            all = Some(match all {
                Some(a) => self.b.bin(BinOp::And, a, ok),
                None => ok,
            });
        }
        let all = match all {
            Some(a) => a,
            None => self.b.konst(Ty::scalar(Elem::I1), 1),
        };
        Ok((table, valid, all))
    }

    /// Calls the copy helper between the inside part of a box and the buffer.
    fn copy_inside(&mut self, a: &BoxAccess, buffer: Val, shape: &[usize], bytes: u32, load: bool) {
        let strides = row_major_strides(shape, bytes);
        let table = a.axes.iter().find_map(|s| match s {
            Steps::Table(list) => Some(list.len()),
            Steps::Even(_) => None,
        });
        let rows = table.unwrap_or(1);
        for row in 0..rows {
            let mut memory = a.start;
            let mut local = buffer;
            let (mut counts, mut near, mut far) = (vec![], vec![], vec![]);
            for (axis, range) in a.ranges.iter().enumerate() {
                let local_step = self.b.i64(strides[axis]);
                let (count, step) = match (range, &a.axes[axis]) {
                    (Range::Rows(valid), Steps::Table(table)) => {
                        memory = self.b.gep(memory, table[row]);
                        local = self.b.gep_imm(local, strides[axis] * row as i64);
                        let n = self.b.cast(CastOp::ZExt, valid[row], Elem::I64);
                        (n, self.b.i64(0))
                    }
                    (Range::Span(origin, room), Steps::Even(step)) => {
                        let zero = self.b.i64(0);
                        let size = self.b.i64(shape[axis] as i64);
                        let minus = self.b.bin(BinOp::Sub, zero, *origin);
                        let first = self.b.intrinsic("smax", &[minus, zero]);
                        let last = self.b.intrinsic("smin", &[*room, size]);
                        let skip = self.b.bin(BinOp::Mul, first, *step);
                        memory = self.b.gep(memory, skip);
                        let skip = self.b.bin(BinOp::Mul, first, local_step);
                        local = self.b.gep(local, skip);
                        (self.b.bin(BinOp::Sub, last, first), *step)
                    }
                    (_, Steps::Even(step)) => (self.b.i64(shape[axis] as i64), *step),
                    // Rows that all exist are copied one by one too: see `rows` above.
                    (_, Steps::Table(table)) => {
                        memory = self.b.gep(memory, table[row]);
                        local = self.b.gep_imm(local, strides[axis] * row as i64);
                        (self.b.i64(1), self.b.i64(0))
                    }
                };
                counts.push(count);
                near.push(local_step);
                far.push(step);
            }
            while counts.len() < 5 {
                counts.insert(0, self.b.i64(1));
                near.insert(0, self.b.i64(0));
                far.insert(0, self.b.i64(0));
            }
            let mut args = if load { vec![local, memory] } else { vec![memory, local] };
            args.extend(counts);
            args.extend(if load { near.clone() } else { far.clone() });
            args.extend(if load { far } else { near });
            self.b.call_effect(helpers::copy(bytes), &args, None);
        }
    }

    /// The place that vector accesses use: the box itself, or the buffer when not inside. With
    /// `other`, the buffer is filled and loaded first.
    fn place(
        &mut self,
        a: &BoxAccess,
        shape: &[usize],
        dtype: DType,
        other: Option<Val>,
    ) -> (Place, Option<Val>) {
        if let Some(place) = self.row_by_row(a, shape, dtype, other) {
            return (place, None);
        }
        let Some(inside) = a.inside else {
            let place = Place {
                start: a.start,
                pointers: None,
                axes: a.axes.clone(),
                rows: BTreeMap::new(),
            };
            return (place, None);
        };
        let bytes = memory_elem(dtype).bytes();
        let count: usize = shape.iter().product();
        let buffer = self.scratch((count * bytes as usize) as u64);
        let from = self.b.current();
        let join = self.b.block();
        let outside = other.map(|other| {
            let rare = self.b.block();
            let bad = self.b.not(inside);
            self.b.rare_br(bad, rare, join);
            self.b.switch_to(rare);
            let value = self.memory_form(other, dtype);
            let value = self.b.bits_as(value, Elem::int_of(bytes * 8));
            let n = self.b.i64(count as i64);
            self.b.call_effect(helpers::fill(bytes), &[buffer, n, value], None);
            self.copy_inside(a, buffer, shape, bytes, true);
            let end = self.b.current();
            self.b.br(join);
            self.b.switch_to(join);
            end
        });
        let strides = row_major_strides(shape, bytes);
        let either = |cx: &mut Self, near: Val, far: Val| -> Val {
            let (n, f) = (cx.b.as_const(near), cx.b.as_const(far));
            if near == far || (n.is_some() && n == f) {
                return near;
            }
            match outside {
                Some(end) => {
                    let ty = cx.b.ty(near);
                    let phi = cx.b.phi(ty);
                    cx.b.add_incoming(phi, from, near);
                    cx.b.add_incoming(phi, end, far);
                    phi
                }
                None => cx.b.select(inside, near, far),
            }
        };
        let start = either(self, a.start, buffer);
        let mut axes = Vec::new();
        for (axis, steps) in a.axes.iter().enumerate() {
            axes.push(match steps {
                Steps::Even(step) => {
                    let local = self.b.i64(strides[axis]);
                    Steps::Even(either(self, *step, local))
                }
                Steps::Table(list) => {
                    let mut table = Vec::new();
                    for (c, &v) in list.iter().enumerate() {
                        let local = self.b.i64(strides[axis] * c as i64);
                        table.push(either(self, v, local));
                    }
                    Steps::Table(table)
                }
            });
        }
        if outside.is_none() {
            // A store: nothing to prepare, the join block is not used.
            let next = join;
            self.b.br(next);
            self.b.switch_to(next);
        }
        (Place { start, pointers: None, axes, rows: BTreeMap::new() }, Some(buffer))
    }

    /// Where coordinates of one axis may be missing and each of them is one contiguous row: a row's
    /// address, or that of a spare row that holds `other` or takes what is not to be written. No
    /// branch is needed, so that the loop around stays one block.
    fn row_by_row(
        &mut self,
        a: &BoxAccess,
        shape: &[usize],
        dtype: DType,
        other: Option<Val>,
    ) -> Option<Place> {
        let last = shape.len().checked_sub(1)?;
        let mut open = (0..shape.len()).filter(|&i| !matches!(a.ranges[i], Range::All));
        let (axis, None) = (open.next()?, open.next()) else { return None };
        let bytes = memory_elem(dtype).bytes();
        let unit = match &a.axes[last] {
            Steps::Even(step) => self.b.as_const(*step) == Some(u64::from(bytes)),
            Steps::Table(_) => false,
        };
        let flat = (0..last).all(|i| i == axis || shape[i] == 1);
        let constant = other.is_none_or(|v| self.b.as_const(v).is_some());
        if axis == last || shape[axis] > MOST_ROWS || !unit || !flat || !constant {
            return None;
        }
        let mut rows: Vec<(Val, Val)> = Vec::new();
        match (&a.ranges[axis], &a.axes[axis]) {
            (Range::Rows(valid), Steps::Table(table)) => {
                for (&valid, &off) in valid.iter().zip(table) {
                    rows.push((valid, off));
                }
            }
            (Range::Span(origin, room), Steps::Even(step)) => {
                let end = self.b.bin(BinOp::Add, *origin, *room);
                let zero = self.b.i64(0);
                let end = self.b.intrinsic("smax", &[end, zero]);
                for c in 0..shape[axis] as u64 {
                    // As an unsigned number a negative coordinate is beyond every end.
                    let at = self.b.bin_imm(BinOp::Add, *origin, c);
                    let valid = self.b.cmp(CmpOp::Ult, at, end);
                    rows.push((valid, self.b.bin_imm(BinOp::Mul, *step, c)));
                }
            }
            _ => return None,
        }
        let spare = self.b.alloca(shape[last] as u64 * u64::from(bytes));
        if let Some(other) = other {
            let value = self.memory_form(other, dtype);
            let value = self.b.bits_as(value, Elem::int_of(bytes * 8));
            let n = self.b.i64(shape[last] as i64);
            self.b.in_entry(|b| {
                b.call_effect(helpers::fill(bytes), &[spare, n, value], None);
            });
        }
        let mut list = Vec::new();
        for (valid, off) in rows {
            let row = self.b.gep(a.start, off);
            list.push(self.b.select(valid, row, spare));
        }
        let rows = BTreeMap::new();
        Some(Place { start: a.start, pointers: Some((axis, list)), axes: a.axes.clone(), rows })
    }

    /// Low lane bits that step along contiguous memory: along the last axis, and beyond it where the
    /// strides are known to continue it and no extent is padded.
    fn contiguous_bits(
        &self,
        layout: &Layout,
        shape: &[usize],
        place: &Place,
        bytes: u32,
    ) -> usize {
        // By bit of a packed index: whether it steps as far in memory as in the index.
        let mut follows = Vec::new();
        for (axis, &bits) in layout.axis_bits().iter().enumerate().rev() {
            let shift = layout.shift(axis);
            let step = match place.axes.get(axis) {
                Some(Steps::Even(step)) => self.b.as_const(*step),
                _ => None,
            };
            let even = step == Some(u64::from(bytes) << shift);
            let padded = !shape[axis].is_power_of_two();
            let is_last = axis + 1 == layout.rank();
            follows.extend(std::iter::repeat_n(even && (is_last || !padded), bits.into()));
            if padded || !even && bits > 0 {
                break;
            }
        }
        let lanes = layout.bases(Dim::Lane).iter().zip(&follows).enumerate();
        lanes.take_while(|(i, (v, follows))| **v == 1 << i && **follows).count()
    }

    /// `Load`.
    pub(super) fn load(
        &mut self,
        access: &Access,
        shape: &[usize],
        other: Option<Value>,
        result: Value,
    ) -> Result<()> {
        let dtype = self.dtype(access.view);
        let elem = memory_elem(dtype);
        let other = match other {
            Some(v) => self.scalar(v)?,
            None => self.b.konst(Ty::scalar(super::elem_of(dtype)), 0),
        };
        if shape.is_empty() {
            let a = self.box_access(access, &vec![1; access.coords.len()])?;
            let ptr = match a.inside {
                Some(inside) => {
                    let spare = self.b.alloca(8);
                    let value = self.memory_form(other, dtype);
                    self.b.store(value, spare, elem.bytes());
                    self.b.select(inside, a.start, spare)
                }
                None => a.start,
            };
            let v = self.load_scalar(ptr, dtype);
            self.set(result, Bound::Scalar(v));
            return Ok(());
        }
        let layout = self.layout(result)?;
        if Self::is_scattered(access) {
            return self.gather_load(access, shape, other, result, &layout);
        }
        let a = self.box_access(access, shape)?;
        let (mut place, _) = self.place(&a, shape, dtype, Some(other));
        let wanted = self.load_layout(&layout, &place, shape, elem.bytes());
        let t = self.load_registers(&mut place, &wanted, shape, elem);
        let t = if dtype == DType::Bool { self.bools(&t) } else { t };
        self.set_tile(result, &t)
    }

    pub(super) fn bools(&mut self, t: &Tile) -> Tile {
        let mut out = t.clone();
        for v in out.regs.iter_mut().flatten() {
            *v = self.b.cmp_imm(CmpOp::Ne, *v, 0);
        }
        out
    }

    /// The layout to load in: the one wanted, unless that takes many small loads where a row-major
    /// load and a conversion take few.
    fn load_layout(
        &self,
        layout: &Rc<Layout>,
        place: &Place,
        shape: &[usize],
        bytes: u32,
    ) -> Rc<Layout> {
        let widest = (self.target.vector_bytes / bytes) as usize;
        let natural = self.natural(shape, widest.max(layout.size(Dim::Lane)));
        let near = self.contiguous_bits(&natural, shape, place, bytes);
        let chunk = self.contiguous_bits(layout, shape, place, bytes);
        let varying = layout.bases(Dim::Lane).iter().skip(chunk).filter(|v| **v != 0).count();
        if varying > 0 && near > chunk + 1 { natural } else { layout.clone() }
    }

    fn load_registers(
        &mut self,
        place: &mut Place,
        layout: &Rc<Layout>,
        shape: &[usize],
        elem: Elem,
    ) -> Tile {
        let bits = self.contiguous_bits(layout, shape, place, elem.bytes());
        let chunk = 1usize << bits;
        let lanes = layout.size(Dim::Lane);
        let mut loaded: BTreeMap<u64, Vec<Lane>> = BTreeMap::new();
        let mut done: BTreeMap<Vec<u64>, Val> = BTreeMap::new();
        let n = layout.size(Dim::Register);
        let mut regs = Vec::with_capacity(n);
        for r in 0..n {
            if !is_live(layout, shape, r) {
                regs.push(None);
                continue;
            }
            let starts: Vec<u64> = (0..lanes / chunk).map(|g| layout.at(r, g * chunk)).collect();
            if let Some(&v) = done.get(&starts) {
                regs.push(Some(v));
                continue;
            }
            let v = match self.repeated(place, layout, shape, elem, &starts, chunk) {
                Some(v) => v,
                None => {
                    let mut list: Vec<Option<Lane>> = Vec::with_capacity(lanes);
                    for &start in &starts {
                        let have = loaded.entry(start).or_insert_with(|| {
                            self.load_chunk(place, layout, shape, elem, start, chunk)
                        });
                        list.extend((0..chunk).map(|i| have.get(i).copied()));
                    }
                    assemble(&mut self.b, elem, &list)
                }
            };
            done.insert(starts, v);
            regs.push(Some(v));
        }
        Tile { layout: layout.clone(), shape: shape.to_vec(), regs }
    }

    /// A register that repeats one chunk of up to 64 bits: a broadcast load.
    fn repeated(
        &mut self,
        place: &mut Place,
        layout: &Layout,
        shape: &[usize],
        elem: Elem,
        starts: &[u64],
        chunk: usize,
    ) -> Option<Val> {
        let first = *starts.first()?;
        let bits = chunk as u32 * elem.bits();
        let whole = inside(layout, shape, first | (chunk as u64 - 1));
        if starts.len() < 2 || starts.iter().any(|s| *s != first) || bits > 64 || !whole {
            return None;
        }
        let ptr = place.address(&mut self.b, layout, first);
        let lanes = (starts.len() * chunk) as u32;
        if chunk == 1 {
            let x = self.b.load(ptr, Ty::scalar(elem), elem.bytes());
            return Some(self.b.splat(x, lanes));
        }
        let x = self.b.load(ptr, Ty::scalar(Elem::int_of(bits)), elem.bytes());
        let v = self.b.splat(x, starts.len() as u32);
        Some(self.b.bitcast(v, Ty::vector(elem, lanes)))
    }

    /// The lanes of one contiguous chunk; fewer where it passes the tile's edge.
    fn load_chunk(
        &mut self,
        place: &mut Place,
        layout: &Layout,
        shape: &[usize],
        elem: Elem,
        start: u64,
        chunk: usize,
    ) -> Vec<Lane> {
        let mut lanes = Vec::new();
        for (at, size) in pieces(layout, shape, start, chunk) {
            let ptr = place.address(&mut self.b, layout, start + at as u64);
            if size == 1 {
                let v = self.b.load(ptr, Ty::scalar(elem), elem.bytes());
                lanes.push((v, 0));
            } else {
                let v = self.b.load(ptr, Ty::vector(elem, size as u32), elem.bytes());
                lanes.extend((0..size as u32).map(|i| (v, i)));
            }
        }
        if lanes.len() > 1 && lanes.iter().any(|(v, _)| self.b.ty(*v).lanes == 0) {
            // One lane beside vectors: as a vector of one, so that all can be shuffled.
            for lane in &mut lanes {
                if self.b.ty(lane.0).lanes == 0 {
                    let one = self.b.splat(lane.0, 1);
                    *lane = (one, 0);
                }
            }
        }
        lanes
    }

    /// `Store`.
    pub(super) fn store(&mut self, access: &Access, value: Value) -> Result<()> {
        let dtype = self.dtype(access.view);
        let elem = memory_elem(dtype);
        if self.f.ty(value).shape().is_empty() {
            let a = self.box_access(access, &vec![1; access.coords.len()])?;
            let ptr = match a.inside {
                Some(inside) => {
                    let spare = self.b.alloca(8);
                    self.b.select(inside, a.start, spare)
                }
                None => a.start,
            };
            let v = self.scalar(value)?;
            let v = self.memory_form(v, dtype);
            self.b.store(v, ptr, elem.bytes());
            return Ok(());
        }
        let t = self.tile(value)?;
        let shape = t.shape.clone();
        if Self::is_scattered(access) {
            return self.scatter_store(access, &t, dtype);
        }
        let a = self.box_access(access, &shape)?;
        let (mut place, buffer) = self.place(&a, &shape, dtype, None);
        let mut t = t;
        if dtype == DType::Bool {
            for v in t.regs.iter_mut().flatten() {
                *v = self.b.cast(CastOp::ZExt, *v, Elem::I8);
            }
        }
        let natural = self.natural(&shape, t.layout.size(Dim::Lane));
        let near = self.contiguous_bits(&natural, &shape, &place, elem.bytes());
        let have = self.contiguous_bits(&t.layout, &shape, &place, elem.bytes());
        if near > have {
            t = convert(&mut self.b, &t, &natural, elem);
        }
        self.store_registers(&mut place, &t, elem);
        if let (Some(buffer), Some(inside)) = (buffer, a.inside) {
            let (rare, join) = (self.b.block(), self.b.block());
            let bad = self.b.not(inside);
            self.b.rare_br(bad, rare, join);
            self.b.switch_to(rare);
            self.copy_inside(&a, buffer, &shape, elem.bytes(), false);
            self.b.br(join);
            self.b.switch_to(join);
        }
        Ok(())
    }

    fn store_registers(&mut self, place: &mut Place, t: &Tile, elem: Elem) {
        let layout = t.layout.clone();
        let chunk = 1usize << self.contiguous_bits(&layout, &t.shape, place, elem.bytes());
        let lanes = layout.size(Dim::Lane);
        let mut done = std::collections::BTreeSet::new();
        for (r, reg) in t.regs.iter().enumerate() {
            let Some(v) = *reg else { continue };
            for g in 0..lanes / chunk {
                let start = layout.at(r, g * chunk);
                if !inside(&layout, &t.shape, start) || !done.insert(start) {
                    continue;
                }
                for (at, size) in pieces(&layout, &t.shape, start, chunk) {
                    let ptr = place.address(&mut self.b, &layout, start + at as u64);
                    let first = (g * chunk + at) as u32;
                    let part = if size == 1 {
                        self.b.extract(v, first)
                    } else {
                        let mask = (first..first + size as u32).collect();
                        self.b.shuffle(v, v, mask)
                    };
                    self.b.store(part, ptr, elem.bytes());
                }
            }
        }
    }
}

/// Power-of-two pieces of a chunk up to the tile's edge: (first element, count).
fn pieces(layout: &Layout, shape: &[usize], start: u64, chunk: usize) -> Vec<(usize, usize)> {
    if !inside(layout, shape, start) {
        return Vec::new();
    }
    let Some(last) = shape.len().checked_sub(1) else { return Vec::new() };
    if chunk > 1 << layout.axis_bits()[last] {
        // Runs over several axes are only found where no extent is padded.
        return vec![(0, chunk)];
    }
    let at = (start & layout.axis_mask(last)) as usize;
    let mut left = chunk.min(shape[last] - at);
    let (mut out, mut from) = (Vec::new(), 0);
    while left > 0 {
        let size = 1usize << left.ilog2();
        out.push((from, size));
        from += size;
        left -= size;
    }
    out
}
