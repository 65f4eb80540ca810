//! Matrix products, unrolled over registers as their plan says.
//!
//! Two kinds. *Outer*: the accumulator's lanes run along one axis (N, or M); the operand with that
//! axis, the *wide* one, is read a vector at a time, the other, the *narrow* one, is repeated in
//! all lanes. *Dot*: both operands run along K in their lanes, and lanes are added up at the end.
//!
//! In both, the `k_group` lowest lane bits of the operands are neighbouring K elements that one
//! instruction adds together. The order is K outermost, so that each loaded register is used up
//! before the next is needed; a border after each step keeps LLVM's scheduler from undoing that.

use super::convert::{gather, places};
use super::elementwise::elem_of;
use super::{Cx, Result, Tile, cast};
use crate::lir::{BinOp, Builder, Elem, Ty, Val};
use crate::passes::select_mma::{MmaKind, MmaPlan};
use crate::target::MmaForm;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use tilewright_abi::{DType, Kind};
use tilewright_ir::{Dim, Layout, Rounding, Value};

/// Registers by the packed index of their lane 0.
fn by_index(t: &Tile) -> BTreeMap<u64, Val> {
    let regs = t.regs.iter().enumerate();
    regs.filter_map(|(r, v)| v.map(|v| (t.layout.part(Dim::Register, r), v))).collect()
}

/// What the two operands of an instruction are, and how it is made.
#[derive(Clone, Copy)]
struct Step {
    form: MmaForm,
    /// Wide and narrow operand.
    wide: DType,
    narrow: DType,
    acc: DType,
    /// For [`MmaForm::Maddubs`]: how many products of pairs fit an i16, 0 if not even one surely.
    partial: u32,
}

/// An operand prepared once and used many times.
type Prepared = Vec<Val>;

impl Step {
    /// Whether the first operand of an unsigned × signed instruction is the wide one.
    fn wide_is_unsigned(self) -> bool {
        self.wide.kind() == Kind::Unsigned
    }

    /// Whether both operands are signed and the wide one's sign moves to the narrow one:
    /// `w · n = |w| · (n with w's sign)`, an unsigned × signed product.
    fn gives_sign(self) -> bool {
        let both = self.wide.kind() == Kind::Signed && self.narrow.kind() == Kind::Signed;
        self.form == MmaForm::Maddubs && self.partial > 0 && both
    }

    /// Takes a register apart for the instruction. `wide`: which operand it is.
    fn prepare(self, b: &mut Builder, v: Val, wide: bool) -> Prepared {
        let d = if wide { self.wide } else { self.narrow };
        match self.form {
            MmaForm::Fma => {
                let to = self.acc;
                vec![cast::cast(b, v, d, to, Rounding::NearestEven, false)]
            }
            MmaForm::PairFma => {
                let pairs = reinterpret(b, v, Elem::I32);
                let even = b.bin_imm(BinOp::Shl, pairs, 16);
                let odd = b.bin_imm(BinOp::And, pairs, 0xFFFF_0000);
                vec![b.bits_as(even, Elem::F32), b.bits_as(odd, Elem::F32)]
            }
            MmaForm::DotBf16 => vec![b.bits_as(v, Elem::Bf16)],
            MmaForm::Maddubs if self.gives_sign() && wide => vec![with_sign_of(b, v, v), v],
            MmaForm::Maddubs if self.partial > 0 => vec![v],
            MmaForm::Maddubs => {
                let pairs = reinterpret(b, v, Elem::I16);
                if d.kind() == Kind::Signed {
                    let up = b.bin_imm(BinOp::Shl, pairs, 8);
                    vec![b.bin_imm(BinOp::AShr, up, 8), b.bin_imm(BinOp::AShr, pairs, 8)]
                } else {
                    vec![b.bin_imm(BinOp::And, pairs, 0xFF), b.bin_imm(BinOp::LShr, pairs, 8)]
                }
            }
            MmaForm::DotU8I8 => {
                let shifted = if wide { self.shifts_wide() } else { self.shifts_narrow() };
                vec![if shifted { flip(b, v) } else { v }]
            }
        }
    }
}

/// The same bits as lanes of another width.
fn reinterpret(b: &mut Builder, v: Val, elem: Elem) -> Val {
    let lanes = b.ty(v).bits() / elem.bits();
    b.bitcast(v, Ty::vector(elem, lanes))
}

