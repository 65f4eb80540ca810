//! Layouts: how a tile is spread over registers, lanes, warps and blocks.
//!
//! A layout is a linear map over GF(2). Its input is the concatenation of the bits of four numbers
//! (register, lane, warp, block), its output the concatenation of the bits of a tile index, one
//! number an axis. "Linear" means that the index of `a ^ b` is the index of `a` xor the index of
//! `b`, so the map is known by its value at each single input bit: its *bases*. Addition is xor,
//! a basis of zero says that this input bit does not matter (the tile is repeated: a broadcast), a
//! basis with two output bits set is a swizzle.
//!
//! What can be asked of a tile's placement is linear algebra on small bit matrices:
//! - where an element lives: [`Layout::invert`] or, where several places hold it,
//!   [`Layout::pseudo_inverse`];
//! - how to move from one placement to another: [`Layout::conversion`], the map from places of
//!   the new to places of the old; where it is the identity nothing has to move;
//! - transposing, reshaping, slicing, joining and splitting axes only rename output bits, so they
//!   cost nothing when the result takes the renamed layout.
//!
//! Extents that are not powers of two are padded up; indices past the extent are places that hold
//! nothing.
//!
//! Bases are packed: an index of all axes is one `u64`, the last axis in the lowest bits. For a
//! power-of-two tile this is the row-major element number.

use std::fmt;

/// The four input numbers of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dim {
    /// Register of a lane; on a CPU, vector register.
    Register,
    /// Lane of a warp; on a CPU, lane of a vector.
    Lane,
    /// Warp of a block.
    Warp,
    /// Block of a cluster.
    Block,
}

impl Dim {
    /// All four, in input order.
    pub const ALL: [Dim; 4] = [Dim::Register, Dim::Lane, Dim::Warp, Dim::Block];

    /// Name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Dim::Register => "register",
            Dim::Lane => "lane",
            Dim::Warp => "warp",
            Dim::Block => "block",
        }
    }
}

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Layout {
    bases: [Vec<u64>; 4],
    /// Bits of each axis, first axis first.
    axes: Vec<u8>,
}

/// Bits needed to count to `extent`.
pub fn bits_for(extent: usize) -> u8 {
    extent.max(1).next_power_of_two().trailing_zeros() as u8
}

impl Layout {
    /// The layout with no inputs on a tile of this shape, padded to powers of two.
    pub fn empty(shape: &[usize]) -> Layout {
        Layout { bases: Default::default(), axes: shape.iter().map(|&n| bits_for(n)).collect() }
    }

    /// From packed bases.
    pub fn from_bases(shape: &[usize], register: Vec<u64>, lane: Vec<u64>) -> Layout {
        let mut l = Layout::empty(shape);
        l.bases[0] = register;
        l.bases[1] = lane;
        l
    }

    /// The tile's elements in row-major order over `order`, a list of input dims with the number of
    /// bits each takes from the lowest up; the registers take what is left.
    pub fn row_major(shape: &[usize], order: &[(Dim, u8)]) -> Layout {
        let mut l = Layout::empty(shape);
        let total = l.out_bits();
        let mut next = 0;
        for &(dim, n) in order {
            for _ in 0..n {
                l.bases[dim as usize].push(if next < total { 1 << next } else { 0 });
                next += 1;
            }
        }
        while next < total {
            l.bases[0].push(1 << next);
            next += 1;
        }
        l
    }

    /// Each (register, lane, warp) block in turn, axis by axis: `sizes[d][axis]` bits for the dims
    /// register, lane and warp, the axes taken in `order` (fastest first); what the tile has beyond
    /// goes to further registers, and where a block is larger than the tile its bits are broadcast.
    pub fn blocked(shape: &[usize], sizes: [&[u8]; 3], order: &[usize]) -> Layout {
        let mut l = Layout::empty(shape);
        let mut used = vec![0u8; l.axes.len()];
        for (d, size) in sizes.iter().enumerate() {
            for &axis in order {
                for _ in 0..size.get(axis).copied().unwrap_or(0) {
                    let basis = l.next_bit(axis, &mut used);
                    l.bases[d].push(basis);
                }
            }
        }
        for &axis in order {
            while used.get(axis).is_some_and(|&u| u < l.axes[axis]) {
                let basis = l.next_bit(axis, &mut used);
                l.bases[0].push(basis);
            }
        }
        l
    }

