//! The closed set of tile operations.
//!
//! Each variant's doc is its meaning; `codegen/src/interp` executes exactly that. A `match` on
//! [`TileOp`] is exhaustive everywhere, so a new op stops the build in the verifier, the text form,
//! the interpreter and each family's lowering until it is handled or refused with a reason.
//!
//! Conventions. "T" is a scalar or a tile; binary ops take two operands of the same type. Scalars
//! are never broadcast implicitly: [`TileOp::Splat`] does it. Indices, dims and strides are `i64`.

use crate::func::{RegionId, Value};
use tilewright_abi::DType;

/// A compile-time scalar. Floats are kept by the bits of their own format widened to `f64` bits, so
/// that printing and parsing are exact; integers as two's complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Literal {
    /// Type of the constant.
    pub dtype: DType,
    /// `f64` bits for a float, sign- or zero-extended value for an integer, 0 or 1 for a bool.
    pub bits: u64,
}

/// T → T.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// Arithmetic negation; integers wrap.
    Neg,
    /// Absolute value; integers wrap.
    Abs,
    /// Bitwise (integers) or logical (bool) complement.
    Not,
    /// e^x. f32: within 2 ulp; exp(−inf) = 0, exp(inf) = inf.
    Exp,
    /// 2^x. f32: within 2 ulp.
    Exp2,
    /// Natural logarithm. f32: within 2 ulp; ln 0 = −inf, ln of a negative is NaN.
    Ln,
    /// Base-2 logarithm. f32: within 2 ulp.
    Log2,
    /// Correctly rounded square root.
    Sqrt,
    /// 1 / sqrt(x), computed as a correctly rounded division of 1 by the correctly rounded root.
    Rsqrt,
    /// 1 / x, correctly rounded.
    Recip,
    /// Sine, argument reduced for |x| up to 2^20. f32: absolute error within 2^-22.
    Sin,
    /// Cosine, as `Sin`.
    Cos,
    /// Hyperbolic tangent. f32: within 4 ulp.
    Tanh,
    /// Error function. f32: within 4 ulp.
    Erf,
    /// Towards −inf.
    Floor,
    /// Towards +inf.
    Ceil,
    /// To nearest, ties to even.
    Round,
    /// Towards zero.
    Trunc,
}

/// (T, T) → T.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Addition; integers wrap. Never contracted with a multiplication: see [`TileOp::Fma`].
    Add,
    /// Subtraction; integers wrap.
    Sub,
    /// Multiplication; integers wrap.
    Mul,
    /// Float: correctly rounded. Integer: truncated; division by zero gives 0, min / −1 wraps.
    Div,
    /// Remainder with the sign of the dividend; by zero gives 0. Floats as C `fmod`.
    Rem,
    /// Float: IEEE `maximum` (NaN wins, −0 < +0). Integer: by signedness.
    Max,
    /// Float: IEEE `minimum`. Integer: by signedness.
    Min,
    /// Bitwise and; logical for bool.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift left. The count is read as unsigned; at or above the width it gives 0.
    Shl,
    /// Shift right: arithmetic for signed, logical for unsigned; an over-wide
    /// count gives the sign fill or 0.
    Shr,
}

/// (T, T) → bool of the same shape. Float comparisons are ordered, except `Ne`, which is true on NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the usual six comparisons")]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// How a cast to a narrower float rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even.
    NearestEven,
    /// Towards zero: finite overflow gives the largest finite value. A float goes to an integer by
    /// the rounding given: this one is C's conversion.
    TowardZero,
}

/// Associative reductions. Float `Sum` order: unspecified but fixed for a variant and target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named by the binary operation they fold")]
pub enum ReduceOp {
    Sum,
    Prod,
    Max,
    Min,
    And,
    Or,
    Xor,
}

/// Atomic read-modify-write of one element, relaxed, device scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named by the binary operation they apply")]
pub enum AtomicOp {
    Add,
    Max,
    Min,
    And,
    Or,
    Xor,
    Exchange,
}

/// Where a tile lies along one axis of a view. A tile access has one per view axis, and the tile has
/// the view's rank (axes of extent 1 stand for a fixed coordinate).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coord {
    /// Elements `origin .. origin + extent`; `origin` is an `i64` scalar.
    Span(Value),
    /// Element `i` of this axis is row `index[i]`; `index` is an `i32` or `i64` tile of shape
    /// `[extent]`. A negative index masks the row (loads give `other`, stores skip).
    Rows(Value),
    /// Every element has its own coordinate: an `i32` or `i64` tile of the access's full shape. Negative masks.
    Gather(Value),
}

/// What is known of a tile access along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// Coordinates outside `0 .. dim` are masked.
    Dim,
    /// Coordinates outside `0 .. min(dim, limit)` are masked; an `i64` scalar.
    Limit(Value),
    /// The kernel promises that every coordinate is inside; the interpreter reports one that is not.
    Inside,
}

