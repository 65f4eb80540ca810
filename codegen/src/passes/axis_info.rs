//! `axis_info`: proves accesses inside their views.
//!
//! Why: an access that may cross an edge costs a test, a branch and a slow path; in an inner loop
//! that is most of the time.
//!
//! Before: `load %a[span %k] bounds [dim]` in `for %k = 0 to %n step 16`, with `%n` the view's
//! extent and `assume %a dim 0 multiple 16`.
//! After: the same access noted as inside on axis 0.
//!
//! An access at a span is inside if `origin ≥ 0` and `limit − origin − extent ≥ 0`. Both are linear
//! in launch values; a proof replaces one term after the other by a bound: a loop counter by its
//! range (to the last trip exactly, where the range is a multiple of the step), a minimum by its
//! operands, a quotient by its dividend. Rows need every index to be at least 0.
//!
//! Requires: verified tile IR. Ensures: nothing changes but the notes.

use crate::pass::{Changed, PassCx, Program};
use std::collections::{BTreeMap, BTreeSet};
use tilewright_ir::{
    Access, BinaryOp, Bound, Coord, Def, Diagnostic, Fact, Func, Inst, RegionId, TileOp, Type,
    Value,
};

/// Accesses proved to lie inside their view, by instruction and axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AxisInfo {
    inside: BTreeSet<(Inst, usize)>,
    rows: BTreeSet<(Inst, usize)>,
}

impl AxisInfo {
    /// Whether every coordinate of the access on this axis is below its limit, and for a span
    /// also at least 0.
    pub(crate) fn is_inside(&self, inst: Inst, axis: usize) -> bool {
        self.inside.contains(&(inst, axis))
    }

    /// One line of text for each note.
    pub(crate) fn describe(&self, f: &Func) -> String {
        let mut out = String::new();
        for (what, notes) in [("inside", &self.inside), ("all rows exist", &self.rows)] {
            for (inst, axis) in notes {
                let result = f.inst(*inst).results.first();
                let name = result.map_or("a store".to_string(), |v| format!("%{}", v.0));
                out += &format!("// {name} axis {axis}: {what}\n");
            }
        }
        out
    }

    /// Whether every row index of the access on this axis is at least 0.
    pub(crate) fn has_all_rows(&self, inst: Inst, axis: usize) -> bool {
        self.rows.contains(&(inst, axis))
    }
}

/// The pass.
pub(crate) fn run(p: &mut Program, _: &PassCx<'_>) -> Result<Changed, Vec<Diagnostic>> {
    let mut a = Analysis { f: &p.func, loops: Vec::new(), info: AxisInfo::default() };
    a.region(Func::BODY);
    p.info = a.info;
    Ok(Changed(p.info != AxisInfo::default()))
}

/// What a linear expression is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Atom {
    /// A value that is not taken apart further.
    Value(Value),
    /// Extent of a view's axis, whichever instruction asks for it.
    Dim(Value, usize),
}

/// `constant + Σ factor · atom`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Linear {
    constant: i64,
    terms: BTreeMap<Atom, i64>,
}

impl Linear {
    fn constant(c: i64) -> Linear {
        Linear { constant: c, terms: BTreeMap::new() }
    }

    fn atom(a: Atom) -> Linear {
        Linear { constant: 0, terms: BTreeMap::from([(a, 1)]) }
    }

    /// `self + factor · other`; `None` on overflow.
    fn plus(&self, other: &Linear, factor: i64) -> Option<Linear> {
        let mut out = self.clone();
        out.constant = out.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (&a, &k) in &other.terms {
            let entry = out.terms.entry(a).or_insert(0);
            *entry = entry.checked_add(k.checked_mul(factor)?)?;
            if *entry == 0 {
                out.terms.remove(&a);
            }
        }
        Some(out)
    }
}

/// An enclosing loop.
struct Loop {
    counter: Value,
    lo: Value,
    hi: Value,
    step: Value,
}

struct Analysis<'a> {
    f: &'a Func,
    loops: Vec<Loop>,
    info: AxisInfo,
}

/// How many replacements a proof may chain.
const DEPTH: u32 = 10;