    fn next_bit(&self, axis: usize, used: &mut [u8]) -> u64 {
        let bit = used[axis];
        used[axis] += 1;
        if bit < self.axes[axis] { 1 << (self.shift(axis) + u32::from(bit)) } else { 0 }
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.axes.len()
    }

    /// Bits of each axis.
    pub fn axis_bits(&self) -> &[u8] {
        &self.axes
    }

    /// Bits of a whole index.
    pub fn out_bits(&self) -> u32 {
        self.axes.iter().map(|&b| u32::from(b)).sum()
    }

    /// Bits of a whole input.
    pub fn in_bits(&self) -> u32 {
        self.bases.iter().map(|b| b.len() as u32).sum()
    }

    /// Position of an axis' lowest bit in a packed index.
    pub fn shift(&self, axis: usize) -> u32 {
        self.axes.iter().skip(axis + 1).map(|&b| u32::from(b)).sum()
    }

    /// The packed index whose coordinate on `axis` has all bits set.
    pub fn axis_mask(&self, axis: usize) -> u64 {
        let bits = self.axes.get(axis).copied().unwrap_or(0);
        ((1u64 << bits) - 1) << self.shift(axis)
    }

    /// The bases of one input dim, lowest bit first.
    pub fn bases(&self, dim: Dim) -> &[u64] {
        &self.bases[dim as usize]
    }

    /// Number of values of an input dim.
    pub fn size(&self, dim: Dim) -> usize {
        1 << self.bases[dim as usize].len()
    }

    /// Packed index of one input number of `dim`, the others zero.
    pub fn part(&self, dim: Dim, value: usize) -> u64 {
        let bases = self.bases(dim).iter().enumerate();
        bases.filter(|(i, _)| value >> i & 1 == 1).fold(0, |acc, (_, b)| acc ^ b)
    }

    /// Packed index held by (register, lane).
    pub fn at(&self, register: usize, lane: usize) -> u64 {
        self.part(Dim::Register, register) ^ self.part(Dim::Lane, lane)
    }

    /// Packed index held by (register, lane, warp, block).
    pub fn apply(&self, inputs: [usize; 4]) -> u64 {
        Dim::ALL.iter().fold(0, |acc, &d| acc ^ self.part(d, inputs[d as usize]))
    }

    /// Coordinates of a packed index.
    pub fn unpack(&self, index: u64) -> Vec<usize> {
        (0..self.rank()).map(|a| ((index & self.axis_mask(a)) >> self.shift(a)) as usize).collect()
    }

    /// Packed index of coordinates.
    pub fn pack(&self, coords: &[usize]) -> u64 {
        coords.iter().enumerate().fold(0, |acc, (a, &c)| acc | (c as u64) << self.shift(a))
    }

    /// All bases as the columns of one matrix, input bits in order.
    fn columns(&self) -> Vec<u64> {
        self.bases.concat()
    }

    /// Whether every basis is zero or one output bit and no output bit is held twice.
    pub fn is_permutation(&self) -> bool {
        let mut seen = 0;
        self.columns().iter().all(|&b| {
            let fresh = b.count_ones() <= 1 && b & seen == 0;
            seen |= b;
            fresh
        })
    }

    /// Whether every index is held somewhere.
    pub fn is_surjective(&self) -> bool {
        rank(&self.columns()) == self.out_bits()
    }

    /// Whether no index is held twice.
    pub fn is_injective(&self) -> bool {
        rank(&self.columns()) == self.in_bits()
    }

