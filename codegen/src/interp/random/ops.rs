//! One random statement at a time.

use super::program::{Maker, Quality, Val};
use tilewright_abi::{DType, Kind};
use tilewright_ir::{
    Access, BinaryOp, Bound, CompareOp, Coord, ReduceOp, Rounding, TileOp, Type, UnaryOp, Value,
};

/// The most elements of a tile made here.
const MAX_ELEMENTS: usize = 512;

/// Whole numbers up to this are exact in a type, with room for sums.
fn whole_limit(d: DType) -> f64 {
    match d {
        DType::F64 | DType::F32 => f64::from(1 << 20),
        DType::TF32 | DType::F16 => 2048.0,
        DType::BF16 => 256.0,
        DType::F8E4M3 | DType::F8E4M3Fnuz => 16.0,
        DType::F8E5M2 | DType::F8E5M2Fnuz | DType::F6E3M2 => 8.0,
        DType::F6E2M3 => 7.0,
        DType::F4E2M1 => 4.0,
        _ => 0.0,
    }
}

/// Small where the bound is exact in `d`.
fn small(d: DType, bound: f64) -> Quality {
    if bound <= whole_limit(d) { Quality::Small(bound) } else { Quality::Exact }
}

/// Of two values that one op brings together.
fn worse(a: Quality, b: Quality) -> Quality {
    match (a, b) {
        (Quality::Loose, _) | (_, Quality::Loose) => Quality::Loose,
        (Quality::Small(a), Quality::Small(b)) => Quality::Small(a.max(b)),
        (Quality::Exact | Quality::Small(_), _) => Quality::Exact,
    }
}

fn bound(q: Quality) -> Option<f64> {
    match q {
        Quality::Small(b) => Some(b),
        Quality::Exact | Quality::Loose => None,
    }
}

fn settled(v: &Val) -> bool {
    v.q != Quality::Loose
}

fn float_arithmetic(d: DType) -> bool {
    matches!(d, DType::F64 | DType::F32 | DType::F16 | DType::BF16)
}

fn integer(d: DType) -> bool {
    d.is_int() && d.bits() >= 8
}

fn arithmetic(v: &Val) -> bool {
    settled(v) && (float_arithmetic(v.d()) || integer(v.d()))
}

fn logical(v: &Val) -> bool {
    integer(v.d()) || v.d() == DType::Bool
}

fn index_type(d: DType) -> bool {
    matches!(d, DType::I32 | DType::I64)
}

/// What a product takes.
fn factor(d: DType) -> bool {
    d.is_float() && d != DType::E8M0
}

impl Maker {
    /// Tries one statement; where nothing fits it loads instead, so that the pool grows.
    pub(super) fn statement(&mut self) {
        let tried = match self.rng.below(40) {
            0..=4 => self.load(),
            5 => self.load_one(),
            6 => self.constant_or_splat(),
            7 => self.iota(),
            8 | 9 => self.unary(),
            10..=13 => self.binary(),
            14 | 15 => self.compare(),
            16 => self.fma(),
            17 | 18 => self.select(),
            19..=21 => self.cast(),
            22 => self.bitcast(),
            23 => self.reshape(),
            24 => self.transpose(),
            25 => self.broadcast(),
            26 => self.slice(),
            27 => self.join(),
            28 => self.split(),
            29 | 30 => self.reduce(),
            31 => self.scan(),
            32 => self.arg_reduce(),
            33 => self.sort(),
            34 => self.histogram(),
            35 => self.philox(),
            36 => self.mma(),
            37 => self.mma_scaled(),
            38 => self.transcendental(),
            _ => self.dim(),
        };
        if tried.is_none() {
            self.load();
        }
    }

    fn splat(&mut self, x: Value, shape: &[usize]) -> Value {
        match shape.is_empty() {
            true => x,
            false => self.b.op1(TileOp::Splat { x, shape: shape.to_vec() }),
        }
    }

    fn like(&mut self, ty: &Type, x: f64) -> Value {
        let c = self.constant(ty.elem(), x);
        self.splat(c, ty.shape())
    }

