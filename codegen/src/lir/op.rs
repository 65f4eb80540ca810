//! Types, operations, functions.

/// Element of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "named as LLVM names them")]
pub enum Elem {
    I1,
    I8,
    I16,
    I32,
    I64,
    F16,
    Bf16,
    F32,
    F64,
    Ptr,
}

impl Elem {
    /// LLVM's name.
    pub fn name(self) -> &'static str {
        match self {
            Elem::I1 => "i1",
            Elem::I8 => "i8",
            Elem::I16 => "i16",
            Elem::I32 => "i32",
            Elem::I64 => "i64",
            Elem::F16 => "half",
            Elem::Bf16 => "bfloat",
            Elem::F32 => "float",
            Elem::F64 => "double",
            Elem::Ptr => "ptr",
        }
    }

    /// Part of an intrinsic's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Elem::F16 => "f16",
            Elem::Bf16 => "bf16",
            Elem::F32 => "f32",
            Elem::F64 => "f64",
            Elem::Ptr => "p0",
            Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 => self.name(),
        }
    }

    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            Elem::I1 => 1,
            Elem::I8 => 8,
            Elem::I16 | Elem::F16 | Elem::Bf16 => 16,
            Elem::I32 | Elem::F32 => 32,
            Elem::I64 | Elem::F64 | Elem::Ptr => 64,
        }
    }

    /// Bytes of one element in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Elem::F16 | Elem::Bf16 | Elem::F32 | Elem::F64)
    }

    /// The integer of the same width.
    pub fn int(self) -> Elem {
        Elem::int_of(self.bits())
    }

    /// The integer type of a width.
    pub fn int_of(bits: u32) -> Elem {
        match bits {
            1 => Elem::I1,
            8 => Elem::I8,
            16 => Elem::I16,
            32 => Elem::I32,
            _ => Elem::I64,
        }
    }
}

/// A scalar (`lanes` 0) or a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ty {
    /// Element.
    pub elem: Elem,
    /// Vector length; 0 for a scalar.
    pub lanes: u32,
}

impl Ty {
    /// A scalar type.
    pub const fn scalar(elem: Elem) -> Ty {
        Ty { elem, lanes: 0 }
    }

    /// A vector type.
    pub const fn vector(elem: Elem, lanes: u32) -> Ty {
        Ty { elem, lanes }
    }

    /// The same length with another element.
    pub fn with(self, elem: Elem) -> Ty {
        Ty { elem, ..self }
    }

    /// Total bits.
    pub fn bits(self) -> u32 {
        self.elem.bits() * self.lanes.max(1)
    }

    /// Part of an intrinsic's name.
    pub fn suffix(self) -> String {
        match self.lanes {
            0 => self.elem.suffix().to_string(),
            n => format!("v{n}{}", self.elem.suffix()),
        }
    }
}

impl std::fmt::Display for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lanes {
            0 => f.write_str(self.elem.name()),
            n => write!(f, "<{n} x {}>", self.elem.name()),
        }
    }
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Val(pub u32);

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(pub u32);

/// Two operands of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "LLVM instructions of the same name")]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    SDiv,
    UDiv,
    SRem,
    URem,
    And,
    Or,
    Xor,
    Shl,
    LShr,
    AShr,
    FAdd,
    FSub,
    FMul,
    FDiv,
}

impl BinOp {
    /// LLVM's name.
    pub fn name(self) -> &'static str {
        match self {
            BinOp::Add => "add",
            BinOp::Sub => "sub",
            BinOp::Mul => "mul",
            BinOp::SDiv => "sdiv",
            BinOp::UDiv => "udiv",
            BinOp::SRem => "srem",
            BinOp::URem => "urem",
            BinOp::And => "and",
            BinOp::Or => "or",
            BinOp::Xor => "xor",
            BinOp::Shl => "shl",
            BinOp::LShr => "lshr",
            BinOp::AShr => "ashr",
            BinOp::FAdd => "fadd",
            BinOp::FSub => "fsub",
            BinOp::FMul => "fmul",
            BinOp::FDiv => "fdiv",
        }
    }
}