    /// For each output bit the packed input that yields it. `None` unless the map is one-to-one.
    pub fn invert(&self) -> Option<Vec<u64>> {
        if self.is_injective() { self.pseudo_inverse() } else { None }
    }

    /// For each output bit one packed input that yields it: the one that uses the fewest and lowest
    /// input bits that elimination finds; broadcast inputs are left zero. `None` if some index is
    /// held nowhere.
    pub fn pseudo_inverse(&self) -> Option<Vec<u64>> {
        let mut rows: Vec<(u64, u64)> = Vec::new();
        for (i, &column) in self.columns().iter().enumerate() {
            let (mut value, mut from) = (column, 1u64 << i);
            for &(v, f) in &rows {
                if value & lowest(v) != 0 {
                    value ^= v;
                    from ^= f;
                }
            }
            if value != 0 {
                for (v, f) in &mut rows {
                    if *v & lowest(value) != 0 {
                        *v ^= value;
                        *f ^= from;
                    }
                }
                rows.push((value, from));
            }
        }
        (0..self.out_bits())
            .map(|bit| rows.iter().find(|(v, _)| *v == 1 << bit).map(|&(_, f)| f))
            .collect()
    }

    /// For each packed input bit of `self`, the packed input of `source` that holds the same
    /// element. `None` if `source` lacks one or the tiles differ.
    pub fn conversion(&self, source: &Layout) -> Option<Vec<u64>> {
        if self.axes != source.axes {
            return None;
        }
        let inverse = source.pseudo_inverse()?;
        Some(self.columns().iter().map(|&b| multiply(&inverse, b)).collect())
    }

    /// `outer` after `self`: `outer` maps this layout's packed indices, given by its value at each
    /// output bit, to packed indices of a tile of `shape`.
    pub fn compose(&self, outer: &[u64], shape: &[usize]) -> Layout {
        let map = |b: &Vec<u64>| b.iter().map(|&v| multiply(outer, v)).collect();
        Layout { bases: [0, 1, 2, 3].map(|d| map(&self.bases[d])), ..Layout::empty(shape) }
    }

    /// The layout of the tile whose axis `i` is this one's axis `perm[i]`.
    pub fn transpose(&self, perm: &[usize]) -> Layout {
        let axes = perm.iter().map(|&p| self.axes.get(p).copied().unwrap_or(0)).collect();
        let mut out = Layout { axes, ..Layout::default() };
        let mut map = vec![0; self.out_bits() as usize];
        for (to, &from) in perm.iter().enumerate() {
            for bit in 0..self.axes.get(from).copied().unwrap_or(0) {
                let source = self.shift(from) + u32::from(bit);
                map[source as usize] = 1 << (out.shift(to) + u32::from(bit));
            }
        }
        out.bases =
            [0, 1, 2, 3].map(|d: usize| self.bases[d].iter().map(|&v| multiply(&map, v)).collect());
        out
    }

    /// The layout of the same elements in row-major order under another shape, both given in
    /// elements. `None` where that is not a renaming of bits, because a padded extent would move.
    pub fn reshape(&self, from: &[usize], to: &[usize]) -> Option<Layout> {
        let map = reshape_map(from, to)?;
        Some(self.compose(&map, to))
    }

    /// The layout of a tile with `axis` removed: its bits become broadcast.
    pub fn without_axis(&self, axis: usize) -> Layout {
        let (mask, shift) = (self.axis_mask(axis), self.shift(axis));
        let bits = u32::from(self.axes.get(axis).copied().unwrap_or(0));
        let below = (1u64 << shift) - 1;
        let cut = |v: u64| (v & below) | ((v & !mask & !below) >> bits);
        let mut out = self.clone();
        if axis < out.axes.len() {
            out.axes.remove(axis);
        }
        for bases in &mut out.bases {
            bases.iter_mut().for_each(|v| *v = cut(*v));
        }
        out
    }