/// A 128-, 256- or 512-bit form of an instruction by the width of its operand.
fn by_width(b: &Builder, v: Val, names: [&'static str; 3]) -> &'static str {
    match b.ty(v).bits() {
        128 => names[0],
        256 => names[1],
        _ => names[2],
    }
}

fn madd_bytes(b: &mut Builder, unsigned: Val, signed: Val) -> Val {
    let name = by_width(
        b,
        unsigned,
        [
            "llvm.x86.ssse3.pmadd.ub.sw.128",
            "llvm.x86.avx2.pmadd.ub.sw",
            "llvm.x86.avx512.pmaddubs.w.512",
        ],
    );
    let lanes = b.ty(unsigned).lanes / 2;
    b.call(name, &[unsigned, signed], Ty::vector(Elem::I16, lanes))
}

/// Bytes of `x`, negated where `sign` is negative, zero where it is zero; of a value with its own sign
/// the magnitude.
fn with_sign_of(b: &mut Builder, x: Val, sign: Val) -> Val {
    let name = by_width(
        b,
        x,
        ["llvm.x86.ssse3.psign.b.128", "llvm.x86.avx2.psign.b", "llvm.x86.avx2.psign.b"],
    );
    let ty = b.ty(x);
    b.call(name, &[x, sign], ty)
}

fn madd_words(b: &mut Builder, x: Val, y: Val) -> Val {
    let name = by_width(
        b,
        x,
        ["llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx512.pmaddw.d.512"],
    );
    let lanes = b.ty(x).lanes / 2;
    b.call(name, &[x, y], Ty::vector(Elem::I32, lanes))
}

fn dot_bytes(b: &mut Builder, acc: Val, unsigned: Val, signed: Val) -> Val {
    let name = by_width(
        b,
        unsigned,
        [
            "llvm.x86.avx512.vpdpbusd.128",
            "llvm.x86.avx512.vpdpbusd.256",
            "llvm.x86.avx512.vpdpbusd.512",
        ],
    );
    let ty = b.ty(acc);
    b.call(name, &[acc, unsigned, signed], ty)
}

fn dot_bf16(b: &mut Builder, acc: Val, x: Val, y: Val) -> Val {
    let name = by_width(
        b,
        x,
        [
            "llvm.x86.avx512bf16.dpbf16ps.128",
            "llvm.x86.avx512bf16.dpbf16ps.256",
            "llvm.x86.avx512bf16.dpbf16ps.512",
        ],
    );
    let ty = b.ty(acc);
    b.call(name, &[acc, x, y], ty)
}

/// Bytes with their top bit flipped: signed to unsigned and back, shifted by 128.
fn flip(b: &mut Builder, v: Val) -> Val {
    b.bin_imm(BinOp::Xor, v, 0x80)
}

/// One accumulator and what it collects on the side.
#[derive(Clone, Copy)]
struct Acc {
    sum: Val,
    /// i16 sums not yet widened, and how many they are.
    partial: Option<(Val, u32)>,
}

impl Step {
    /// Adds the product of two prepared operands.
    fn add(self, b: &mut Builder, acc: &mut Acc, wide: &Prepared, narrow: &Prepared) {
        match self.form {
            MmaForm::Fma | MmaForm::PairFma => {
                for (w, n) in wide.iter().zip(narrow) {
                    acc.sum = if self.acc.is_float() {
                        b.fma(*n, *w, acc.sum)
                    } else {
                        let p = b.bin(BinOp::Mul, *n, *w);
                        b.bin(BinOp::Add, acc.sum, p)
                    };
                    b.anchor(acc.sum);
                }
                return;
            }
            MmaForm::DotBf16 => {
                if let (Some(&w), Some(&n)) = (wide.first(), narrow.first()) {
                    acc.sum = dot_bf16(b, acc.sum, n, w);
                }
            }
            MmaForm::DotU8I8 => {
                if let (Some(&w), Some(&n)) = (wide.first(), narrow.first()) {
                    // If both are alike, `prepare` has shifted one of them.
                    let (u, s) = match (self.wide.kind(), self.narrow.kind()) {
                        (Kind::Unsigned, Kind::Signed) => (w, n),
                        _ => (n, w),
                    };
                    acc.sum = dot_bytes(b, acc.sum, u, s);
                }
            }
            MmaForm::Maddubs if self.partial > 0 => {
                if let (Some(&w), Some(&n)) = (wide.first(), narrow.first()) {
                    let (u, s) = match wide.get(1) {
                        Some(&sign) => (w, with_sign_of(b, n, sign)),
                        None if self.wide_is_unsigned() => (w, n),
                        None => (n, w),
                    };
                    let p = madd_bytes(b, u, s);
                    acc.partial = Some(match acc.partial {
                        Some((sum, count)) => (b.bin(BinOp::Add, sum, p), count + 1),
                        None => (p, 1),
                    });
                    if let Some((sum, count)) = acc.partial {
                        b.anchor(sum);
                        if count >= self.partial {
                            self.widen(b, acc);
                        }
                    }
                }
                return;
            }
            MmaForm::Maddubs => {
                for (w, n) in wide.iter().zip(narrow) {
                    let p = madd_words(b, *n, *w);
                    acc.sum = b.bin(BinOp::Add, acc.sum, p);
                    b.anchor(acc.sum);
                }
                return;
            }
        }
        b.anchor(acc.sum);
    }

    /// Adds the waiting i16 sums to the accumulator.
    fn widen(self, b: &mut Builder, acc: &mut Acc) {
        if let Some((sum, _)) = acc.partial.take() {
            let ty = b.ty(sum);
            let ones = b.konst(ty, 1);
            let p = madd_words(b, sum, ones);
            acc.sum = b.bin(BinOp::Add, acc.sum, p);
            b.anchor(acc.sum);
        }
    }

    /// Whether [`MmaForm::DotU8I8`] reads the narrow operand shifted by 128 (both signed).
    fn shifts_narrow(self) -> bool {
        let both = self.wide.kind() == Kind::Signed && self.narrow.kind() == Kind::Signed;
        self.form == MmaForm::DotU8I8 && both
    }

    /// Whether it reads the wide operand shifted by −128 (both unsigned).
    fn shifts_wide(self) -> bool {
        let both = self.wide.kind() == Kind::Unsigned && self.narrow.kind() == Kind::Unsigned;
        self.form == MmaForm::DotU8I8 && both
    }
}

impl Cx<'_> {
    fn plan(&self) -> Result<MmaPlan> {
        match self.program.mma.get(&self.inst.0) {
            Some(p) => Ok(p.clone()),
            None => self.bug("a product has no plan"),
        }
    }

    /// `Mma`.
    pub(super) fn mma(&mut self, a: Value, b: Value, acc: Value, result: Value) -> Result<()> {
        let plan = self.plan()?;
        let (ta, tb) = (self.tile_in(a, &plan.a)?, self.tile_in(b, &plan.b)?);
        let tc = self.tile_in(acc, &plan.acc)?;
        let dtypes = [self.dtype(a), self.dtype(b), self.dtype(acc)];
        let t = self.product(&plan, ta, tb, tc, dtypes)?;
        self.set_tile(result, &t)
    }

    fn product(
        &mut self,
        plan: &MmaPlan,
        ta: Tile,
        tb: Tile,
        tc: Tile,
        [a, b, acc]: [DType; 3],
    ) -> Result<Tile> {
        // K elements past the extent must add nothing.
        let (ta, tb) = if ta.shape[1].is_multiple_of(plan.k_step()) {
            (ta, tb)
        } else {
            (self.fill_outside(&ta, 0), self.fill_outside(&tb, 0))
        };
        let swapped = plan.kind == MmaKind::OuterM;
        let (wide, narrow) = if swapped { (a, b) } else { (b, a) };
        let step = Step { form: plan.form, wide, narrow, acc, partial: plan.partial };
        match plan.kind {
            MmaKind::Outer => self.outer(step, plan, [tb, ta], tc, false),
            MmaKind::OuterM => self.outer(step, plan, [ta, tb], tc, true),
            MmaKind::Dot => self.dot(step, plan, ta, tb, tc),
        }
    }

    /// Outer product form. `on_m`: the accumulator's lanes run along M.
    fn outer(
        &mut self,
        step: Step,
        plan: &MmaPlan,
        [wide, narrow]: [Tile; 2],
        mut acc: Tile,
        on_m: bool,
    ) -> Result<Tile> {
        let k_axis = |is_a: bool| usize::from(is_a);
        // A is [M, K]: the wide operand is A exactly if the lanes run along M.
        let (wide_k, narrow_k) = (k_axis(on_m), k_axis(!on_m));
        let extent = wide.shape[wide_k];
        let (wide_regs, narrow_regs) = (by_index(&wide), by_index(&narrow));
        let (wide_axis, narrow_axis) = if on_m { (0, 1) } else { (1, 0) };
        let mut sums: Vec<(usize, u64, u64, Acc)> = Vec::new();
        for (r, v) in acc.regs.iter().enumerate() {
            let Some(v) = v else { continue };
            let c = acc.layout.unpack(acc.layout.part(Dim::Register, r));
            let sum = Acc { sum: *v, partial: None };
            sums.push((r, c[narrow_axis] as u64, c[wide_axis] as u64, sum));
        }
        let at = |t: &Tile, k_axis: usize, k: usize, other: u64| {
            let mut coords = [0usize; 2];
            coords[k_axis] = k;
            coords[1 - k_axis] = other as usize;
            t.layout.pack(&coords)
        };
        // Sums that undo the shifts of 8-bit operands, by the coordinate that they depend on.
        let mut wide_sums: BTreeMap<u64, Val> = BTreeMap::new();
        let mut narrow_sums: BTreeMap<u64, Val> = BTreeMap::new();
        let mut corrected: BTreeSet<(bool, u64, usize)> = BTreeSet::new();
        let steps = (0..extent).step_by(plan.k_step());
        let blocks = self.blocks(&mut sums);
        for (block, k) in
            blocks.into_iter().flat_map(|b| steps.clone().map(move |k| (b.clone(), k)))
        {
            let mut wides: BTreeMap<u64, Prepared> = BTreeMap::new();
            let mut narrows: BTreeMap<u64, Prepared> = BTreeMap::new();
            let mut last = None;
            for (_, m, n, sum) in &mut sums[block] {
                if !narrows.contains_key(m) {
                    let Some(&v) = narrow_regs.get(&at(&narrow, narrow_k, k, *m)) else {
                        return self.bug("an operand register is missing");
                    };
                    let p = step.prepare(&mut self.b, v, false);
                    if step.shifts_wide() && corrected.insert((false, *m, k)) {
                        self.correct(&mut narrow_sums, *m, sum.sum, v, false);
                    }
                    narrows.insert(*m, p);
                }
                if !wides.contains_key(n) {
                    let Some(&v) = wide_regs.get(&at(&wide, wide_k, k, *n)) else {
                        return self.bug("an operand register is missing");
                    };
                    let p = step.prepare(&mut self.b, v, true);
                    if step.shifts_narrow() && corrected.insert((true, *n, k)) {
                        self.correct(&mut wide_sums, *n, sum.sum, v, true);
                    }
                    wides.insert(*n, p);
                }
                if let (Some(w), Some(n)) = (wides.get(n), narrows.get(m)) {
                    step.add(&mut self.b, sum, w, n);
                }
                last = Some(sum.sum);
            }
            if let Some(v) = last {
                self.b.border(v);
            }
        }
        for (r, m, n, mut sum) in sums {
            step.widen(&mut self.b, &mut sum);
            let mut v = sum.sum;
            if let Some(&c) = wide_sums.get(&n) {
                v = self.b.bin(BinOp::Sub, v, c);
            }
            if let Some(&c) = narrow_sums.get(&m) {
                v = self.b.bin(BinOp::Add, v, c);
            }
            acc.regs[r] = Some(v);
        }
        Ok(acc)
    }

    /// Orders accumulators and cuts them into blocks that fit the registers beside their operands:
    /// each block runs through all of K before the next begins.
    fn blocks(&self, sums: &mut [(usize, u64, u64, Acc)]) -> Vec<std::ops::Range<usize>> {
        let budget = (self.target.vector_regs as usize).saturating_sub(4).max(1);
        let count = |f: &dyn Fn(&(usize, u64, u64, Acc)) -> u64| {
            sums.iter().map(f).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let (narrow, wide): (Vec<u64>, Vec<u64>) = (count(&|s| s.1), count(&|s| s.2));
        let columns = match narrow.len() {
            m if m > budget => wide.len().min(2),
            m => (budget / m.max(1)).clamp(1, wide.len().max(1)),
        };
        let rows = (budget / columns.max(1)).max(1);
        let place = |list: &[u64], v: u64| list.iter().position(|&x| x == v).unwrap_or(0);
        let key = |s: &(usize, u64, u64, Acc)| {
            (place(&wide, s.2) / columns.max(1), place(&narrow, s.1) / rows)
        };
        sums.sort_by_key(|s| (key(s), s.1, s.2));
        let mut blocks = Vec::new();
        let mut first = 0;
        for i in 1..=sums.len() {
            if i == sums.len() || key(&sums[i]) != key(&sums[first]) {
                blocks.push(first..i);
                first = i;
            }
        }
        blocks
    }

    /// Adds 128 times the sum of an operand's bytes to the sums of its coordinate. `signed`: the
    /// bytes are.
    fn correct(
        &mut self,
        sums: &mut BTreeMap<u64, Val>,
        key: u64,
        like: Val,
        v: Val,
        signed: bool,
    ) {
        let (acc_ty, ty) = (self.b.ty(like), self.b.ty(v));
        let sum = match sums.get(&key) {
            Some(&s) => s,
            None => self.b.konst(acc_ty, 0),
        };
        let sum = if signed {
            let factor = self.b.konst(ty, 128);
            dot_bytes(&mut self.b, sum, factor, v)
        } else {
            // 128 is no signed byte: twice 64.
            let factor = self.b.konst(ty, 64);
            let half = dot_bytes(&mut self.b, sum, v, factor);
            dot_bytes(&mut self.b, half, v, factor)
        };
        sums.insert(key, sum);
    }

    /// Dot product form.
    fn dot(
        &mut self,
        step: Step,
        plan: &MmaPlan,
        ta: Tile,
        tb: Tile,
        mut acc: Tile,
    ) -> Result<Tile> {
        let (a_regs, b_regs) = (by_index(&ta), by_index(&tb));
        let (rows, columns, depth) = (ta.shape[0], tb.shape[1], ta.shape[1]);
        let span = ta.layout.size(Dim::Lane);
        let lanes = (span / plan.k_step()) as u32;
        let zero = self.b.konst(Ty::vector(elem_of(step.acc), lanes), 0);
        let mut sums: BTreeMap<(usize, usize), Acc> = BTreeMap::new();
        let mut column_sums: BTreeMap<u64, Val> = BTreeMap::new();
        let mut row_sums: BTreeMap<u64, Val> = BTreeMap::new();
        // Blocks of rows × columns whose sums stay in registers through all of K.
        let height = rows.clamp(1, if self.target.vector_regs > 16 { 4 } else { 2 });
        let width = if height == 1 { 8 } else { 4 };
        let mut blocks = Vec::new();
        for n in (0..columns).step_by(width) {
            for m in (0..rows).step_by(height) {
                blocks.push((m..rows.min(m + height), n..columns.min(n + width)));
            }
        }
        let mut corrected: BTreeSet<(bool, usize, usize)> = BTreeSet::new();
        for ((ms, ns), k) in
            blocks.into_iter().flat_map(|b| (0..depth).step_by(span).map(move |k| (b.clone(), k)))
        {
            let mut narrows: BTreeMap<usize, Prepared> = BTreeMap::new();
            let mut last = None;
            for n in ns {
                let Some(&v) = b_regs.get(&tb.layout.pack(&[k, n])) else {
                    return self.bug("an operand register is missing");
                };
                let wide = step.prepare(&mut self.b, v, true);
                if step.shifts_narrow() && corrected.insert((true, n, k)) {
                    self.correct(&mut column_sums, n as u64, zero, v, true);
                }
                for m in ms.clone() {
                    let narrow = match narrows.entry(m) {
                        Entry::Occupied(e) => e.into_mut(),
                        Entry::Vacant(e) => {
                            let Some(&v) = a_regs.get(&ta.layout.pack(&[m, k])) else {
                                return self.bug("an operand register is missing");
                            };
                            if step.shifts_wide() && corrected.insert((false, m, k)) {
                                self.correct(&mut row_sums, m as u64, zero, v, false);
                            }
                            e.insert(step.prepare(&mut self.b, v, false))
                        }
                    };
                    let sum = sums.entry((m, n)).or_insert(Acc { sum: zero, partial: None });
                    step.add(&mut self.b, sum, &wide, narrow);
                    last = Some(sum.sum);
                }
            }
            if let Some(v) = last {
                self.b.border(v);
            }
        }
        let mut totals: BTreeMap<(usize, usize), Val> = BTreeMap::new();
        for ((m, n), mut sum) in sums {
            step.widen(&mut self.b, &mut sum);
            let mut v = sum.sum;
            if let Some(&c) = column_sums.get(&(n as u64)) {
                v = self.b.bin(BinOp::Sub, v, c);
            }
            if let Some(&c) = row_sums.get(&(m as u64)) {
                v = self.b.bin(BinOp::Add, v, c);
            }
            totals.insert((m, n), v);
        }
        let float = step.acc.is_float();
        for (r, reg) in acc.regs.iter_mut().enumerate() {
            let Some(old) = *reg else { continue };
            let c = acc.layout.unpack(acc.layout.part(Dim::Register, r));
            let n_bits = acc.layout.bases(Dim::Lane).iter().filter(|v| **v != 0).count() as u32;
            let list: Vec<Val> = (0..1usize << n_bits)
                .map(|i| totals.get(&(c[0], c[1] + i)).copied().unwrap_or(zero))
                .collect();
            let total = add_lanes(&mut self.b, list, lanes, float);
            let op = if float { BinOp::FAdd } else { BinOp::Add };
            *reg = Some(self.b.bin(op, old, total));
        }
        Ok(acc)
    }

    /// `MmaScaled`: operands are scaled in f32 first.
    pub(super) fn mma_scaled(
        &mut self,
        [a, scale_a, b, scale_b, acc]: [Value; 5],
        group: usize,
        result: Value,
    ) -> Result<()> {
        let plan = self.plan()?;
        let ta = self.scaled(a, scale_a, &plan.a, 1, group)?;
        let tb = self.scaled(b, scale_b, &plan.b, 0, group)?;
        let tc = self.tile_in(acc, &plan.acc)?;
        let t = self.product(&plan, ta, tb, tc, [DType::F32; 3])?;
        self.set_tile(result, &t)
    }

    /// An operand in f32 with each group along `k_axis` multiplied by its scale.
    fn scaled(
        &mut self,
        x: Value,
        scale: Value,
        layout: &Rc<Layout>,
        k_axis: usize,
        group: usize,
    ) -> Result<Tile> {
        let (dx, ds) = (self.dtype(x), self.dtype(scale));
        let mut t = self.tile_in(x, layout)?;
        let s = self.tile(scale)?;
        let map = places(&s);
        let elem = elem_of(ds);
        let spread = gather(&mut self.b, layout, &t.shape, elem, &|index, lane| {
            let mut c = layout.unpack(index);
            c[k_axis] /= group.max(1);
            map.find(s.layout.pack(&c), lane)
        });
        for (v, s) in t.regs.iter_mut().zip(&spread.regs) {
            if let (Some(v), Some(s)) = (v, s) {
                let x = cast::cast(&mut self.b, *v, dx, DType::F32, Rounding::NearestEven, false);
                let s = cast::cast(&mut self.b, *s, ds, DType::F32, Rounding::NearestEven, false);
                *v = self.b.bin(BinOp::FMul, x, s);
            }
        }
        Ok(t)
    }
}

/// The sums over the lanes of each of a power of two of vectors, one in each lane (repeated if the
/// vectors are fewer than the lanes): at each stage two vectors are folded into one.
fn add_lanes(b: &mut Builder, mut list: Vec<Val>, lanes: u32, float: bool) -> Val {
    let op = if float { BinOp::FAdd } else { BinOp::Add };
    let mut stage = 0;
    while 1 << stage < lanes {
        let bit = 1u32 << stage;
        let mut next = Vec::with_capacity(list.len().div_ceil(2));
        for pair in list.chunks(2) {
            next.push(match *pair {
                [x, y] => {
                    let side = |l: u32| if l & bit != 0 { lanes } else { 0 };
                    let keep = b.shuffle(x, y, (0..lanes).map(|l| l + side(l)).collect());
                    let swap = b.shuffle(x, y, (0..lanes).map(|l| (l ^ bit) + side(l)).collect());
                    b.bin(op, keep, swap)
                }
                [x] => {
                    let swap = b.shuffle(x, x, (0..lanes).map(|l| l ^ bit).collect());
                    b.bin(op, x, swap)
                }
                _ => continue,
            });
        }
        list = next;
        stage += 1;
    }
    match list.first() {
        Some(&v) => v,
        None => b.konst(Ty::vector(if float { Elem::F32 } else { Elem::I32 }, lanes), 0),
    }
}