/// Comparisons, to `i1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "LLVM predicates of the same name")]
pub enum CmpOp {
    Eq,
    Ne,
    Slt,
    Sle,
    Sgt,
    Sge,
    Ult,
    Ule,
    Ugt,
    Uge,
    Oeq,
    Une,
    Olt,
    Ole,
    Ogt,
    Oge,
    Uno,
}

impl CmpOp {
    /// LLVM's instruction and predicate.
    pub fn name(self) -> &'static str {
        match self {
            CmpOp::Eq => "icmp eq",
            CmpOp::Ne => "icmp ne",
            CmpOp::Slt => "icmp slt",
            CmpOp::Sle => "icmp sle",
            CmpOp::Sgt => "icmp sgt",
            CmpOp::Sge => "icmp sge",
            CmpOp::Ult => "icmp ult",
            CmpOp::Ule => "icmp ule",
            CmpOp::Ugt => "icmp ugt",
            CmpOp::Uge => "icmp uge",
            CmpOp::Oeq => "fcmp oeq",
            CmpOp::Une => "fcmp une",
            CmpOp::Olt => "fcmp olt",
            CmpOp::Ole => "fcmp ole",
            CmpOp::Ogt => "fcmp ogt",
            CmpOp::Oge => "fcmp oge",
            CmpOp::Uno => "fcmp uno",
        }
    }
}

/// Conversions; the result type is the instruction's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "LLVM instructions of the same name")]
pub enum CastOp {
    Trunc,
    ZExt,
    SExt,
    FpTrunc,
    FpExt,
    SiToFp,
    UiToFp,
    FpToSi,
    Bitcast,
    PtrToInt,
}

impl CastOp {
    /// LLVM's name.
    pub fn name(self) -> &'static str {
        match self {
            CastOp::Trunc => "trunc",
            CastOp::ZExt => "zext",
            CastOp::SExt => "sext",
            CastOp::FpTrunc => "fptrunc",
            CastOp::FpExt => "fpext",
            CastOp::SiToFp => "sitofp",
            CastOp::UiToFp => "uitofp",
            CastOp::FpToSi => "fptosi",
            CastOp::Bitcast => "bitcast",
            CastOp::PtrToInt => "ptrtoint",
        }
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant; in a vector type the same in every lane. Raw bits of the element.
    Const(u64),
    /// A constant vector, raw bits lane by lane.
    ConstVec(Vec<u64>),
    /// Parameter of the function.
    Arg(u32),
    /// Stack memory, 64-byte aligned. Stands in the entry block.
    Alloca {
        /// Size.
        bytes: u64,
    },
    /// Arithmetic.
    Bin(BinOp, Val, Val),
    /// Comparison.
    Cmp(CmpOp, Val, Val),
    /// Conversion.
    Cast(CastOp, Val),
    /// Lane-wise choice, or a whole choice if the condition is a scalar.
    Select(Val, Val, Val),
    /// A read.
    Load {
        /// Address.
        ptr: Val,
        /// Known alignment in bytes.
        align: u32,
    },
    /// A write; no result.
    Store {
        /// Value.
        value: Val,
        /// Address.
        ptr: Val,
        /// Known alignment in bytes.
        align: u32,
    },
    /// Address plus bytes.
    Gep {
        /// Address, or a scalar base of a vector of addresses.
        base: Val,
        /// Bytes, `i64`; a vector makes a vector of addresses.
        offset: Val,
    },
    /// Lanes of the concatenation of two vectors of one type.
    Shuffle(Val, Val, Vec<u32>),
    /// One lane.
    Extract(Val, u32),
    /// A vector with one lane replaced.
    Insert(Val, Val, u32),
    /// A scalar in every lane.
    Splat(Val),
    /// An intrinsic or a helper of the module. `effects`: it may write memory.
    Call {
        /// Name without `@`.
        callee: String,
        /// Arguments.
        args: Vec<Val>,
        /// Whether it must stay where it is.
        effects: bool,
    },
    /// Atomic exchange if equal: (old value, whether it was replaced) as two results in one
    /// aggregate, of which this is the old value.
    CmpXchg {
        /// Address.
        ptr: Val,
        /// Value expected.
        expected: Val,
        /// Value to write.
        value: Val,
    },
    /// A relaxed atomic read-modify-write by an LLVM operation name; the old value.
    AtomicRmw {
        /// `add`, `xchg` and the like.
        op: &'static str,
        /// Address.
        ptr: Val,
        /// Operand.
        value: Val,
    },
    /// A border that LLVM's scheduler does not cross; reads the value, makes no code.
    Border(Val),
    /// Value by predecessor.
    Phi(Vec<(Block, Val)>),
}