impl Analysis<'_> {
    fn region(&mut self, r: RegionId) {
        let f = self.f;
        for &i in &f.region(r).insts {
            match &f.inst(i).op {
                TileOp::Load { access, shape, .. } => self.access(i, access, shape),
                TileOp::Store { access, value } | TileOp::Atomic { access, value, .. } => {
                    self.access(i, access, f.ty(*value).shape());
                }
                TileOp::For { lo, hi, step, body, .. } => {
                    let Some(&counter) = f.region(*body).params.first() else { continue };
                    self.loops.push(Loop { counter, lo: *lo, hi: *hi, step: *step });
                    self.region(*body);
                    self.loops.pop();
                }
                other => {
                    for r in other.regions() {
                        self.region(r);
                    }
                }
            }
        }
    }

    fn access(&mut self, inst: Inst, access: &Access, shape: &[usize]) {
        for (axis, (coord, bound)) in access.coords.iter().zip(&access.bounds).enumerate() {
            match coord {
                Coord::Span(origin) => {
                    let extent = shape.get(axis).copied().unwrap_or(1) as i64;
                    if *bound != Bound::Inside
                        && self.span(access.view, axis, *origin, extent, bound)
                    {
                        self.info.inside.insert((inst, axis));
                    }
                }
                Coord::Rows(index) => {
                    if self.tile_at_least_zero(*index, DEPTH) {
                        self.info.rows.insert((inst, axis));
                    }
                }
                Coord::Gather(_) => {}
            }
        }
    }

    fn span(&self, view: Value, axis: usize, origin: Value, extent: i64, bound: &Bound) -> bool {
        let mut limits = vec![self.dim(view, axis)];
        if let Bound::Limit(v) = bound {
            limits.push(self.linear(*v, DEPTH));
        }
        let origin = self.linear(origin, DEPTH);
        self.at_least_zero(&origin, DEPTH)
            && limits.iter().all(|limit| {
                let room =
                    limit.plus(&origin, -1).and_then(|r| r.plus(&Linear::constant(extent), -1));
                room.is_some_and(|r| self.at_least_zero(&r, DEPTH))
            })
    }

    fn facts(&self, param: Value) -> impl Iterator<Item = &Fact> {
        let n = match self.f.values[param.index()].def {
            Def::Param(n) => Some(n),
            Def::RegionParam(..) | Def::Result(..) => None,
        };
        self.f.assumes.iter().filter(move |a| Some(a.param) == n).map(|a| &a.fact)
    }

    fn dim(&self, view: Value, axis: usize) -> Linear {
        let known = self.facts(view).find_map(|f| match f {
            Fact::DimEquals(a, n) if *a == axis => i64::try_from(*n).ok(),
            _ => None,
        });
        known.map_or(Linear::atom(Atom::Dim(view, axis)), Linear::constant)
    }

    fn op(&self, v: Value) -> Option<&TileOp> {
        self.f.def_inst(v).map(|i| &self.f.inst(i).op)
    }

    fn linear(&self, v: Value, depth: u32) -> Linear {
        let own = Linear::atom(Atom::Value(v));
        if depth == 0 || !matches!(self.f.ty(v), Type::Scalar(_)) {
            return own;
        }
        let next = |x: &Value| self.linear(*x, depth - 1);
        let exact = match self.op(v) {
            Some(TileOp::Const(l)) => Some(Linear::constant(l.bits as i64)),
            Some(TileOp::Dim { view, axis }) => Some(self.dim(*view, *axis)),
            Some(TileOp::Binary { op: BinaryOp::Add, lhs, rhs }) => next(lhs).plus(&next(rhs), 1),
            Some(TileOp::Binary { op: BinaryOp::Sub, lhs, rhs }) => next(lhs).plus(&next(rhs), -1),
            Some(TileOp::Binary { op: BinaryOp::Mul, lhs, rhs }) => {
                let (l, r) = (next(lhs), next(rhs));
                if r.terms.is_empty() {
                    Linear::default().plus(&l, r.constant)
                } else if l.terms.is_empty() {
                    Linear::default().plus(&r, l.constant)
                } else {
                    None
                }
            }
            _ => None,
        };
        exact.unwrap_or(own)
    }

    /// A number that divides the value; at least 1.
    fn divisor(&self, v: Value, depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let next = |x: &Value| self.divisor(*x, depth - 1);
        if let Some(l) = self.loops.iter().find(|l| l.counter == v) {
            return gcd(next(&l.lo), next(&l.step));
        }
        match self.op(v) {
            Some(TileOp::Const(l)) => (l.bits as i64).unsigned_abs(),
            Some(TileOp::Dim { view, axis }) => self
                .facts(*view)
                .filter_map(|f| match f {
                    Fact::DimMultiple(a, n) | Fact::DimEquals(a, n) if a == axis => Some(*n),
                    _ => None,
                })
                .max()
                .unwrap_or(1),
            Some(TileOp::Binary { op: BinaryOp::Mul, lhs, rhs }) => {
                next(lhs).saturating_mul(next(rhs))
            }
            Some(TileOp::Binary {
                op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Min | BinaryOp::Max,
                lhs,
                rhs,
            }) => gcd(next(lhs), next(rhs)),
            None => self
                .facts(v)
                .filter_map(|f| match f {
                    Fact::ScalarMultiple(n) => Some(*n),
                    _ => None,
                })
                .max()
                .unwrap_or(1),
            Some(_) => 1,
        }
    }

    /// Whether the expression is at least 0 wherever this point of the program runs.
    fn at_least_zero(&self, e: &Linear, depth: u32) -> bool {
        if e.terms.is_empty() {
            return e.constant >= 0;
        }
        if e.constant >= 0 && e.terms.iter().all(|(a, &k)| k > 0 && self.is_count(*a)) {
            return true;
        }
        if depth == 0 {
            return false;
        }
        e.terms.iter().any(|(&atom, &k)| {
            let ways = if k < 0 { self.upper(atom, k) } else { self.lower(atom, k) };
            ways.iter().any(|all| {
                all.iter().all(|bound| {
                    // k · atom is at least the bound.
                    let rest = e.plus(&Linear::atom(atom), -k).and_then(|r| r.plus(bound, 1));
                    rest.is_some_and(|r| self.at_least_zero(&r, depth - 1))
                })
            })
        })
    }

    /// Values that are never negative by what they are.
    fn is_count(&self, a: Atom) -> bool {
        match a {
            Atom::Dim(..) => true,
            Atom::Value(v) => {
                matches!(self.op(v), Some(TileOp::ProgramId { .. } | TileOp::NumPrograms { .. }))
            }
        }
    }

    /// For a negative factor `k`: ways to bound `k · atom` from below; each way is a list of bounds
    /// that all have to do.
    fn upper(&self, atom: Atom, k: i64) -> Vec<Vec<Linear>> {
        let Atom::Value(v) = atom else { return Vec::new() };
        let times = |l: &Linear| Linear::default().plus(l, k);
        if let Some(l) = self.loops.iter().find(|l| l.counter == v) {
            let (hi, step) = (self.linear(l.hi, DEPTH), self.linear(l.step, DEPTH));
            let back = match self.op(l.step) {
                // The last trip starts one step before the end if the steps fill the range.
                Some(TileOp::Const(c)) if (c.bits as i64) > 0 => {
                    let whole = gcd(self.divisor(l.hi, DEPTH), self.divisor(l.lo, DEPTH));
                    if whole.is_multiple_of(c.bits) { step } else { Linear::constant(1) }
                }
                _ => Linear::constant(1),
            };
            let last = hi.plus(&back, -1);
            return last.and_then(|l| times(&l)).map(|l| vec![l]).into_iter().collect();
        }
        match self.op(v) {
            Some(TileOp::Binary { op: BinaryOp::Min, lhs, rhs }) => [lhs, rhs]
                .iter()
                .filter_map(|x| times(&self.linear(**x, DEPTH)).map(|l| vec![l]))
                .collect(),
            Some(TileOp::Binary { op: BinaryOp::Max, lhs, rhs }) => {
                let both = [lhs, rhs].iter().map(|x| times(&self.linear(**x, DEPTH))).collect();
                let both: Option<Vec<Linear>> = both;
                both.into_iter().collect()
            }
            Some(TileOp::Binary { op: BinaryOp::Div, lhs, rhs }) => {
                // c · (x / c) is at most x for x from 0 up.
                let Some(TileOp::Const(c)) = self.op(*rhs) else { return Vec::new() };
                let c = c.bits as i64;
                let x = self.linear(*lhs, DEPTH);
                if c <= 0 || k % c != 0 || !self.at_least_zero(&x, 3) {
                    return Vec::new();
                }
                Linear::default().plus(&x, k / c).map(|l| vec![l]).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// For a positive factor `k`: ways to bound `k · atom` from below.
    fn lower(&self, atom: Atom, k: i64) -> Vec<Vec<Linear>> {
        let times = |l: &Linear| Linear::default().plus(l, k);
        let mut ways: Vec<Vec<Linear>> = Vec::new();
        // Inside a loop its end is above its start, and so is all that the end is a minimum of.
        for l in &self.loops {
            if self.caps(l.hi, atom, 6) {
                let start = self.linear(l.lo, DEPTH).plus(&Linear::constant(1), 1);
                ways.extend(start.and_then(|s| times(&s)).map(|s| vec![s]));
            }
        }
        if self.is_count(atom) {
            ways.push(vec![Linear::constant(0)]);
        }
        let Atom::Value(v) = atom else { return ways };
        if let Some(l) = self.loops.iter().find(|l| l.counter == v) {
            ways.extend(times(&self.linear(l.lo, DEPTH)).map(|l| vec![l]));
        }
        match self.op(v) {
            Some(TileOp::Binary { op: BinaryOp::Max, lhs, rhs }) => {
                for x in [lhs, rhs] {
                    ways.extend(times(&self.linear(*x, DEPTH)).map(|l| vec![l]));
                }
            }
            Some(TileOp::Binary { op: BinaryOp::Min, lhs, rhs }) => {
                let both = [lhs, rhs].iter().map(|x| times(&self.linear(**x, DEPTH))).collect();
                let both: Option<Vec<Linear>> = both;
                ways.extend(both);
            }
            Some(TileOp::Binary { op: BinaryOp::Mul, lhs, rhs }) => {
                let zero = |x: &Value| self.at_least_zero(&self.linear(*x, DEPTH), 4);
                if zero(lhs) && zero(rhs) {
                    ways.push(vec![Linear::constant(0)]);
                }
            }
            Some(TileOp::Binary { op: BinaryOp::Div | BinaryOp::Rem, lhs, rhs }) => {
                let positive = self.linear(*rhs, DEPTH).plus(&Linear::constant(1), -1);
                let divides = positive.is_some_and(|p| self.at_least_zero(&p, 3));
                if divides && self.at_least_zero(&self.linear(*lhs, DEPTH), 4) {
                    ways.push(vec![Linear::constant(0)]);
                }
            }
            _ => {}
        }
        ways
    }

    /// Whether `end` is `atom`, or a minimum that has it among its operands.
    fn caps(&self, end: Value, atom: Atom, depth: u32) -> bool {
        if self.linear(end, DEPTH) == Linear::atom(atom) {
            return true;
        }
        match self.op(end) {
            Some(TileOp::Binary { op: BinaryOp::Min, lhs, rhs }) if depth > 0 => {
                self.caps(*lhs, atom, depth - 1) || self.caps(*rhs, atom, depth - 1)
            }
            _ => false,
        }
    }

    /// Whether every element of an index tile is at least 0.
    fn tile_at_least_zero(&self, v: Value, depth: u32) -> bool {
        if depth == 0 {
            return false;
        }
        let next = |x: &Value| self.tile_at_least_zero(*x, depth - 1);
        match self.op(v) {
            Some(TileOp::Iota { .. }) => true,
            Some(TileOp::Splat { x, .. }) => {
                matches!(self.f.ty(*x).elem(), tilewright_abi::DType::I64)
                    && self.at_least_zero(&self.linear(*x, DEPTH), DEPTH)
            }
            Some(TileOp::Binary {
                op: BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min,
                lhs,
                rhs,
            }) => self.f.ty(v).elem() == tilewright_abi::DType::I64 && next(lhs) && next(rhs),
            Some(TileOp::Binary { op: BinaryOp::Max, lhs, rhs }) => next(lhs) || next(rhs),
            Some(TileOp::Cast { x, to, .. }) => {
                let from = self.f.ty(*x).elem();
                to.bits() > from.bits() && from.is_int() && next(x)
            }
            Some(
                TileOp::Reshape { x, .. }
                | TileOp::Broadcast { x, .. }
                | TileOp::Transpose { x, .. }
                | TileOp::Slice { x, .. },
            ) => next(x),
            _ => false,
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