    /// `x + 0`, which has no negative zero: backends start a sum from either.
    fn without_minus_zero(&mut self, x: Value, q: Quality) {
        let ty = self.b.func().ty(x).clone();
        if !ty.elem().is_float() {
            return self.push(x, q);
        }
        let zero = self.like(&ty, 0.0);
        self.make(TileOp::Binary { op: BinaryOp::Add, lhs: x, rhs: zero }, q);
    }

    fn shape_of_rank(&mut self, rank: usize) -> Vec<usize> {
        let mut shape: Vec<usize> = (0..rank).map(|_| self.extent()).collect();
        while shape.iter().product::<usize>() > MAX_ELEMENTS {
            let axis = self.rng.below(rank);
            shape[axis] = 2;
        }
        shape
    }

    fn index_scalar(&mut self, within: i64) -> Value {
        let known = |v: &Val| v.ty == Type::Scalar(DType::I64);
        match self.rng.below(3) {
            0 => self.pick(known).map(|v| v.v),
            _ => None,
        }
        .unwrap_or_else(|| {
            let n = self.rng.below(within.max(0) as usize + 4) as i64 - 2;
            self.b.index(n)
        })
    }

    /// Indices of this shape: some tile at hand, or a run that starts anywhere.
    fn index_tile(&mut self, shape: &[usize]) -> Value {
        let fits = |v: &Val| index_type(v.d()) && v.shape() == shape;
        if self.rng.once_in(2)
            && let Some(v) = self.pick(fits)
        {
            return v.v;
        }
        let dtype = self.rng.of(&[DType::I32, DType::I64]);
        let len = shape.iter().product();
        let run = self.b.op1(TileOp::Iota { len, dtype });
        let run = match shape.len() {
            1 => run,
            _ => self.b.op1(TileOp::Reshape { x: run, shape: shape.to_vec() }),
        };
        let first = self.rng.below(8) as f64 - 3.0;
        let first = self.like(&Type::tile(dtype, shape), first);
        let op = self.rng.of(&[BinaryOp::Add, BinaryOp::Xor, BinaryOp::Mul]);
        self.b.op1(TileOp::Binary { op, lhs: run, rhs: first })
    }

    fn load(&mut self) -> Option<()> {
        let (view, dtype, dims, q) = self.rng.of(&self.inputs.clone());
        let shape = self.shape_of_rank(dims.len());
        let (mut coords, mut bounds) = (Vec::new(), Vec::new());
        for (extent, dim) in shape.iter().zip(&dims) {
            let spare = *dim - *extent as i64;
            if spare >= 0 && self.rng.once_in(3) {
                let at = self.rng.below(spare as usize + 1) as i64;
                coords.push(Coord::Span(self.b.index(at)));
                bounds.push(Bound::Inside);
                continue;
            }
            coords.push(match self.rng.below(6) {
                0 => Coord::Rows(self.index_tile(&[*extent])),
                1 => Coord::Gather(self.index_tile(&shape)),
                _ => Coord::Span(self.index_scalar(*dim)),
            });
            bounds.push(match self.rng.once_in(4) {
                true => Bound::Limit(self.index_scalar(*dim)),
                false => Bound::Dim,
            });
        }
        let other = self.rng.once_in(3).then(|| {
            let x = self.number(dtype, bound(q).is_some());
            self.constant(dtype, x)
        });
        self.make(TileOp::Load { access: Access { view, coords, bounds }, shape, other }, q);
        Some(())
    }

    fn load_one(&mut self) -> Option<()> {
        let (view, _, dims, q) = self.rng.of(&self.inputs.clone());
        let coords = dims.iter().map(|d| Coord::Span(self.index_scalar(*d))).collect();
        let bounds = vec![Bound::Dim; dims.len()];
        let access = Access { view, coords, bounds };
        self.make(TileOp::Load { access, shape: Vec::new(), other: None }, q);
        Some(())
    }

