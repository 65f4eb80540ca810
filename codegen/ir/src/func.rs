//! A kernel as typed ids over vectors: values, instructions, regions.

use crate::op::TileOp;
use crate::span::Span;
use crate::types::Type;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);
        impl $name {
            /// Position in its vector.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
id!(
    /// A value: a parameter of the function or of a region, or a result of an instruction.
    Value
);
id!(
    /// An instruction.
    Inst
);
id!(
    /// A region: parameters and a list of instructions ending in `yield`.
    RegionId
);

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Func {
    /// Symbol name, also the name in messages.
    pub name: String,
    /// Launch signature, in ABI order.
    pub params: Vec<Param>,
    /// What the launcher promises; checked by `plan`, used by the compiler.
    pub assumes: Vec<Assume>,
    /// All values.
    pub values: Vec<ValueData>,
    /// All instructions; those not in a region are dead.
    pub insts: Vec<InstData>,
    /// All regions; region 0 is the function's body and has no parameters.
    pub regions: Vec<RegionData>,
}

/// A launch parameter: a view or a scalar.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Name in the kernel's source.
    pub name: String,
    /// Its value in the body.
    pub value: Value,
}

/// A fact about a parameter that a variant relies on.
#[derive(Clone, Debug, PartialEq)]
pub struct Assume {
    /// Index into `params`.
    pub param: usize,
    /// The fact.
    pub fact: Fact,
}

/// See [`Assume`].
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// The extent of an axis is a multiple of this.
    DimMultiple(usize, u64),
    /// The extent of an axis is exactly this.
    DimEquals(usize, u64),
    /// The stride of an axis, in elements, is exactly this. Every view's last axis has stride 1 unless
    /// the kernel says `strided`.
    StrideEquals(usize, u64),
    /// The stride of an axis, in elements, is a multiple of this.
    StrideMultiple(usize, u64),
    /// The base address is a multiple of this many bytes.
    Aligned(u64),
    /// A scalar parameter is a multiple of this.
    ScalarMultiple(u64),
}

/// Type and origin of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Where it comes from.
    pub def: Def,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// Function parameter `n`.
    Param(usize),
    /// Parameter `n` of a region.
    RegionParam(RegionId, usize),
    /// Result `n` of an instruction.
    Result(Inst, usize),
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct InstData {
    /// What it does.
    pub op: TileOp,
    /// Its results; most ops have one, stores none, `split`, `sort`, `arg_reduce` and control flow any number.
    pub results: Vec<Value>,
    /// Where the kernel's source wrote it.
    pub span: Span,
}

/// A region.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionData {
    /// Block parameters.
    pub params: Vec<Value>,
    /// In order; the last is `yield`.
    pub insts: Vec<Inst>,
}

impl Func {
    /// The function's own region.
    pub const BODY: RegionId = RegionId(0);

    /// Type of a value.
    pub fn ty(&self, v: Value) -> &Type {
        &self.values[v.index()].ty
    }

    /// The instruction that defines a value, if one does.
    pub fn def_inst(&self, v: Value) -> Option<Inst> {
        match self.values[v.index()].def {
            Def::Result(i, _) => Some(i),
            Def::Param(_) | Def::RegionParam(..) => None,
        }
    }

    /// An instruction.
    pub fn inst(&self, i: Inst) -> &InstData {
        &self.insts[i.index()]
    }

    /// A region.
    pub fn region(&self, r: RegionId) -> &RegionData {
        &self.regions[r.index()]
    }

    /// The values a region yields.
    pub fn yields(&self, r: RegionId) -> &[Value] {
        match self.region(r).insts.last().map(|&i| &self.inst(i).op) {
            Some(TileOp::Yield { values }) => values,
            _ => &[],
        }
    }
}
