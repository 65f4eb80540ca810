//! Emits operations into a function; folds what is constant.

use super::op::*;

/// Appends to one block of one function at a time.
#[derive(Debug, Default)]
pub struct Builder {
    /// The function so far.
    pub func: Func,
    at: Block0,
}

#[derive(Debug, Default, Clone, Copy)]
struct Block0(u32);

impl Builder {
    /// A function with an empty entry block.
    pub fn new(name: &str, params: &[Ty], ret: Option<Ty>) -> Builder {
        let blocks = vec![BlockData::default()];
        let (name, params) = (name.into(), params.to_vec());
        Builder {
            func: Func { name, params, ret, blocks, ..Func::default() },
            ..Builder::default()
        }
    }

    /// Parameter `n`.
    pub fn arg(&mut self, n: u32) -> Val {
        let ty = self.func.params[n as usize];
        self.value(Op::Arg(n), ty)
    }

    /// Type of a value.
    pub fn ty(&self, v: Val) -> Ty {
        self.func.ty(v)
    }

    /// A new block.
    pub fn block(&mut self) -> Block {
        self.func.blocks.push(BlockData::default());
        Block(self.func.blocks.len() as u32 - 1)
    }

    /// The block appended to.
    pub fn current(&self) -> Block {
        Block(self.at.0)
    }

    /// Appends to `b` from now on.
    pub fn switch_to(&mut self, b: Block) {
        self.at = Block0(b.0);
    }

    fn end(&mut self, term: Term) {
        let block = &mut self.func.blocks[self.at.0 as usize];
        if block.term.is_none() {
            block.term = Some(term);
        }
    }

    /// Ends the block.
    pub fn br(&mut self, to: Block) {
        self.end(Term::Br(to));
    }

    /// Ends the block.
    pub fn cond_br(&mut self, cond: Val, then: Block, other: Block) {
        self.end(Term::CondBr { cond, then, other, unlikely: false });
    }

    /// Ends the block; `rare` is taken seldom.
    pub fn rare_br(&mut self, cond: Val, rare: Block, other: Block) {
        self.end(Term::CondBr { cond, then: rare, other, unlikely: true });
    }

    /// Ends the block.
    pub fn ret(&mut self, v: Option<Val>) {
        self.end(Term::Ret(v));
    }

    /// A value that is not an instruction of a block.
    fn value(&mut self, op: Op, ty: Ty) -> Val {
        self.func.insts.push(Inst { op, ty, anchor: false });
        Val(self.func.insts.len() as u32 - 1)
    }

    /// Appends an operation.
    pub fn push(&mut self, op: Op, ty: Ty) -> Val {
        let v = self.value(op, ty);
        self.func.blocks[self.at.0 as usize].insts.push(v);
        v
    }

    /// Marks an operation as one whose order the lowering chose.
    pub fn anchor(&mut self, v: Val) {
        self.func.insts[v.0 as usize].anchor = true;
    }

    /// A phi at the head of the current block, filled by [`Builder::add_incoming`].
    pub fn phi(&mut self, ty: Ty) -> Val {
        self.push(Op::Phi(Vec::new()), ty)
    }

    /// Adds a predecessor's value to a phi.
    pub fn add_incoming(&mut self, phi: Val, from: Block, v: Val) {
        if let Op::Phi(list) = &mut self.func.insts[phi.0 as usize].op {
            list.push((from, v));
        }
    }

    /// Stack memory, in the entry block.
    pub fn alloca(&mut self, bytes: u64) -> Val {
        let v = self.value(Op::Alloca { bytes }, Ty::scalar(Elem::Ptr));
        self.func.blocks[0].insts.insert(0, v);
        v
    }

    /// Makes stack memory at least this large.
    pub fn grow(&mut self, v: Val, bytes: u64) {
        if let Op::Alloca { bytes: have } = &mut self.func.insts[v.0 as usize].op {
            *have = bytes.max(*have);
        }
    }

    /// Emits at the end of the entry block, so once for all program ids.
    pub fn in_entry(&mut self, f: impl FnOnce(&mut Builder)) {
        let at = self.at;
        self.at = Block0(0);
        f(self);
        self.at = at;
    }

    /// The same constant in every lane, by raw bits.
    pub fn konst(&mut self, ty: Ty, bits: u64) -> Val {
        let mask = if ty.elem.bits() >= 64 { u64::MAX } else { (1 << ty.elem.bits()) - 1 };
        self.value(Op::Const(bits & mask), ty)
    }

    /// An `i64` constant.
    pub fn i64(&mut self, v: i64) -> Val {
        self.konst(Ty::scalar(Elem::I64), v as u64)
    }

    /// A float constant, in f32 or f64.
    pub fn float(&mut self, ty: Ty, v: f64) -> Val {
        let bits = if ty.elem == Elem::F64 { v.to_bits() } else { u64::from((v as f32).to_bits()) };
        self.konst(ty, bits)
    }