    fn constant_or_splat(&mut self) -> Option<()> {
        let dtypes = [DType::F32, DType::F16, DType::I32, DType::U8, DType::I64, DType::U32];
        let dtype = self.rng.of(&dtypes);
        let is_small = self.rng.once_in(2);
        let x = self.number(dtype, is_small);
        let q = if is_small && dtype.is_float() { small(dtype, 8.0) } else { Quality::Exact };
        let c = self.constant(dtype, x);
        self.push(c, q);
        let x = self.pick(|v| !v.is_tile())?;
        let rank = 1 + self.rng.below(2);
        let shape = self.shape_of_rank(rank);
        self.make(TileOp::Splat { x: x.v, shape }, x.q);
        Some(())
    }

    fn iota(&mut self) -> Option<()> {
        let dtype = self.rng.of(&[DType::I32, DType::I64, DType::U8, DType::I16]);
        let len = self.extent() * 2;
        self.make(TileOp::Iota { len, dtype }, Quality::Exact);
        Some(())
    }

    fn unary(&mut self) -> Option<()> {
        let x = self.pick(|v| arithmetic(v) || v.d() == DType::Bool)?;
        let ops: &[UnaryOp] = match x.d().kind() {
            Kind::Bool => &[UnaryOp::Not],
            Kind::Signed | Kind::Unsigned => &[UnaryOp::Not, UnaryOp::Neg, UnaryOp::Abs],
            Kind::Float => &[
                UnaryOp::Neg,
                UnaryOp::Abs,
                UnaryOp::Sqrt,
                UnaryOp::Rsqrt,
                UnaryOp::Recip,
                UnaryOp::Floor,
                UnaryOp::Ceil,
                UnaryOp::Round,
                UnaryOp::Trunc,
            ],
        };
        let op = self.rng.of(ops);
        let q = match op {
            UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Recip => Quality::Exact,
            _ => x.q,
        };
        self.make(TileOp::Unary { op, x: x.v }, q);
        Some(())
    }

    /// Another operand of the type: some value at hand, or a constant.
    fn mate(&mut self, x: &Val) -> (Value, Quality) {
        if let Some(y) = self.pick(|v| v.ty == x.ty && settled(v) && v.v != x.v) {
            return (y.v, y.q);
        }
        let n = self.number(x.d(), true);
        let q = if x.d().is_float() { small(x.d(), 8.0) } else { Quality::Exact };
        (self.like(&x.ty, n), q)
    }

