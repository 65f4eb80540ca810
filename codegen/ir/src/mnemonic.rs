//! The words of the text form, shared by the printer, the parser and messages.

use crate::op::*;

macro_rules! words {
    ($($ty:ident { $($variant:ident $word:literal,)* })*) => {$(
        impl $ty {
            /// Every variant, in declaration order.
            pub const ALL: &'static [$ty] = &[$($ty::$variant),*];

            /// Its word in the text form.
            pub fn name(self) -> &'static str {
                match self {
                    $($ty::$variant => $word,)*
                }
            }

            /// The variant of a word.
            pub fn from_name(word: &str) -> Option<$ty> {
                match word {
                    $($word => Some($ty::$variant),)*
                    _ => None,
                }
            }
        }
    )*};
}

words! {
    UnaryOp {
        Neg "neg", Abs "abs", Not "not", Exp "exp", Exp2 "exp2", Ln "ln", Log2 "log2", Sqrt "sqrt",
        Rsqrt "rsqrt", Recip "recip", Sin "sin", Cos "cos", Tanh "tanh", Erf "erf", Floor "floor",
        Ceil "ceil", Round "round", Trunc "trunc",
    }
    BinaryOp {
        Add "add", Sub "sub", Mul "mul", Div "div", Rem "rem", Max "max", Min "min", And "and",
        Or "or", Xor "xor", Shl "shl", Shr "shr",
    }
    CompareOp { Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge", }
    Rounding { NearestEven "rne", TowardZero "rtz", }
    ReduceOp {
        Sum "sum", Prod "prod", Max "max", Min "min", And "and", Or "or", Xor "xor",
    }
    AtomicOp {
        Add "add", Max "max", Min "min", And "and", Or "or", Xor "xor", Exchange "exchange",
    }
}

impl TileOp {
    /// The op's word in the text form and in messages.
    pub fn name(&self) -> &'static str {
        match self {
            TileOp::Const(_) => "const",
            TileOp::Iota { .. } => "iota",
            TileOp::Splat { .. } => "splat",
            TileOp::Unary { op, .. } => op.name(),
            TileOp::Binary { op, .. } => op.name(),
            TileOp::Compare { .. } => "cmp",
            TileOp::Fma { .. } => "fma",
            TileOp::Select { .. } => "select",
            TileOp::Cast { .. } => "cast",
            TileOp::Bitcast { .. } => "bitcast",
            TileOp::Reshape { .. } => "reshape",
            TileOp::Transpose { .. } => "transpose",
            TileOp::Broadcast { .. } => "broadcast",
            TileOp::Slice { .. } => "slice",
            TileOp::Join { .. } => "join",
            TileOp::Split { .. } => "split",
            TileOp::Dim { .. } => "dim",
            TileOp::Load { .. } => "load",
            TileOp::Store { .. } => "store",
            TileOp::Atomic { .. } => "atomic",
            TileOp::Mma { .. } => "mma",
            TileOp::MmaScaled { .. } => "mma_scaled",
            TileOp::Reduce { .. } => "reduce",
            TileOp::ArgReduce { .. } => "arg_reduce",
            TileOp::Scan { .. } => "scan",
            TileOp::Sort { .. } => "sort",
            TileOp::Histogram { .. } => "histogram",
            TileOp::Philox { .. } => "philox",
            TileOp::ProgramId { .. } => "program_id",
            TileOp::NumPrograms { .. } => "num_programs",
            TileOp::For { .. } => "for",
            TileOp::While { .. } => "while",
            TileOp::If { .. } => "if",
            TileOp::Yield { .. } => "yield",
        }
    }
}
