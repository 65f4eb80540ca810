//! The only way to make instructions: infers result types and keeps the region stack.

use crate::func::*;
use crate::op::*;
use crate::span::Span;
use crate::types::Type;
use tilewright_abi::DType;

/// Builds one [`Func`]. Errors are not reported here: an op with wrong operands gets the best type
/// that can be inferred and the verifier reports it with its span, so that one staging run collects all.
#[derive(Debug, Default)]
pub struct Builder {
    func: Func,
    open: Vec<RegionId>,
    span: Span,
}

impl Builder {
    /// A builder for a kernel of this name, with the body region open.
    pub fn new(name: impl Into<String>) -> Builder {
        let mut b = Builder::default();
        b.func.name = name.into();
        let body = b.new_region();
        b.open.push(body);
        b
    }

    /// The function so far.
    pub fn func(&self) -> &Func {
        &self.func
    }

    /// Source position of the ops that follow.
    pub fn set_span(&mut self, span: Span) {
        self.span = span;
    }

    /// Adds a launch parameter.
    pub fn param(&mut self, name: impl Into<String>, ty: Type) -> Value {
        let value = self.new_value(ty, Def::Param(self.func.params.len()));
        self.func.params.push(Param { name: name.into(), value });
        value
    }

    /// Records a promise about parameter `param`.
    pub fn assume(&mut self, param: usize, fact: Fact) {
        self.func.assumes.push(Assume { param, fact });
    }

    /// A region with no parameters, not open.
    pub fn new_region(&mut self) -> RegionId {
        self.func.regions.push(RegionData::default());
        RegionId(self.func.regions.len() as u32 - 1)
    }

    /// Adds a parameter to a region.
    pub fn region_param(&mut self, r: RegionId, ty: Type) -> Value {
        let n = self.func.regions[r.index()].params.len();
        let value = self.new_value(ty, Def::RegionParam(r, n));
        self.func.regions[r.index()].params.push(value);
        value
    }

    /// Appends to `r` until [`Builder::exit`].
    pub fn enter(&mut self, r: RegionId) {
        self.open.push(r);
    }

    /// Ends the innermost open region with a yield of `values`.
    pub fn exit(&mut self, values: Vec<Value>) {
        self.push_inst(TileOp::Yield { values }, &[]);
        self.open.pop();
    }

    /// Leaves the innermost open region without a yield and forgets its contents (a discarded staging pass).
    pub fn discard(&mut self) {
        if let Some(r) = self.open.pop() {
            self.func.regions[r.index()] = RegionData::default();
        }
    }

    /// The open regions, outermost first.
    pub fn open_regions(&self) -> &[RegionId] {
        &self.open
    }

    /// Appends an op with the result types that follow from its operands; returns the results.
    pub fn op(&mut self, op: TileOp) -> Vec<Value> {
        let types = result_types(&self.func, &op);
        self.push_inst(op, &types)
    }

    /// Appends an op that has exactly one result.
    pub fn op1(&mut self, op: TileOp) -> Value {
        self.op(op)[0]
    }

    /// Appends an op whose result types are given: the parser keeps them as written.
    pub(crate) fn op_typed(&mut self, op: TileOp, types: &[Type]) -> Vec<Value> {
        self.push_inst(op, types)
    }

    pub(crate) fn set_name(&mut self, name: String) {
        self.func.name = name;
    }

    pub(crate) fn set_inst_span(&mut self, inst: Inst, span: Span) {
        if let Some(data) = self.func.insts.get_mut(inst.index()) {
            data.span = span;
        }
    }

    /// Leaves the innermost open region, whose `yield` is there already.
    pub(crate) fn leave(&mut self) {
        self.open.pop();
    }

    /// An `i64` constant.
    pub fn index(&mut self, v: i64) -> Value {
        self.op1(TileOp::Const(Literal { dtype: DType::I64, bits: v as u64 }))
    }

    /// Ends the body and returns the function.
    pub fn finish(mut self) -> Func {
        while !self.open.is_empty() {
            self.exit(Vec::new());
        }
        self.func
    }