    /// The layout of a tile with an axis of extent 1 at `axis`.
    pub fn with_unit_axis(&self, axis: usize) -> Layout {
        let mut out = self.clone();
        out.axes.insert(axis.min(self.axes.len()), 0);
        out
    }

    /// The layout of the tile whose axes have these extents of 1 or the same: bits of an axis that
    /// shrinks to extent 1 become broadcast. It is the layout in which an operand of a broadcast
    /// already has the result's layout.
    pub fn shrink_axes(&self, shape: &[usize]) -> Layout {
        let mut map = vec![0; self.out_bits() as usize];
        let out = Layout::empty(shape);
        for axis in 0..self.rank() {
            let kept = out.axes.get(axis).copied().unwrap_or(0).min(self.axes[axis]);
            for bit in 0..kept {
                let from = self.shift(axis) + u32::from(bit);
                map[from as usize] = 1 << (out.shift(axis) + u32::from(bit));
            }
        }
        self.compose(&map, shape)
    }

    /// Drops register bits whose basis is zero: registers that would repeat others.
    pub fn without_repeated_registers(mut self) -> Layout {
        self.bases[0].retain(|&b| b != 0);
        self
    }

    /// Register bits sorted, so that register numbers follow row-major order.
    pub fn with_sorted_registers(mut self) -> Layout {
        self.bases[0].sort_unstable();
        self
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("#layout<")?;
        let mut first = true;
        for dim in Dim::ALL {
            if self.bases(dim).is_empty() {
                continue;
            }
            write!(f, "{}{} [", if first { "" } else { ", " }, dim.name())?;
            first = false;
            for (i, &b) in self.bases(dim).iter().enumerate() {
                let coords: Vec<String> = self.unpack(b).iter().map(usize::to_string).collect();
                write!(f, "{}({})", if i == 0 { "" } else { " " }, coords.join(","))?;
            }
            f.write_str("]")?;
        }
        f.write_str(">")
    }
}

fn lowest(v: u64) -> u64 {
    v & v.wrapping_neg()
}

/// The matrix with these columns times a vector.
fn multiply(columns: &[u64], vector: u64) -> u64 {
    columns.iter().enumerate().filter(|(i, _)| vector >> i & 1 == 1).fold(0, |a, (_, c)| a ^ c)
}

fn rank(columns: &[u64]) -> u32 {
    let mut rows: Vec<u64> = Vec::new();
    for &column in columns {
        let reduced = rows.iter().fold(column, |v, &r| if v & lowest(r) != 0 { v ^ r } else { v });
        if reduced != 0 {
            for r in &mut rows {
                if *r & lowest(reduced) != 0 {
                    *r ^= reduced;
                }
            }
            rows.push(reduced);
        }
    }
    rows.len() as u32
}

/// For each bit of a packed index under `from`, the packed index under `to` of the same row-major
/// element. The axes are cut into the smallest groups of equal product; within a group every axis
/// but the outermost longer than 1 has to be a power of two on both sides, or the axes are equal.
fn reshape_map(from: &[usize], to: &[usize]) -> Option<Vec<u64>> {
    let (source, target) = (Layout::empty(from), Layout::empty(to));
    let mut map = vec![0u64; source.out_bits() as usize];
    let (mut i, mut j) = (from.len(), to.len());
    while i > 0 || j > 0 {
        let (end_i, end_j) = (i, j);
        let (mut p, mut q) = (1usize, 1usize);
        loop {
            if p <= q && i > 0 && (p < q || end_i == i) {
                i -= 1;
                p = p.checked_mul(from[i])?;
            } else if j > 0 && (q < p || end_j == j) {
                j -= 1;
                q = q.checked_mul(to[j])?;
            } else {
                break;
            }
        }
        if p != q {
            return None;
        }
        let (a, b) = (bit_places(&source, from, i..end_i)?, bit_places(&target, to, j..end_j)?);
        if a.len() != b.len() {
            return None;
        }
        for (s, t) in a.into_iter().zip(b) {
            map[s as usize] = 1 << t;
        }
    }
    Some(map)
}

