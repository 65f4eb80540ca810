//! Moving elements between registers: one function serves every shape operation and layout change.
//!
//! The result's layout says which element stands in each lane; each lane names the source register
//! and lane that has it. Where a register of the source already is the register wanted, nothing is
//! emitted, so a reshape, transpose or slice whose result takes the renamed layout is free.

use super::Tile;
use crate::lir::{BinOp, Builder, CastOp, Elem, Ty, Val};
use std::collections::BTreeMap;
use std::rc::Rc;
use tilewright_ir::{Dim, Layout};

/// A lane of a register.
pub(super) type Lane = (Val, u32);

/// Where the elements of a tile live.
pub(super) struct Places<'a> {
    tile: &'a Tile,
    /// By packed index, the first register and lane that hold it.
    first: BTreeMap<u64, (usize, Lane)>,
}

impl Places<'_> {
    /// A lane that holds an element: the one asked for if it does, so that a register that is
    /// already right is taken as it is.
    pub(super) fn find(&self, index: u64, lane: u32) -> Option<Lane> {
        let &(r, (v, first)) = self.first.get(&index)?;
        let layout = &self.tile.layout;
        let same = (lane as usize) < layout.size(Dim::Lane) && layout.at(r, lane as usize) == index;
        Some((v, if same { lane } else { first }))
    }
}

/// See [`Places`].
pub(super) fn places(tile: &Tile) -> Places<'_> {
    let mut first = BTreeMap::new();
    for (r, reg) in tile.regs.iter().enumerate() {
        let Some(v) = reg else { continue };
        for lane in 0..tile.layout.size(Dim::Lane) {
            first.entry(tile.layout.at(r, lane)).or_insert((r, (*v, lane as u32)));
        }
    }
    Places { tile, first }
}

/// Whether register `r` of a tile of this shape holds anything.
pub(super) fn is_live(layout: &Layout, shape: &[usize], r: usize) -> bool {
    inside(layout, shape, layout.part(Dim::Register, r))
}

/// Whether a packed index lies in the shape.
pub(super) fn inside(layout: &Layout, shape: &[usize], index: u64) -> bool {
    (0..shape.len()).all(|a| {
        let c = (index & layout.axis_mask(a)) >> layout.shift(a);
        (c as usize) < shape[a]
    })
}

/// A register with the given lanes; `None` may hold anything.
pub(super) fn assemble(b: &mut Builder, elem: Elem, lanes: &[Option<Lane>]) -> Val {
    let n = lanes.len() as u32;
    let mut sources: Vec<Val> = Vec::new();
    for (v, _) in lanes.iter().flatten() {
        if !sources.contains(v) {
            sources.push(*v);
        }
    }
    if sources.is_empty() {
        return b.konst(Ty::vector(elem, n), 0);
    }
    // A scalar source stands for a vector of one lane.
    if sources.iter().any(|&v| b.ty(v).lanes == 0) {
        return insert_all(b, elem, lanes);
    }
    let mut parts: Vec<(Val, Vec<Option<u32>>)> = sources
        .iter()
        .map(|&s| {
            let at = |l: &Option<Lane>| l.and_then(|(v, i)| (v == s).then_some(i));
            (s, lanes.iter().map(at).collect())
        })
        .collect();
    // Each round joins neighbours, so the depth is logarithmic.
    while parts.len() > 1 {
        let mut next = Vec::new();
        for pair in parts.chunks(2) {
            next.push(match pair {
                [(x, px), (y, py)] => join(b, (*x, px), (*y, py), n),
                [one] => one.clone(),
                _ => continue,
            });
        }
        parts = next;
    }
    let Some((v, at)) = parts.pop() else { return b.konst(Ty::vector(elem, n), 0) };
    if let Some(v) = every_nth(b, v, &at) {
        return v;
    }
    let own = b.ty(v).lanes;
    let mask: Vec<u32> =
        at.iter().enumerate().map(|(i, m)| m.unwrap_or((i as u32).min(own - 1))).collect();
    b.shuffle(v, v, mask)
}

/// Lanes `i`, `i + s`, `i + 2 s` … of a vector of integers whose `s` lanes fit a word: a shift and a
/// truncation of words, which an extension of the result folds into a mask.
fn every_nth(b: &mut Builder, v: Val, at: &[Option<u32>]) -> Option<Val> {
    let ty = b.ty(v);
    let n = at.len() as u32;
    let stride = ty.lanes / n.max(1);
    let bits = ty.elem.bits() * stride;
    let integer = matches!(ty.elem, Elem::I8 | Elem::I16 | Elem::I32);
    if !integer || stride < 2 || n < 2 || stride * n != ty.lanes || bits > 64 {
        return None;
    }
    let first = at.first().copied().flatten()?;
    let regular = |(i, l): (usize, &Option<u32>)| l.is_none_or(|l| l == first + i as u32 * stride);
    if first >= stride || !at.iter().enumerate().all(regular) {
        return None;
    }
    let words = b.bitcast(v, Ty::vector(Elem::int_of(bits), n));
    let down = b.bin_imm(BinOp::LShr, words, u64::from(first * ty.elem.bits()));
    Some(b.cast(CastOp::Trunc, down, ty.elem))
}