/// A memory access: `view` at one coordinate and one bound per axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The view.
    pub view: Value,
    /// One per view axis.
    pub coords: Vec<Coord>,
    /// One per view axis.
    pub bounds: Vec<Bound>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant's doc names its fields and gives their meaning")]
pub enum TileOp {
    /// A scalar constant.
    Const(Literal),
    /// `[0, 1, … len−1]` as a tile of shape `[len]`; `dtype` is an integer type.
    Iota { len: usize, dtype: DType },
    /// A tile whose every element is the scalar `x`.
    Splat { x: Value, shape: Vec<usize> },

    /// Element-wise.
    Unary { op: UnaryOp, x: Value },
    /// Element-wise.
    Binary { op: BinaryOp, lhs: Value, rhs: Value },
    /// Element-wise, to bool.
    Compare { op: CompareOp, lhs: Value, rhs: Value },
    /// `a·b + c` with one rounding.
    Fma { a: Value, b: Value, c: Value },
    /// `cond ? on_true : on_false`; `cond` is bool of the same shape.
    Select { cond: Value, on_true: Value, on_false: Value },
    /// Numeric conversion, rounded once from the exact source value.
    ///
    /// To a float: `rounding`; `saturate` clamps finite overflow and infinities to the largest finite
    /// value, otherwise overflow gives the format's infinity, or its NaN where it has none (f8e4m3,
    /// FNUZ, e8m0). f6 and f4 have neither: they always saturate, and NaN gives the largest positive
    /// value. A negative number is NaN in e8m0, zero its smallest value. NaN otherwise stays NaN.
    /// Float → integer clamps, NaN → 0. Integer → narrower integer wraps, or clamps if `saturate`.
    /// From bool: 0 or 1. To bool: whether it is not 0 (NaN is true).
    Cast { x: Value, to: DType, rounding: Rounding, saturate: bool },
    /// Same bits, another dtype of the same width; not to or from bool, not to tf32.
    Bitcast { x: Value, to: DType },

    /// Same elements in row-major order, another shape.
    Reshape { x: Value, shape: Vec<usize> },
    /// Result axis `i` is `x`'s axis `perm[i]`.
    Transpose { x: Value, perm: Vec<usize> },
    /// Repeats axes of extent 1 to `shape` (same rank).
    Broadcast { x: Value, shape: Vec<usize> },
    /// The block of `shape` that starts at `starts`.
    Slice { x: Value, starts: Vec<usize>, shape: Vec<usize> },
    /// Stacks two equal tiles along a new last axis of extent 2.
    Join { lhs: Value, rhs: Value },
    /// Takes the last axis, of extent 2, apart: two results.
    Split { x: Value },

    /// Extent of a view's axis, `i64`.
    Dim { view: Value, axis: usize },
    /// Reads a tile (or, with an empty `shape`, one element at all-`Span` coordinates). Masked
    /// elements are `other` (a scalar of the view's dtype) or 0.
    Load { access: Access, shape: Vec<usize>, other: Option<Value> },
    /// Writes a tile or a scalar; masked elements are not written. Two elements of one store must not
    /// have the same address.
    Store { access: Access, value: Value },
    /// Atomically combines a tile or scalar into memory; masked elements do nothing.
    Atomic { op: AtomicOp, access: Access, value: Value },

    /// `acc + a·b`: a `[M, K]`, b `[K, N]`, acc `[M, N]` of f32 (float operands; bf16, f16 and fp8
    /// products are exact in f32), f64 (f64 operands) or i32 (integer operands of 8 or 4 bits, exact, wrapping).
    /// Order of the f32 sum: unspecified but fixed for a variant and target.
    Mma { a: Value, b: Value, acc: Value },
    /// As `Mma`, each group of `group` elements of K multiplied by its scale first: scale_a
    /// `[M, K/group]`, scale_b `[K/group, N]`, of f32, e8m0 or f8e4m3.
    MmaScaled { a: Value, scale_a: Value, b: Value, scale_b: Value, acc: Value, group: usize },
    /// Folds `axis`, which disappears (rank 1 gives a scalar).
    Reduce { op: ReduceOp, x: Value, axis: usize },
    /// (extreme value, its index as i32) along `axis`, which disappears. `max` chooses maximum or
    /// minimum; the first NaN wins, else the lowest index among equals; −0 equals +0.
    ArgReduce { max: bool, x: Value, axis: usize },
    /// Inclusive prefix fold along `axis`, from index 0 up, in order.
    Scan { op: ReduceOp, x: Value, axis: usize },
    /// (values, original positions as i32) sorted along `axis`, stable; NaN sorts as the largest value.
    Sort { x: Value, axis: usize, descending: bool },
    /// i32 counts `[bins]` of a rank-1 i32 tile; values outside `0 .. bins` are not counted.
    Histogram { x: Value, bins: usize },
    /// First word of Philox4x32-10 for a u64 scalar `key` and the counter words `c0..c3` (u32, T): u32, T.
    Philox { key: Value, counter: [Value; 4] },