/// Packed positions of the bits of the row-major number over a range of axes, lowest first.
fn bit_places(l: &Layout, shape: &[usize], axes: std::ops::Range<usize>) -> Option<Vec<u32>> {
    let outermost = axes.clone().find(|&a| shape[a] != 1);
    let mut places = Vec::new();
    for axis in axes.rev() {
        if !shape[axis].is_power_of_two() && Some(axis) != outermost {
            return None;
        }
        places.extend((0..u32::from(l.axes[axis])).map(|b| l.shift(axis) + b));
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small deterministic sequence.
    fn random(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *seed >> 33
    }

    /// Layouts of a tile: bits dealt to the dims at random, some mixed, some repeated.
    fn layouts(shape: &[usize], count: usize) -> Vec<Layout> {
        let mut seed = shape.iter().fold(7, |s, &n| s * 31 + n as u64);
        (0..count)
            .map(|n| {
                let mut l = Layout::empty(shape);
                for bit in 0..l.out_bits() {
                    let d = random(&mut seed) as usize % 4;
                    let mix = if n % 2 == 0 { 0 } else { random(&mut seed) & ((1 << bit) - 1) };
                    let at = random(&mut seed) as usize % (l.bases[d].len() + 1);
                    l.bases[d].insert(at, 1 << bit | mix);
                }
                if n % 3 == 0 {
                    l.bases[random(&mut seed) as usize % 4].push(0);
                }
                l
            })
            .collect()
    }

    fn inputs(l: &Layout) -> Vec<[usize; 4]> {
        let mut out = vec![[0; 4]];
        for d in Dim::ALL {
            let all = 0..l.size(d);
            out = out
                .iter()
                .flat_map(|i| {
                    all.clone()
                        .map(|v| {
                            let mut i = *i;
                            i[d as usize] = v;
                            i
                        })
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        out
    }

    fn unpack_input(l: &Layout, packed: u64) -> [usize; 4] {
        let mut shift = 0;
        Dim::ALL.map(|d| {
            let v = (packed >> shift) as usize & (l.size(d) - 1);
            shift += l.bases(d).len();
            v
        })
    }

    const SHAPES: &[&[usize]] = &[&[16], &[4, 8], &[2, 1, 8], &[2, 4, 2, 2], &[64]];

    #[test]
    fn application_is_linear() {
        for l in SHAPES.iter().flat_map(|s| layouts(s, 8)) {
            for a in inputs(&l) {
                for b in inputs(&l) {
                    let c = [0, 1, 2, 3].map(|d: usize| a[d] ^ b[d]);
                    assert_eq!(l.apply(a) ^ l.apply(b), l.apply(c));
                }
            }
        }
    }

    #[test]
    fn inverses_lead_back_to_every_element() {
        for l in SHAPES.iter().flat_map(|s| layouts(s, 12)) {
            let inverse = l.pseudo_inverse().expect("surjective by construction");
            assert_eq!(l.invert().is_some(), l.is_injective());
            for index in 0..1u64 << l.out_bits() {
                let place = unpack_input(&l, multiply(&inverse, index));
                assert_eq!(l.apply(place), index);
            }
        }
        let lossy = Layout::from_bases(&[4], vec![1], vec![1]);
        assert!(lossy.pseudo_inverse().is_none() && !lossy.is_surjective());
    }

    #[test]
    fn conversions_find_the_same_element() {
        for shape in SHAPES {
            let all = layouts(shape, 6);
            for to in &all {
                for from in &all {
                    let map = to.conversion(from).expect("both are surjective");
                    for place in inputs(to) {
                        let (mut packed, mut shift) = (0u64, 0);
                        for d in Dim::ALL {
                            packed |= (place[d as usize] as u64) << shift;
                            shift += to.bases(d).len();
                        }
                        let source = unpack_input(from, multiply(&map, packed));
                        assert_eq!(to.apply(place), from.apply(source));
                    }
                }
            }
        }
    }

    #[test]
    fn shape_ops_rename_coordinates() {
        for l in layouts(&[2, 4, 8], 10) {
            let t = l.transpose(&[2, 0, 1]);
            let r = l.reshape(&[2, 4, 8], &[8, 2, 4]).expect("powers of two");
            let w = l.without_axis(1);
            for i in inputs(&l) {
                let c = l.unpack(l.apply(i));
                assert_eq!(t.unpack(t.apply(i)), [c[2], c[0], c[1]]);
                let flat = (c[0] * 4 + c[1]) * 8 + c[2];
                assert_eq!(r.unpack(r.apply(i)), [flat / 8, flat / 4 % 2, flat % 4]);
                assert_eq!(w.unpack(w.apply(i)), [c[0], c[2]]);
            }
            assert_eq!(l.transpose(&[2, 0, 1]).transpose(&[1, 2, 0]), l);
        }
    }

    #[test]
    fn reshapes_of_padded_tiles_are_exact_or_refused() {
        let shapes: &[&[usize]] = &[
            &[6, 16],
            &[96],
            &[3, 2, 16],
            &[6, 4, 4],
            &[12, 8],
            &[2, 3, 16],
            &[6, 1, 16],
            &[48, 2],
            &[1, 96],
            &[3, 32],
            &[24, 2, 2],
            &[96, 1],
        ];
        let mut renamed = 0;
        for from in shapes {
            for to in shapes {
                let l = Layout::row_major(from, &[(Dim::Lane, 2)]);
                let Some(r) = l.reshape(from, to) else { continue };
                renamed += 1;
                for i in inputs(&l) {
                    let c = l.unpack(l.apply(i));
                    if c.iter().zip(*from).any(|(c, n)| c >= n) {
                        continue;
                    }
                    let flat = c.iter().zip(*from).fold(0, |f, (c, n)| f * n + c);
                    let d = r.unpack(r.apply(i));
                    assert_eq!(flat, d.iter().zip(*to).fold(0, |f, (c, n)| f * n + c));
                }
            }
        }
        assert!(renamed > 40, "{renamed}");
        let l = Layout::row_major(&[6, 5], &[]);
        assert!(l.reshape(&[6, 5], &[30]).is_none());
        assert!(l.reshape(&[6, 5], &[3, 2, 5]).is_some());
    }

    #[test]
    fn blocked_layouts_deal_bits_in_order_and_repeat_small_tiles() {
        let l = Layout::blocked(&[4, 8], [&[0, 1], &[1, 2], &[1, 0]], &[1, 0]);
        assert_eq!(l.bases(Dim::Register), [1]);
        assert_eq!(l.bases(Dim::Lane), [2, 4, 8]);
        assert_eq!(l.bases(Dim::Warp), [16]);
        assert!(l.is_permutation() && l.is_injective() && l.is_surjective());
        let l = Layout::blocked(&[2, 2], [&[0, 0], &[0, 2], &[0, 1]], &[1, 0]);
        assert_eq!((l.bases(Dim::Lane), l.bases(Dim::Warp)), (&[1, 0][..], &[0][..]));
        assert_eq!(l.to_string(), "#layout<register [(1,0)], lane [(0,1) (0,0)], warp [(0,0)]>");
    }

    #[test]
    fn a_broadcast_operand_has_its_results_layout_with_the_axis_repeated() {
        let l = Layout::row_major(&[4, 8], &[(Dim::Lane, 3)]);
        let s = l.shrink_axes(&[1, 8]);
        assert_eq!((s.bases(Dim::Lane), s.bases(Dim::Register)), (&[1, 2, 4][..], &[0, 0][..]));
        assert!(s.without_repeated_registers().bases(Dim::Register).is_empty());
        let s = l.shrink_axes(&[4, 1]);
        assert_eq!((s.bases(Dim::Lane), s.bases(Dim::Register)), (&[0, 0, 0][..], &[1, 2][..]));
    }
}