    /// A constant vector.
    pub fn const_vec(&mut self, elem: Elem, lanes: Vec<u64>) -> Val {
        let ty = Ty::vector(elem, lanes.len() as u32);
        if lanes.windows(2).all(|w| w[0] == w[1]) {
            return self.konst(ty, lanes.first().copied().unwrap_or(0));
        }
        self.value(Op::ConstVec(lanes), ty)
    }

    /// The bits of a constant.
    pub fn as_const(&self, v: Val) -> Option<u64> {
        match self.func.inst(v).op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// Arithmetic.
    pub fn bin(&mut self, op: BinOp, a: Val, b: Val) -> Val {
        let ty = self.ty(a);
        let (ca, cb) = (self.as_const(a), self.as_const(b));
        if let (Some(x), Some(y)) = (ca, cb)
            && let Some(bits) = fold(op, ty.elem, x, y)
        {
            return self.konst(ty, bits);
        }
        if let (BinOp::LShr, Some(shift), Op::Cast(CastOp::Trunc, wide)) =
            (op, cb, self.func.inst(a).op.clone())
            && shift < u64::from(ty.elem.bits())
        {
            // Shifted before the truncation, the result extends back by a mask.
            let down = self.bin_imm(BinOp::LShr, wide, shift);
            let kept =
                self.bin_imm(BinOp::And, down, (1 << (u64::from(ty.elem.bits()) - shift)) - 1);
            return self.cast(CastOp::Trunc, kept, ty.elem);
        }
        match (op, ca, cb) {
            (BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor, _, Some(0))
            | (BinOp::Shl | BinOp::LShr | BinOp::AShr, _, Some(0))
            | (BinOp::Mul, _, Some(1)) => return a,
            (BinOp::Add | BinOp::Or | BinOp::Xor, Some(0), _) | (BinOp::Mul, Some(1), _) => {
                return b;
            }
            (BinOp::And, Some(0), _) | (BinOp::Mul, Some(0), _) => return a,
            (BinOp::And, _, Some(0)) | (BinOp::Mul, _, Some(0)) => return b,
            (BinOp::And, Some(1), _) if ty.elem == Elem::I1 => return b,
            (BinOp::And, _, Some(1)) if ty.elem == Elem::I1 => return a,
            _ => {}
        }
        self.push(Op::Bin(op, a, b), ty)
    }

    /// Arithmetic with a constant on the right.
    pub fn bin_imm(&mut self, op: BinOp, a: Val, bits: u64) -> Val {
        let ty = self.ty(a);
        let c = self.konst(ty, bits);
        self.bin(op, a, c)
    }

    /// Comparison.
    pub fn cmp(&mut self, op: CmpOp, a: Val, b: Val) -> Val {
        let ty = self.ty(a).with(Elem::I1);
        if let (Some(x), Some(y), Elem::I64) = (self.as_const(a), self.as_const(b), self.ty(a).elem)
        {
            let (s, t) = (x as i64, y as i64);
            let known = match op {
                CmpOp::Eq => Some(x == y),
                CmpOp::Ne => Some(x != y),
                CmpOp::Slt => Some(s < t),
                CmpOp::Sle => Some(s <= t),
                CmpOp::Sgt => Some(s > t),
                CmpOp::Sge => Some(s >= t),
                _ => None,
            };
            if let Some(k) = known {
                return self.konst(ty, u64::from(k));
            }
        }
        self.push(Op::Cmp(op, a, b), ty)
    }

    /// Comparison with a constant on the right.
    pub fn cmp_imm(&mut self, op: CmpOp, a: Val, bits: u64) -> Val {
        let ty = self.ty(a);
        let c = self.konst(ty, bits);
        self.cmp(op, a, c)
    }

    /// Conversion to another element; nothing if it is the same.
    pub fn cast(&mut self, op: CastOp, a: Val, elem: Elem) -> Val {
        let (from, ty) = (self.ty(a), self.ty(a).with(elem));
        match (self.as_const(a), op) {
            _ if from == ty => a,
            (Some(bits), CastOp::ZExt | CastOp::Trunc) => self.konst(ty, bits),
            (Some(bits), CastOp::SExt) => {
                let unused = 64 - from.elem.bits();
                self.konst(ty, ((bits << unused) as i64 >> unused) as u64)
            }
            _ => self.push(Op::Cast(op, a), ty),
        }
    }

    /// Reinterpretation as a type of the same total width.
    pub fn bitcast(&mut self, a: Val, ty: Ty) -> Val {
        let from = self.ty(a);
        match self.as_const(a) {
            _ if from == ty => a,
            Some(bits) if from.lanes == ty.lanes => self.konst(ty, bits),
            _ => self.push(Op::Cast(CastOp::Bitcast, a), ty),
        }
    }

    /// Lane-wise reinterpretation.
    pub fn bits_as(&mut self, a: Val, elem: Elem) -> Val {
        let ty = self.ty(a).with(elem);
        self.bitcast(a, ty)
    }

    /// Choice.
    pub fn select(&mut self, c: Val, a: Val, b: Val) -> Val {
        if a == b {
            return a;
        }
        match self.as_const(c) {
            Some(0) => b,
            Some(_) => a,
            None => {
                let ty = self.ty(a);
                self.push(Op::Select(c, a, b), ty)
            }
        }
    }

    /// Complement of an `i1`.
    pub fn not(&mut self, a: Val) -> Val {
        let ones = if self.ty(a).elem == Elem::I1 { 1 } else { u64::MAX };
        self.bin_imm(BinOp::Xor, a, ones)
    }

    /// A read.
    pub fn load(&mut self, ptr: Val, ty: Ty, align: u32) -> Val {
        self.push(Op::Load { ptr, align }, ty)
    }

    /// A write.
    pub fn store(&mut self, value: Val, ptr: Val, align: u32) {
        let ty = self.ty(value);
        self.push(Op::Store { value, ptr, align }, ty);
    }

    /// Address plus bytes.
    pub fn gep(&mut self, base: Val, offset: Val) -> Val {
        if self.as_const(offset) == Some(0) && self.ty(offset).lanes == 0 {
            return base;
        }
        let ty = Ty { elem: Elem::Ptr, lanes: self.ty(offset).lanes };
        self.push(Op::Gep { base, offset }, ty)
    }

    /// Address plus constant bytes.
    pub fn gep_imm(&mut self, base: Val, bytes: i64) -> Val {
        let offset = self.i64(bytes);
        self.gep(base, offset)
    }

    /// Shuffle; the identity is nothing.
    pub fn shuffle(&mut self, a: Val, b: Val, mask: Vec<u32>) -> Val {
        let ty = self.ty(a);
        if mask.len() == ty.lanes as usize && mask.iter().enumerate().all(|(i, &m)| m as usize == i)
        {
            return a;
        }
        let lanes = mask.len() as u32;
        if self.as_const(a).is_some() && (a == b || mask.iter().all(|&m| m < ty.lanes)) {
            let bits = self.as_const(a).unwrap_or(0);
            return self.konst(Ty { lanes, ..ty }, bits);
        }
        self.push(Op::Shuffle(a, b, mask), Ty { lanes, ..ty })
    }

    /// One lane.
    pub fn extract(&mut self, v: Val, lane: u32) -> Val {
        let ty = Ty::scalar(self.ty(v).elem);
        match self.func.inst(v).op {
            Op::Const(bits) => self.konst(ty, bits),
            Op::Splat(x) => x,
            _ => self.push(Op::Extract(v, lane), ty),
        }
    }

    /// A vector with one lane replaced.
    pub fn insert(&mut self, v: Val, x: Val, lane: u32) -> Val {
        let ty = self.ty(v);
        self.push(Op::Insert(v, x, lane), ty)
    }

    /// A scalar in every lane; `lanes` 0 leaves it a scalar.
    pub fn splat(&mut self, x: Val, lanes: u32) -> Val {
        let ty = Ty { elem: self.ty(x).elem, lanes };
        match (lanes, self.as_const(x)) {
            (0, _) => x,
            (_, Some(bits)) => self.konst(ty, bits),
            _ => self.push(Op::Splat(x), ty),
        }
    }

    /// A call without effects, of an LLVM intrinsic with its type suffix appended by the caller.
    pub fn call(&mut self, callee: impl Into<String>, args: &[Val], ty: Ty) -> Val {
        self.push(Op::Call { callee: callee.into(), args: args.to_vec(), effects: false }, ty)
    }

    /// A call with effects; the result type is that of `ty`, `None` for nothing.
    pub fn call_effect(&mut self, callee: impl Into<String>, args: &[Val], ty: Option<Ty>) -> Val {
        let op = Op::Call { callee: callee.into(), args: args.to_vec(), effects: true };
        self.push(op, ty.unwrap_or(Ty { elem: Elem::I1, lanes: u32::MAX }))
    }

    /// A scheduling border after `v`.
    pub fn border(&mut self, v: Val) {
        let b = self.push(Op::Border(v), Ty { elem: Elem::I1, lanes: u32::MAX });
        self.anchor(b);
    }

    /// `llvm.<name>.<type>` of operands of one type, with a result of that type.
    pub fn intrinsic(&mut self, name: &str, args: &[Val]) -> Val {
        let ty = args.first().map_or(Ty::scalar(Elem::I64), |&a| self.ty(a));
        self.call(format!("llvm.{name}.{}", ty.suffix()), args, ty)
    }

    /// `a·b + c`, one rounding.
    pub fn fma(&mut self, a: Val, b: Val, c: Val) -> Val {
        self.intrinsic("fma", &[a, b, c])
    }
}

/// Folds what index arithmetic needs.
fn fold(op: BinOp, elem: Elem, x: u64, y: u64) -> Option<u64> {
    match (op, elem) {
        (BinOp::And, _) => Some(x & y),
        (BinOp::Or, _) => Some(x | y),
        (BinOp::Xor, _) => Some(x ^ y),
        (BinOp::Add, Elem::I64) => Some(x.wrapping_add(y)),
        (BinOp::Sub, Elem::I64) => Some(x.wrapping_sub(y)),
        (BinOp::Mul, Elem::I64) => Some(x.wrapping_mul(y)),
        _ => None,
    }
}