/// Joins two partial registers of possibly different lengths into one of `n` lanes.
fn join(
    b: &mut Builder,
    (x, px): (Val, &[Option<u32>]),
    (y, py): (Val, &[Option<u32>]),
    n: u32,
) -> (Val, Vec<Option<u32>>) {
    let widest = b.ty(x).lanes.max(b.ty(y).lanes);
    let (x, y) = (widen(b, x, widest), widen(b, y, widest));
    let mask: Vec<u32> = (0..n as usize)
        .map(|i| match (px[i], py[i]) {
            (Some(l), _) => l,
            (None, Some(l)) => l + widest,
            (None, None) => (i as u32).min(widest - 1),
        })
        .collect();
    let v = b.shuffle(x, y, mask);
    let at = (0..n as usize).map(|i| (px[i].or(py[i])).map(|_| i as u32)).collect();
    (v, at)
}

fn widen(b: &mut Builder, v: Val, lanes: u32) -> Val {
    let own = b.ty(v).lanes;
    let mask = (0..lanes).map(|i| i.min(own - 1)).collect();
    b.shuffle(v, v, mask)
}

fn insert_all(b: &mut Builder, elem: Elem, lanes: &[Option<Lane>]) -> Val {
    let n = lanes.len() as u32;
    let scalar = |b: &mut Builder, (v, i): Lane| {
        if b.ty(v).lanes == 0 { v } else { b.extract(v, i) }
    };
    let first = lanes.iter().flatten().next().copied();
    if let Some(f) = first
        && lanes.iter().flatten().all(|l| *l == f)
    {
        let s = scalar(b, f);
        return b.splat(s, n);
    }
    let mut out = b.konst(Ty::vector(elem, n), 0);
    for (i, lane) in lanes.iter().enumerate() {
        if let Some(l) = lane {
            let s = scalar(b, *l);
            out = b.insert(out, s, i as u32);
        }
    }
    out
}

/// The tile of `shape` in `layout` whose element at a packed index, wanted in a lane, is
/// `source(index, lane)`.
pub(super) fn gather(
    b: &mut Builder,
    layout: &Rc<Layout>,
    shape: &[usize],
    elem: Elem,
    source: &dyn Fn(u64, u32) -> Option<Lane>,
) -> Tile {
    let lanes = layout.size(Dim::Lane);
    let mut done: BTreeMap<Vec<Option<Lane>>, Val> = BTreeMap::new();
    let regs = (0..layout.size(Dim::Register))
        .map(|r| {
            if !is_live(layout, shape, r) {
                return None;
            }
            let list: Vec<Option<Lane>> = (0..lanes)
                .map(|l| {
                    let index = layout.at(r, l);
                    inside(layout, shape, index).then(|| source(index, l as u32)).flatten()
                })
                .collect();
            if let Some(v) = done.get(&list) {
                return Some(*v);
            }
            let v = assemble(b, elem, &list);
            done.insert(list, v);
            Some(v)
        })
        .collect();
    Tile { layout: layout.clone(), shape: shape.to_vec(), regs }
}

/// The same tile in another layout.
pub(super) fn convert(b: &mut Builder, t: &Tile, layout: &Rc<Layout>, elem: Elem) -> Tile {
    if t.layout == *layout {
        return t.clone();
    }
    if let Some(t) = exchange(b, t, layout, elem) {
        return t;
    }
    let map = places(t);
    gather(b, layout, &t.shape, elem, &|index, lane| map.find(index, lane))
}

/// Brings lane bits to where the target has them by exchanging one lane bit with one register bit
/// at a time: two shuffles of two registers for each pair of registers, as a transposition does.
fn exchange(b: &mut Builder, t: &Tile, layout: &Rc<Layout>, elem: Elem) -> Option<Tile> {
    let wanted = layout.bases(Dim::Lane).to_vec();
    let mut lane = t.layout.bases(Dim::Lane).to_vec();
    let mut register = t.layout.bases(Dim::Register).to_vec();
    let distinct = |l: &[u64]| l.iter().enumerate().all(|(i, v)| *v != 0 && !l[..i].contains(v));
    if wanted.len() != lane.len() || !distinct(&wanted) || !distinct(&lane) || !distinct(&register)
    {
        return None;
    }
    let missing: Vec<u64> = wanted.iter().copied().filter(|w| !lane.contains(w)).collect();
    if missing.is_empty() || missing.iter().any(|m| !register.contains(m)) {
        return None;
    }
    let mut tile = t.clone();
    for m in missing {
        let at = wanted.iter().position(|&w| w == m)?;
        let free = |p: &usize| !wanted.contains(&lane[*p]);
        let p = Some(at).filter(free).or_else(|| (0..lane.len()).find(free))?;
        let r = register.iter().position(|&v| v == m)?;
        std::mem::swap(&mut lane[p], &mut register[r]);
        let next = Rc::new(Layout::from_bases(&t.shape, register.clone(), lane.clone()));
        let map = places(&tile);
        tile = gather(b, &next, &t.shape, elem, &|index, lane| map.find(index, lane));
    }
    let map = places(&tile);
    Some(gather(b, layout, &t.shape, elem, &|index, lane| map.find(index, lane)))
}

/// The scalar at a packed index.
pub(super) fn element(b: &mut Builder, t: &Tile, index: u64) -> Option<Val> {
    for (r, reg) in t.regs.iter().enumerate() {
        let Some(v) = reg else { continue };
        for lane in 0..t.layout.size(Dim::Lane) {
            if t.layout.at(r, lane) == index {
                return Some(b.extract(*v, lane as u32));
            }
        }
    }
    None
}