    /// This program's position on grid axis 0, 1 or 2, `i64`.
    ProgramId { axis: usize },
    /// The grid's extent on an axis, `i64`.
    NumPrograms { axis: usize },

    /// `for iv in (lo..hi).step_by(step)`: i64 scalars, `step` > 0. `body` has parameters (iv,
    /// carried…) and yields the carried values; results are the carried values after the last trip.
    For { lo: Value, hi: Value, step: Value, inits: Vec<Value>, body: RegionId },
    /// `cond` (parameters: carried) yields one bool; while true, `body` (parameters: carried) yields the next.
    While { inits: Vec<Value>, cond: RegionId, body: RegionId },
    /// Both regions have no parameters and yield the results; `cond` is a bool scalar.
    If { cond: Value, then_region: RegionId, else_region: RegionId },
    /// Ends a region. The function's own region ends with an empty one.
    Yield { values: Vec<Value> },
}

impl TileOp {
    /// Every value the op reads, in a fixed order; regions are not entered.
    pub fn operands(&self) -> Vec<Value> {
        let mut out = Vec::new();
        self.clone().map_operands(&mut |v| {
            out.push(v);
            v
        });
        out
    }

    /// Replaces each operand `v` by `f(v)`, in the order of [`TileOp::operands`].
    pub fn map_operands(&mut self, f: &mut dyn FnMut(Value) -> Value) {
        let mut m = |v: &mut Value| *v = f(*v);
        match self {
            TileOp::Const(_)
            | TileOp::Iota { .. }
            | TileOp::ProgramId { .. }
            | TileOp::NumPrograms { .. } => {}
            TileOp::Splat { x, .. }
            | TileOp::Unary { x, .. }
            | TileOp::Cast { x, .. }
            | TileOp::Bitcast { x, .. }
            | TileOp::Reshape { x, .. }
            | TileOp::Transpose { x, .. }
            | TileOp::Broadcast { x, .. }
            | TileOp::Slice { x, .. }
            | TileOp::Split { x }
            | TileOp::Reduce { x, .. }
            | TileOp::ArgReduce { x, .. }
            | TileOp::Scan { x, .. }
            | TileOp::Sort { x, .. }
            | TileOp::Histogram { x, .. } => m(x),
            TileOp::Dim { view, .. } => m(view),
            TileOp::Binary { lhs, rhs, .. }
            | TileOp::Compare { lhs, rhs, .. }
            | TileOp::Join { lhs, rhs } => {
                m(lhs);
                m(rhs);
            }
            TileOp::Fma { a, b, c } => {
                m(a);
                m(b);
                m(c);
            }
            TileOp::Select { cond, on_true, on_false } => {
                m(cond);
                m(on_true);
                m(on_false);
            }
            TileOp::Load { access, other, .. } => {
                access.map(&mut m);
                if let Some(v) = other {
                    m(v);
                }
            }
            TileOp::Store { access, value } | TileOp::Atomic { access, value, .. } => {
                access.map(&mut m);
                m(value);
            }
            TileOp::Mma { a, b, acc } => {
                m(a);
                m(b);
                m(acc);
            }
            TileOp::MmaScaled { a, scale_a, b, scale_b, acc, .. } => {
                m(a);
                m(scale_a);
                m(b);
                m(scale_b);
                m(acc);
            }
            TileOp::Philox { key, counter } => {
                m(key);
                counter.iter_mut().for_each(m);
            }
            TileOp::For { lo, hi, step, inits, .. } => {
                m(lo);
                m(hi);
                m(step);
                inits.iter_mut().for_each(m);
            }
            TileOp::While { inits, .. } => inits.iter_mut().for_each(m),
            TileOp::If { cond, .. } => m(cond),
            TileOp::Yield { values } => values.iter_mut().for_each(m),
        }
    }

    /// The regions the op owns.
    pub fn regions(&self) -> Vec<RegionId> {
        match self {
            TileOp::For { body, .. } => vec![*body],
            TileOp::While { cond, body, .. } => vec![*cond, *body],
            TileOp::If { then_region, else_region, .. } => vec![*then_region, *else_region],
            _ => Vec::new(),
        }
    }

    /// Whether the op writes memory, and so must not be removed, duplicated or reordered with another access.
    pub fn writes_memory(&self) -> bool {
        matches!(self, TileOp::Store { .. } | TileOp::Atomic { .. })
    }
}

impl Access {
    fn map(&mut self, m: &mut dyn FnMut(&mut Value)) {
        m(&mut self.view);
        for c in &mut self.coords {
            match c {
                Coord::Span(v) | Coord::Rows(v) | Coord::Gather(v) => m(v),
            }
        }
        for b in &mut self.bounds {
            if let Bound::Limit(v) = b {
                m(v);
            }
        }
    }
}