    fn push_inst(&mut self, op: TileOp, types: &[Type]) -> Vec<Value> {
        let inst = Inst(self.func.insts.len() as u32);
        let results: Vec<Value> = types
            .iter()
            .enumerate()
            .map(|(n, ty)| self.new_value(ty.clone(), Def::Result(inst, n)))
            .collect();
        self.func.insts.push(InstData { op, results: results.clone(), span: self.span.clone() });
        if let Some(&r) = self.open.last() {
            self.func.regions[r.index()].insts.push(inst);
        }
        results
    }

    fn new_value(&mut self, ty: Type, def: Def) -> Value {
        self.func.values.push(ValueData { ty, def });
        Value(self.func.values.len() as u32 - 1)
    }
}

/// Result types of `op` in `f`. For control flow they are the types of the initial or yielded values.
pub fn result_types(f: &Func, op: &TileOp) -> Vec<Type> {
    let ty = |v: Value| f.ty(v).clone();
    let reshaped = |v: Value, shape: &[usize]| {
        if shape.is_empty() {
            Type::Scalar(f.ty(v).elem())
        } else {
            Type::tile(f.ty(v).elem(), shape)
        }
    };
    let without_axis = |v: Value, axis: usize| {
        let mut shape = f.ty(v).shape().to_vec();
        if axis < shape.len() {
            shape.remove(axis);
        }
        shape
    };
    match op {
        TileOp::Const(l) => vec![Type::Scalar(l.dtype)],
        TileOp::Iota { len, dtype } => vec![Type::tile(*dtype, [*len])],
        TileOp::Splat { x, shape }
        | TileOp::Reshape { x, shape }
        | TileOp::Broadcast { x, shape }
        | TileOp::Slice { x, shape, .. } => vec![reshaped(*x, shape)],
        TileOp::Unary { x, .. } => vec![ty(*x)],
        TileOp::Binary { lhs, .. } => vec![ty(*lhs)],
        TileOp::Compare { lhs, .. } => vec![ty(*lhs).with_elem(DType::Bool)],
        TileOp::Fma { a, .. } => vec![ty(*a)],
        TileOp::Select { on_true, .. } => vec![ty(*on_true)],
        TileOp::Cast { x, to, .. } | TileOp::Bitcast { x, to } => vec![ty(*x).with_elem(*to)],
        TileOp::Transpose { x, perm } => {
            let s = f.ty(*x).shape();
            let shape: Vec<usize> = perm.iter().map(|&p| s.get(p).copied().unwrap_or(1)).collect();
            vec![reshaped(*x, &shape)]
        }
        TileOp::Join { lhs, .. } => {
            let mut shape = f.ty(*lhs).shape().to_vec();
            shape.push(2);
            vec![reshaped(*lhs, &shape)]
        }
        TileOp::Split { x } => {
            let mut shape = f.ty(*x).shape().to_vec();
            shape.pop();
            vec![reshaped(*x, &shape); 2]
        }
        TileOp::Dim { .. } | TileOp::ProgramId { .. } | TileOp::NumPrograms { .. } => {
            vec![Type::Scalar(DType::I64)]
        }
        TileOp::Load { access, shape, .. } => vec![reshaped(access.view, shape)],
        TileOp::Store { .. } | TileOp::Atomic { .. } | TileOp::Yield { .. } => vec![],
        TileOp::Mma { acc, .. } | TileOp::MmaScaled { acc, .. } => vec![ty(*acc)],
        TileOp::Reduce { x, axis, .. } => vec![reshaped(*x, &without_axis(*x, *axis))],
        TileOp::ArgReduce { x, axis, .. } => {
            let t = reshaped(*x, &without_axis(*x, *axis));
            let i = t.with_elem(DType::I32);
            vec![t, i]
        }
        TileOp::Scan { x, .. } => vec![ty(*x)],
        TileOp::Sort { x, .. } => vec![ty(*x), ty(*x).with_elem(DType::I32)],
        TileOp::Histogram { bins, .. } => vec![Type::tile(DType::I32, [*bins])],
        TileOp::Philox { counter, .. } => vec![ty(counter[2])],
        TileOp::For { inits, .. } | TileOp::While { inits, .. } => {
            inits.iter().map(|&v| ty(v)).collect()
        }
        TileOp::If { then_region, .. } => f.yields(*then_region).iter().map(|&v| ty(v)).collect(),
    }
}
