//! The frame of a random program: parameters, regions, results.

use super::super::convert;
use super::{Config, RandomArg, RandomProgram, Rng, Tolerance};
use tilewright_abi::DType;
use tilewright_ir::{
    Access, AtomicOp, BinaryOp, Bound, Builder, CompareOp, Coord, Fact, Literal, RegionId,
    Rounding, TileOp, Type, Value, ViewType,
};

/// What is known of a value's elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quality {
    /// Whole numbers of at most this size.
    Small(f64),
    /// Every backend has the same.
    Exact,
    /// Backends are a few ulp apart: to be moved and stored only.
    Loose,
}

#[derive(Clone, Debug)]
pub(super) struct Val {
    pub(super) v: Value,
    pub(super) ty: Type,
    pub(super) q: Quality,
}

impl Val {
    pub(super) fn d(&self) -> DType {
        self.ty.elem()
    }

    pub(super) fn shape(&self) -> &[usize] {
        self.ty.shape()
    }

    pub(super) fn is_tile(&self) -> bool {
        matches!(self.ty, Type::Tile(_))
    }
}

pub(super) struct Maker {
    pub(super) rng: Rng,
    pub(super) b: Builder,
    pub(super) config: Config,
    /// Values that may be used here; cut back when a region closes.
    pub(super) pool: Vec<Val>,
    /// View inputs: value, element type, extents, and what their elements are.
    pub(super) inputs: Vec<(Value, DType, Vec<i64>, Quality)>,
    args: Vec<RandomArg>,
    grid: [i64; 3],
    /// The linear program id.
    program: Value,
    depth: usize,
}

const INPUTS: [DType; 13] = [
    DType::F32,
    DType::F32,
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::F8E4M3,
    DType::F8E5M2,
    DType::I8,
    DType::U8,
    DType::I32,
    DType::I64,
    DType::U16,
    DType::Bool,
];

/// Fills memory outside a view.
const CANARY: u8 = 0xa5;

impl Maker {
    pub(super) fn new(seed: u64, config: Config) -> Maker {
        let b = Builder::new(format!("random_{seed}"));
        let (pool, inputs, args) = (Vec::new(), Vec::new(), Vec::new());
        let mut rng = Rng::new(seed);
        let grid = [1 + rng.below(3) as i64, 1 + rng.below(2) as i64, 1 + rng.below(2) as i64];
        Maker { rng, b, config, pool, inputs, args, grid, program: Value(0), depth: 0 }
    }

    pub(super) fn program(mut self) -> RandomProgram {
        for n in 0..2 + self.rng.below(3) {
            self.input(n);
        }
        self.scalars();
        let [p0, p1, p2] = [0, 1, 2].map(|axis| self.b.op1(TileOp::ProgramId { axis }));
        let n0 = self.b.op1(TileOp::NumPrograms { axis: 0 });
        let n1 = self.b.op1(TileOp::NumPrograms { axis: 1 });
        let mul = |b: &mut Builder, lhs, rhs| b.op1(TileOp::Binary { op: BinaryOp::Mul, lhs, rhs });
        let add = |b: &mut Builder, lhs, rhs| b.op1(TileOp::Binary { op: BinaryOp::Add, lhs, rhs });
        let row = mul(&mut self.b, p2, n1);
        let row = add(&mut self.b, row, p1);
        let row = mul(&mut self.b, row, n0);
        self.program = add(&mut self.b, row, p0);
        self.push(self.program, Quality::Exact);
        self.statements(self.config.statements);
        self.outputs();
        RandomProgram { func: self.b.finish(), args: self.args, grid: self.grid }
    }

    pub(super) fn push(&mut self, v: Value, q: Quality) {
        let ty = self.b.func().ty(v).clone();
        self.pool.push(Val { v, ty, q });
    }

    /// Makes an op and keeps its result.
    pub(super) fn make(&mut self, op: TileOp, q: Quality) -> Value {
        let v = self.b.op1(op);
        self.push(v, q);
        v
    }

    /// A recent value that passes, if there is one.
    pub(super) fn pick(&mut self, pass: impl Fn(&Val) -> bool) -> Option<Val> {
        let fit: Vec<usize> = (0..self.pool.len()).filter(|i| pass(&self.pool[*i])).collect();
        // The better of two draws prefers late values, so that chains grow long.
        let i = self.rng.below(fit.len()).max(self.rng.below(fit.len()));
        fit.get(i).map(|i| self.pool[*i].clone())
    }