    fn binary(&mut self) -> Option<()> {
        let x = self.pick(|v| arithmetic(v) || v.d() == DType::Bool)?;
        let (rhs, q) = self.mate(&x);
        let bits = [BinaryOp::And, BinaryOp::Or, BinaryOp::Xor];
        let sums = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max, BinaryOp::Min];
        let rest = [BinaryOp::Div, BinaryOp::Rem];
        let shifts = [BinaryOp::Shl, BinaryOp::Shr];
        let op = match (x.d().kind(), self.rng.below(4)) {
            (Kind::Bool, _) => self.rng.of(&bits),
            (_, 0) => self.rng.of(&rest),
            (Kind::Signed | Kind::Unsigned, 1) => self.rng.of(&bits),
            (Kind::Signed | Kind::Unsigned, 2) => self.rng.of(&shifts),
            _ => self.rng.of(&sums),
        };
        let q = match (op, bound(x.q), bound(q)) {
            (BinaryOp::Add | BinaryOp::Sub, Some(a), Some(b)) => small(x.d(), a + b),
            (BinaryOp::Mul, Some(a), Some(b)) => small(x.d(), a * b),
            (BinaryOp::Max | BinaryOp::Min, Some(a), Some(b)) => Quality::Small(a.max(b)),
            _ => Quality::Exact,
        };
        self.make(TileOp::Binary { op, lhs: x.v, rhs }, q);
        Some(())
    }

    fn compare(&mut self) -> Option<()> {
        let x = self.pick(arithmetic)?;
        let (rhs, _) = self.mate(&x);
        let op = self.rng.of(CompareOp::ALL);
        self.make(TileOp::Compare { op, lhs: x.v, rhs }, Quality::Exact);
        Some(())
    }

    fn fma(&mut self) -> Option<()> {
        let x = self.pick(|v| settled(v) && matches!(v.d(), DType::F32 | DType::F64))?;
        let ((b, qb), (c, qc)) = (self.mate(&x), self.mate(&x));
        let q = match (bound(x.q), bound(qb), bound(qc)) {
            (Some(a), Some(b), Some(c)) => small(x.d(), a * b + c),
            _ => Quality::Exact,
        };
        self.make(TileOp::Fma { a: x.v, b, c }, q);
        Some(())
    }

    fn select(&mut self) -> Option<()> {
        let cond = self.pick(|v| v.d() == DType::Bool)?;
        let on_true = self.pick(|v| v.shape() == cond.shape() && v.is_tile() == cond.is_tile())?;
        let on_false = self.pick(|v| v.ty == on_true.ty)?;
        let q = worse(on_true.q, on_false.q);
        let (cond, on_true, on_false) = (cond.v, on_true.v, on_false.v);
        self.make(TileOp::Select { cond, on_true, on_false }, q);
        Some(())
    }

    fn cast_to(&mut self, x: &Val, to: DType) -> Val {
        let rounding = self.rng.of(Rounding::ALL);
        let saturate = self.rng.once_in(2);
        let bits = x.d().bits();
        let from = match (bound(x.q), x.d().kind()) {
            (Some(b), _) => b,
            (None, Kind::Bool) => 1.0,
            (None, Kind::Signed) if bits <= 8 => f64::from(1 << (bits - 1)),
            (None, Kind::Unsigned) if bits <= 8 => f64::from((1 << bits) - 1),
            (None, _) => f64::INFINITY,
        };
        let q = if to.is_float() { small(to, from) } else { Quality::Exact };
        let v = self.make(TileOp::Cast { x: x.v, to, rounding, saturate }, q);
        Val { v, ty: x.ty.with_elem(to), q }
    }

    fn cast(&mut self) -> Option<()> {
        let x = self.pick(settled)?;
        let common = [DType::F32, DType::F32, DType::F16, DType::BF16, DType::I8, DType::I32];
        let to = match self.rng.once_in(2) {
            true => self.rng.of(&common),
            false => self.rng.of(&DType::all().collect::<Vec<_>>()),
        };
        self.cast_to(&x, to);
        Some(())
    }

    fn bitcast(&mut self) -> Option<()> {
        // The bits of a NaN are open, so floats that may be one keep theirs.
        let plain = |v: &Val| v.d().is_int() || bound(v.q).is_some() && v.d() != DType::TF32;
        let x = self.pick(plain)?;
        let fits = |d: &DType| d.bits() == x.d().bits() && !matches!(d, DType::Bool | DType::TF32);
        let to = self.rng.of(&DType::all().filter(fits).collect::<Vec<_>>());
        let q = if to == x.d() { x.q } else { Quality::Exact };
        self.make(TileOp::Bitcast { x: x.v, to }, q);
        Some(())
    }

    fn reshape(&mut self) -> Option<()> {
        let x = self.pick(|v| v.is_tile())?;
        let mut left: usize = x.shape().iter().product();
        let mut shape = Vec::new();
        while shape.len() < 3 && left > 1 {
            let divisors: Vec<usize> = (1..=left).filter(|d| left.is_multiple_of(*d)).collect();
            let extent = self.rng.of(&divisors);
            shape.push(extent);
            left /= extent;
        }
        if left > 1 || shape.is_empty() {
            shape.push(left);
        }
        self.make(TileOp::Reshape { x: x.v, shape }, x.q);
        Some(())
    }

    fn transpose(&mut self) -> Option<()> {
        let x = self.pick(|v| v.shape().len() > 1)?;
        let mut perm: Vec<usize> = (0..x.shape().len()).collect();
        for i in 1..perm.len() {
            let j = self.rng.below(i + 1);
            perm.swap(i, j);
        }
        self.make(TileOp::Transpose { x: x.v, perm }, x.q);
        Some(())
    }

    /// Inserts an axis and repeats along it.
    fn broadcast(&mut self) -> Option<()> {
        let x = self.pick(|v| v.is_tile() && v.shape().len() < 4)?;
        let axis = self.rng.below(x.shape().len() + 1);
        let mut shape = x.shape().to_vec();
        shape.insert(axis, 1);
        let one = self.b.op1(TileOp::Reshape { x: x.v, shape: shape.clone() });
        shape[axis] = self.extent();
        if shape.iter().product::<usize>() > MAX_ELEMENTS {
            return None;
        }
        self.make(TileOp::Broadcast { x: one, shape }, x.q);
        Some(())
    }

    fn slice(&mut self) -> Option<()> {
        let x = self.pick(|v| v.is_tile())?;
        let (mut starts, mut shape) = (Vec::new(), Vec::new());
        for extent in x.shape() {
            let len = match (self.rng.below(3), extent.is_multiple_of(2)) {
                (0, true) => extent / 2,
                (1, _) if self.config.odd_extents => 1 + self.rng.below(*extent),
                _ => *extent,
            };
            shape.push(len);
            starts.push(self.rng.below(extent - len + 1));
        }
        self.make(TileOp::Slice { x: x.v, starts, shape }, x.q);
        Some(())
    }

    fn join(&mut self) -> Option<()> {
        let room = |v: &Val| v.shape().iter().product::<usize>() <= MAX_ELEMENTS / 2;
        let lhs = self.pick(|v| v.is_tile() && v.shape().len() < 4 && room(v))?;
        let rhs = self.pick(|v| v.ty == lhs.ty)?;
        let q = worse(lhs.q, rhs.q);
        self.make(TileOp::Join { lhs: lhs.v, rhs: rhs.v }, q);
        Some(())
    }

    fn split(&mut self) -> Option<()> {
        let x = self.pick(|v| v.shape().len() > 1 && v.shape().last() == Some(&2))?;
        for v in self.b.op(TileOp::Split { x: x.v }) {
            self.push(v, x.q);
        }
        Some(())
    }

    fn fold(&mut self, x: &Val, n: usize) -> (ReduceOp, Quality) {
        let pick = [ReduceOp::Max, ReduceOp::Min];
        let bits = [ReduceOp::And, ReduceOp::Or, ReduceOp::Xor];
        let sums = [ReduceOp::Sum, ReduceOp::Prod];
        let sum = bound(x.q).map(|b| b * n as f64).filter(|b| *b <= whole_limit(DType::F32));
        let op = match (x.d().kind(), self.rng.below(3)) {
            (Kind::Bool, _) => self.rng.of(&bits),
            (Kind::Signed | Kind::Unsigned, 0) => self.rng.of(&bits),
            (Kind::Signed | Kind::Unsigned, 1) => self.rng.of(&sums),
            (Kind::Float, 1 | 2) if sum.is_some() && matches!(x.d(), DType::F32 | DType::F64) => {
                ReduceOp::Sum
            }
            _ => self.rng.of(&pick),
        };
        match (op, sum) {
            (ReduceOp::Sum, Some(b)) => (op, Quality::Small(b)),
            _ => (op, x.q),
        }
    }

    fn reduce(&mut self) -> Option<()> {
        let x = self.pick(|v| v.is_tile() && settled(v) && (arithmetic(v) || logical(v)))?;
        let axis = self.rng.below(x.shape().len());
        let (op, q) = self.fold(&x, x.shape()[axis]);
        let v = self.b.op1(TileOp::Reduce { op, x: x.v, axis });
        match op {
            ReduceOp::Sum => self.without_minus_zero(v, q),
            _ => self.push(v, q),
        }
        Some(())
    }

    fn scan(&mut self) -> Option<()> {
        let x = self.pick(|v| v.is_tile() && settled(v) && (arithmetic(v) || logical(v)))?;
        let axis = self.rng.below(x.shape().len());
        let (op, q) = self.fold(&x, x.shape()[axis]);
        let v = self.b.op1(TileOp::Scan { op, x: x.v, axis });
        match op {
            ReduceOp::Sum => self.without_minus_zero(v, q),
            _ => self.push(v, q),
        }
        Some(())
    }

    fn arg_reduce(&mut self) -> Option<()> {
        let x = self.pick(|v| v.is_tile() && arithmetic(v))?;
        let axis = self.rng.below(x.shape().len());
        let max = self.rng.once_in(2);
        let q = x.q;
        let results = self.b.op(TileOp::ArgReduce { max, x: x.v, axis });
        for (v, q) in results.into_iter().zip([q, Quality::Exact]) {
            self.push(v, q);
        }
        Some(())
    }

    fn sort(&mut self) -> Option<()> {
        let x = self.pick(|v| v.is_tile() && arithmetic(v))?;
        let axis = self.rng.below(x.shape().len());
        let descending = self.rng.once_in(2);
        let results = self.b.op(TileOp::Sort { x: x.v, axis, descending });
        for (v, q) in results.into_iter().zip([x.q, Quality::Exact]) {
            self.push(v, q);
        }
        Some(())
    }

    fn histogram(&mut self) -> Option<()> {
        let x = self.pick(|v| v.d() == DType::I32 && v.shape().len() == 1)?;
        let bins = self.extent();
        self.make(TileOp::Histogram { x: x.v, bins }, Quality::Exact);
        Some(())
    }

    fn philox(&mut self) -> Option<()> {
        let x = self.pick(|v| v.d().is_int())?;
        let c = match x.d() {
            DType::U32 => x,
            _ => self.cast_to(&x, DType::U32),
        };
        let others = [self.mate(&c).0, self.mate(&c).0, self.mate(&c).0];
        let seed = self.rng.below(1000) as f64;
        let key = self.constant(DType::U64, seed);
        let [c1, c2, c3] = others;
        self.make(TileOp::Philox { key, counter: [c.v, c1, c2, c3] }, Quality::Exact);
        Some(())
    }

    /// A [M, K], B [K, N], accumulator [M, N]: whole numbers whose sums are exact; and the result's bound.
    fn operands(&mut self, grow: f64) -> Option<(Val, Val, Val, f64)> {
        let product = |v: &Val| {
            v.shape().len() == 2 && factor(v.d()) && v.d() != DType::F64 && bound(v.q).is_some()
        };
        let a = self.pick(product)?;
        let (m, k) = (a.shape()[0], a.shape()[1]);
        let b = match self.pick(|v| product(v) && v.shape()[0] == k) {
            Some(b) => b,
            None => {
                let v = self.make(TileOp::Transpose { x: a.v, perm: vec![1, 0] }, a.q);
                Val { v, ty: Type::tile(a.d(), [k, m]), q: a.q }
            }
        };
        let n = b.shape()[1];
        let ty = Type::tile(DType::F32, [m, n]);
        let acc = match self.pick(|v| v.ty == ty && bound(v.q).is_some()) {
            Some(acc) => acc,
            None => Val { v: self.like(&ty, 0.0), ty, q: Quality::Small(0.0) },
        };
        let sum = bound(a.q)? * bound(b.q)? * k as f64 * grow + bound(acc.q)?;
        (sum <= whole_limit(DType::F32)).then_some((a, b, acc, sum))
    }

    fn mma(&mut self) -> Option<()> {
        if self.rng.once_in(2) {
            return self.int_mma();
        }
        let (a, b, acc, sum) = self.operands(1.0)?;
        let v = self.b.op1(TileOp::Mma { a: a.v, b: b.v, acc: acc.v });
        self.without_minus_zero(v, Quality::Small(sum));
        Some(())
    }

    fn int_mma(&mut self) -> Option<()> {
        let narrow = [DType::I8, DType::U8, DType::I4, DType::U4];
        let x = self.pick(|v| settled(v) && v.shape().len() == 2)?;
        let (m, k) = (x.shape()[0], x.shape()[1]);
        let to = self.rng.of(&narrow);
        let a = self.cast_to(&x, to);
        let b = match self
            .pick(|v| narrow.contains(&v.d()) && v.shape().len() == 2 && v.shape()[0] == k)
        {
            Some(b) => b,
            None => {
                let v = self.make(TileOp::Transpose { x: a.v, perm: vec![1, 0] }, Quality::Exact);
                Val { v, ty: Type::tile(a.d(), [k, m]), q: Quality::Exact }
            }
        };
        let ty = Type::tile(DType::I32, [m, b.shape()[1]]);
        let acc = match self.pick(|v| v.ty == ty) {
            Some(acc) => acc.v,
            None => self.like(&ty, 1.0),
        };
        self.make(TileOp::Mma { a: a.v, b: b.v, acc }, Quality::Exact);
        Some(())
    }

    /// Scales of 1 and 2 in turn.
    fn scales(&mut self, rows: usize, cols: usize) -> Value {
        let ty = Type::tile(DType::I32, [rows * cols]);
        let run = self.b.op1(TileOp::Iota { len: rows * cols, dtype: DType::I32 });
        let one = self.like(&ty, 1.0);
        let low = self.b.op1(TileOp::Binary { op: BinaryOp::And, lhs: run, rhs: one });
        let x = self.b.op1(TileOp::Binary { op: BinaryOp::Add, lhs: low, rhs: one });
        let to = self.rng.of(&[DType::F32, DType::E8M0, DType::F8E4M3]);
        let (rounding, saturate) = (Rounding::NearestEven, false);
        let x = self.b.op1(TileOp::Cast { x, to, rounding, saturate });
        self.b.op1(TileOp::Reshape { x, shape: vec![rows, cols] })
    }

    fn mma_scaled(&mut self) -> Option<()> {
        let (a, b, acc, sum) = self.operands(4.0)?;
        let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
        let divisors: Vec<usize> = (1..=k).filter(|d| k.is_multiple_of(*d)).collect();
        let group = self.rng.of(&divisors);
        let (scale_a, scale_b) = (self.scales(m, k / group), self.scales(k / group, n));
        let (a, b, acc) = (a.v, b.v, acc.v);
        let v = self.b.op1(TileOp::MmaScaled { a, scale_a, b, scale_b, acc, group });
        self.without_minus_zero(v, Quality::Small(sum));
        Some(())
    }

    /// An op that is a few ulp apart between backends, on arguments of moderate size.
    fn transcendental(&mut self) -> Option<()> {
        let near = |v: &Val| v.d() == DType::F32 && bound(v.q).is_some_and(|b| b <= 64.0);
        let x = self.pick(near)?;
        let eighth = self.like(&x.ty, 0.125);
        let mut v = self.b.op1(TileOp::Binary { op: BinaryOp::Mul, lhs: x.v, rhs: eighth });
        let op = self.rng.of(&[
            UnaryOp::Exp,
            UnaryOp::Exp2,
            UnaryOp::Ln,
            UnaryOp::Log2,
            UnaryOp::Sin,
            UnaryOp::Cos,
            UnaryOp::Tanh,
            UnaryOp::Erf,
        ]);
        if matches!(op, UnaryOp::Ln | UnaryOp::Log2) {
            v = self.b.op1(TileOp::Unary { op: UnaryOp::Abs, x: v });
            v = self.b.op1(TileOp::Binary { op: BinaryOp::Add, lhs: v, rhs: eighth });
        }
        self.make(TileOp::Unary { op, x: v }, Quality::Loose);
        Some(())
    }

    fn dim(&mut self) -> Option<()> {
        let (view, _, dims, _) = self.rng.of(&self.inputs.clone());
        let axis = self.rng.below(dims.len());
        self.make(TileOp::Dim { view, axis }, Quality::Exact);
        Some(())
    }
}