impl Op {
    /// The values read.
    pub fn operands(&self) -> Vec<Val> {
        match self {
            Op::Const(_) | Op::ConstVec(_) | Op::Arg(_) | Op::Alloca { .. } => vec![],
            Op::Cast(_, a)
            | Op::Extract(a, _)
            | Op::Splat(a)
            | Op::Border(a)
            | Op::Load { ptr: a, .. } => vec![*a],
            Op::Bin(_, a, b)
            | Op::Cmp(_, a, b)
            | Op::Store { value: a, ptr: b, .. }
            | Op::Gep { base: a, offset: b }
            | Op::Shuffle(a, b, _)
            | Op::Insert(a, b, _)
            | Op::AtomicRmw { ptr: a, value: b, .. } => vec![*a, *b],
            Op::Select(a, b, c) | Op::CmpXchg { ptr: a, expected: b, value: c } => vec![*a, *b, *c],
            Op::Call { args, .. } => args.clone(),
            Op::Phi(from) => from.iter().map(|p| p.1).collect(),
        }
    }

    /// Whether the operation must stay in place: it writes memory, or is bound to its block's start.
    pub fn is_fixed(&self) -> bool {
        match self {
            Op::Store { .. } | Op::CmpXchg { .. } | Op::AtomicRmw { .. } | Op::Phi(_) => true,
            Op::Call { effects, .. } => *effects,
            _ => false,
        }
    }
}

/// An operation and its type; a store's type is that of the stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// Type of the result.
    pub ty: Ty,
    /// Whether the order given by the lowering matters for speed: loads and address arithmetic move
    /// down to these.
    pub anchor: bool,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// To one block.
    Br(Block),
    /// By an `i1`; `unlikely`: the first target is the rare one.
    CondBr {
        /// Condition.
        cond: Val,
        /// If true.
        then: Block,
        /// If false.
        other: Block,
        /// Whether `then` is rare.
        unlikely: bool,
    },
    /// Return, with a value if the function has one.
    Ret(Option<Val>),
}

/// A block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockData {
    /// In order.
    pub insts: Vec<Val>,
    /// End; set before printing.
    pub term: Option<Term>,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Func {
    /// Symbol.
    pub name: String,
    /// Parameters.
    pub params: Vec<Ty>,
    /// Result.
    pub ret: Option<Ty>,
    /// The kernel itself, visible outside.
    pub exported: bool,
    /// All values.
    pub insts: Vec<Inst>,
    /// All blocks; the first is the entry.
    pub blocks: Vec<BlockData>,
}

impl Func {
    /// An operation.
    pub fn inst(&self, v: Val) -> &Inst {
        &self.insts[v.0 as usize]
    }

    /// A type.
    pub fn ty(&self, v: Val) -> Ty {
        self.inst(v).ty
    }
}

/// A kernel and its helpers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// The kernel first.
    pub funcs: Vec<Func>,
    /// Helpers written as `.ll` text, by name, each once.
    pub texts: Vec<(String, String)>,
}