    pub(super) fn extent(&mut self) -> usize {
        match self.config.odd_extents && self.rng.once_in(4) {
            true => self.rng.of(&[3, 5, 6, 12]),
            false => self.rng.of(&[1, 2, 4, 4, 8, 8, 16]),
        }
    }

    pub(super) fn constant(&mut self, dtype: DType, x: f64) -> Value {
        let bits = if dtype.is_float() {
            let code = convert::encode(dtype, x, Rounding::NearestEven, false);
            convert::decode(dtype, code).to_bits()
        } else {
            let code = convert::cast(DType::F64, dtype, x.to_bits(), Rounding::TowardZero, false);
            convert::decode_int(dtype, code)
        };
        self.b.op1(TileOp::Const(Literal { dtype, bits }))
    }

    /// A number that a dtype is likely to be asked about.
    pub(super) fn number(&mut self, dtype: DType, small: bool) -> f64 {
        let whole = self.rng.below(17) as f64 - 8.0;
        if small || !dtype.is_float() && !self.rng.once_in(4) {
            return whole;
        }
        let unit = self.rng.next() as f64 / u64::MAX as f64;
        match self.rng.below(14) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -0.0,
            4 => 1e38 * (unit - 0.5),
            5 => 1e-40 * unit,
            6 => 70_000.0 * (unit - 0.5),
            7 => 500.0 * (unit - 0.5),
            8 => whole + 0.5,
            _ => 4.0 * (unit - 0.5),
        }
    }

    /// Memory for a view: canaries, and elements by `number` unless `small` is `None`.
    fn memory(&mut self, d: DType, dims: &[i64], fill: Option<bool>) -> (Vec<u8>, Vec<i64>, i64) {
        let mut strides = vec![1i64; dims.len()];
        for i in (1..dims.len()).rev() {
            let gap = if self.rng.once_in(3) { self.rng.below(3) as i64 } else { 0 };
            strides[i - 1] = strides[i] * dims[i].max(1) + gap;
        }
        let offset = self.rng.below(3) as i64;
        let bytes = d.bits() as usize / 8;
        let len = (strides[0] * dims[0] + offset + 2) as usize;
        let mut data = vec![CANARY; len * bytes];
        let Some(small) = fill else { return (data, strides, offset) };
        for chunk in data.chunks_mut(bytes) {
            let x = self.number(d, small);
            let code = match d.is_float() {
                true => convert::encode(d, x, Rounding::NearestEven, false),
                false => convert::cast(DType::F64, d, x.to_bits(), Rounding::TowardZero, false),
            };
            chunk.copy_from_slice(&code.to_le_bytes()[..bytes]);
        }
        (data, strides, offset)
    }

    fn view(
        &mut self,
        name: String,
        dtype: DType,
        dims: &[i64],
        fill: Option<bool>,
        q: Quality,
    ) -> Value {
        let mutable = fill.is_none();
        let ty = Type::View(ViewType { elem: dtype, rank: dims.len(), mutable });
        let index = self.b.func().params.len();
        let v = self.b.param(name, ty);
        let (data, strides, offset) = self.memory(dtype, dims, fill);
        self.b.assume(index, Fact::StrideEquals(dims.len() - 1, 1));
        if self.rng.once_in(2) {
            self.b.assume(index, Fact::DimMultiple(0, dims[0].max(1) as u64));
        }
        let tolerance = if q == Quality::Loose { Tolerance::Close } else { Tolerance::Exact };
        let dims = dims.to_vec();
        self.args.push(RandomArg::View { data, dtype, dims, strides, offset, tolerance });
        v
    }

    fn input(&mut self, n: usize) {
        let dtype = self.rng.of(&INPUTS);
        let rank = self.rng.of(&[1, 1, 2, 2, 2, 3]);
        let dims: Vec<i64> = (0..rank).map(|_| 1 + self.rng.below(20) as i64).collect();
        let small = self.rng.once_in(2);
        let q = match dtype.is_float() && small {
            true => Quality::Small(8.0),
            false => Quality::Exact,
        };
        let v = self.view(format!("x{n}"), dtype, &dims, Some(small), q);
        self.inputs.push((v, dtype, dims, q));
    }

    fn scalars(&mut self) {
        for (name, dtype) in [("n", DType::I64), ("s", DType::F32), ("i", DType::I32)] {
            let x = self.number(dtype, true).abs();
            let v = self.b.param(name, Type::Scalar(dtype));
            let bits = if dtype.is_float() { x.to_bits() } else { x as u64 };
            self.args.push(RandomArg::Scalar(Literal { dtype, bits }));
            let q = if dtype.is_float() { Quality::Small(8.0) } else { Quality::Exact };
            self.push(v, q);
        }
    }

    pub(super) fn statements(&mut self, n: usize) {
        for _ in 0..n {
            if self.config.control_flow && self.depth < 2 && self.rng.once_in(10) {
                self.region_op();
            } else {
                self.statement();
            }
        }
    }

    /// Values to carry: not loose, because what a loop does with them is not known yet.
    fn carried(&mut self) -> Vec<Val> {
        let wanted = self.rng.below(3);
        (0..wanted).filter_map(|_| self.pick(|v| v.q != Quality::Loose)).collect()
    }

    /// Values of these types to yield, each with some of the pool where it can.
    fn yielded(&mut self, like: &[Val]) -> Vec<Value> {
        let one = |m: &mut Self, want: &Val| {
            let same = |v: &Val| v.ty == want.ty && v.q != Quality::Loose;
            m.pick(same).map_or(want.v, |v| v.v)
        };
        like.iter().map(|want| one(self, want)).collect()
    }

    /// Statements in a new region that is entered, with its parameters in the pool.
    fn body(&mut self) {
        self.depth += 1;
        let n = self.config.statements / 4 + 1;
        self.statements(n);
        if self.rng.once_in(3) {
            self.output(true);
        }
        self.depth -= 1;
    }

    fn region_op(&mut self) {
        let keep = self.pool.len();
        match self.rng.below(3) {
            0 => {
                let carried = self.carried();
                let body = self.b.new_region();
                let (lo, step) = (self.rng.below(3) as i64, 1 + self.rng.below(3) as i64);
                let hi = lo + self.rng.below(8) as i64;
                let [lo, hi, step] = [lo, hi, step].map(|n| self.b.index(n));
                let iv = self.b.region_param(body, Type::Scalar(DType::I64));
                self.push(iv, Quality::Exact);
                self.region_params(body, &carried);
                self.b.enter(body);
                self.body();
                let next = self.yielded(&carried);
                self.b.exit(next);
                let inits = carried.iter().map(|v| v.v).collect();
                self.close(keep, TileOp::For { lo, hi, step, inits, body });
            }
            1 => {
                // A counter decides, so that the loop ends.
                let carried = self.carried();
                let zero = self.b.index(0);
                let mut inits = vec![zero];
                inits.extend(carried.iter().map(|v| v.v));
                let (cond, body) = (self.b.new_region(), self.b.new_region());
                let counter = self.b.region_param(cond, Type::Scalar(DType::I64));
                self.region_params(cond, &carried);
                self.b.enter(cond);
                let limit = self.rng.below(4) as i64;
                let limit = self.b.index(limit);
                let more = TileOp::Compare { op: CompareOp::Lt, lhs: counter, rhs: limit };
                let more = self.b.op1(more);
                self.b.exit(vec![more]);
                self.pool.truncate(keep);
                let counter = self.b.region_param(body, Type::Scalar(DType::I64));
                self.push(counter, Quality::Exact);
                self.region_params(body, &carried);
                self.b.enter(body);
                self.body();
                let one = self.b.index(1);
                let add = BinaryOp::Add;
                let mut next = vec![self.b.op1(TileOp::Binary { op: add, lhs: counter, rhs: one })];
                next.extend(self.yielded(&carried));
                self.b.exit(next);
                self.close(keep, TileOp::While { inits, cond, body });
            }
            _ => {
                let bools = |v: &Val| v.ty == Type::Scalar(DType::Bool);
                let cond = match self.pick(bools) {
                    Some(c) => c.v,
                    None => {
                        let zero = self.b.index(self.depth as i64);
                        let op = self.rng.of(&[CompareOp::Eq, CompareOp::Gt]);
                        self.b.op1(TileOp::Compare { op, lhs: self.program, rhs: zero })
                    }
                };
                let like = self.carried();
                let regions = [self.b.new_region(), self.b.new_region()];
                for r in regions {
                    self.b.enter(r);
                    self.body();
                    let values = self.yielded(&like);
                    self.b.exit(values);
                    self.pool.truncate(keep);
                }
                let [then_region, else_region] = regions;
                self.close(keep, TileOp::If { cond, then_region, else_region });
            }
        }
    }

    fn region_params(&mut self, r: RegionId, like: &[Val]) {
        for v in like {
            let param = self.b.region_param(r, v.ty.clone());
            self.push(param, Quality::Exact);
        }
    }

    fn close(&mut self, keep: usize, op: TileOp) {
        self.pool.truncate(keep);
        for v in self.b.op(op) {
            self.push(v, Quality::Exact);
        }
    }

    /// Stores the last values, and some others, so that most of the program matters.
    fn outputs(&mut self) {
        for _ in 0..4 {
            self.output(false);
        }
        if self.rng.once_in(2) {
            self.atomic();
        }
    }

    /// Stores a value where only this program does. In a region its range is unknown.
    fn output(&mut self, nested: bool) {
        let Some(mut x) = self.pick(|v| !nested || v.q != Quality::Loose) else { return };
        if x.d().bits() < 8 || x.d() == DType::TF32 {
            let to = if x.d().is_float() { DType::F32 } else { DType::I32 };
            let (rounding, saturate) = (Rounding::NearestEven, false);
            x.v = self.b.op1(TileOp::Cast { x: x.v, to, rounding, saturate });
            x.ty = x.ty.with_elem(to);
        }
        let programs: i64 = self.grid.iter().product();
        let shape = if x.is_tile() { x.shape().to_vec() } else { vec![1] };
        let mut dims: Vec<i64> = shape.iter().map(|e| *e as i64).collect();
        // Now and then a last program or a last column that is cut short.
        dims[0] = (dims[0] * programs - i64::from(self.rng.once_in(3))).max(1);
        let last = dims.len() - 1;
        if last > 0 && self.rng.once_in(3) {
            dims[last] = (dims[last] + self.rng.below(3) as i64 - 1).max(1);
        }
        let name = format!("y{}", self.b.func().params.len());
        let view = self.view(name, x.d(), &dims, None, x.q);
        let rows = self.b.index(shape[0] as i64);
        let mul = BinaryOp::Mul;
        let first = self.b.op1(TileOp::Binary { op: mul, lhs: self.program, rhs: rows });
        let zero = self.b.index(0);
        let first = match self.rng.below(4) {
            0 if x.is_tile() => self.distinct_rows(first, &shape),
            _ => Coord::Span(first),
        };
        let mut coords = vec![first];
        coords.extend(shape.iter().skip(1).map(|_| Coord::Span(zero)));
        let bounds = vec![Bound::Dim; shape.len()];
        self.b.op(TileOp::Store { access: Access { view, coords, bounds }, value: x.v });
    }

    /// The rows from `first` up or down, as an index tile of the axis or of the whole shape.
    fn distinct_rows(&mut self, first: Value, shape: &[usize]) -> Coord {
        let n = shape[0];
        let tile = |b: &mut Builder, x| b.op1(TileOp::Splat { x, shape: vec![n] });
        let run = self.b.op1(TileOp::Iota { len: n, dtype: DType::I64 });
        let (op, lhs) = match self.rng.once_in(2) {
            true => (BinaryOp::Add, tile(&mut self.b, first)),
            false => {
                let last = self.b.index(n as i64 - 1);
                let last = TileOp::Binary { op: BinaryOp::Add, lhs: first, rhs: last };
                let last = self.b.op1(last);
                (BinaryOp::Sub, tile(&mut self.b, last))
            }
        };
        let rows = self.b.op1(TileOp::Binary { op, lhs, rhs: run });
        if self.rng.once_in(2) {
            return Coord::Rows(rows);
        }
        let mut column = vec![1; shape.len()];
        column[0] = n;
        let x = self.b.op1(TileOp::Reshape { x: rows, shape: column });
        Coord::Gather(self.b.op1(TileOp::Broadcast { x, shape: shape.to_vec() }))
    }

    /// Programs combine into the same elements, by ops that commute.
    fn atomic(&mut self) {
        let fits = |v: &Val| v.is_tile() && matches!(v.d(), DType::I32 | DType::I64 | DType::U32);
        let Some(x) = self.pick(fits) else { return };
        let dims: Vec<i64> = x.shape().iter().map(|e| *e as i64).collect();
        let view = self.view("sum".to_owned(), x.d(), &dims, None, Quality::Exact);
        let zero = self.b.index(0);
        let coords = vec![Coord::Span(zero); dims.len()];
        let inside = if self.rng.once_in(2) { Bound::Inside } else { Bound::Dim };
        let bounds = vec![inside; dims.len()];
        let kinds = [
            AtomicOp::Add,
            AtomicOp::Max,
            AtomicOp::Min,
            AtomicOp::And,
            AtomicOp::Or,
            AtomicOp::Xor,
        ];
        let op = self.rng.of(&kinds);
        let access = Access { view, coords, bounds };
        self.b.op(TileOp::Atomic { op, access, value: x.v });
    }
}
