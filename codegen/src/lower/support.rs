//! Which operation a family lowers, and how: the table that `kc` and the documentation print.

use crate::target::{Family, TargetDesc};
use std::fmt::Write;

/// How an operation is lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// By instructions made for it.
    Native,
    /// By others; how.
    Emulated(&'static str),
    /// Not; why.
    Refused(&'static str),
}

/// The rows: operation, and how the CPU family lowers it.
const CPU: &[(&str, Support)] = &[
    ("const iota splat", Support::Native),
    ("neg abs not sqrt rsqrt recip floor ceil round trunc", Support::Native),
    ("exp exp2 ln log2 sin cos tanh erf", Support::Emulated("polynomials of f32")),
    ("add sub mul div rem max min and or xor shl shr", Support::Native),
    ("rem of floats", Support::Emulated("a helper, one element at a time")),
    ("cmp select fma", Support::Native),
    ("cast", Support::Native),
    ("cast of 8-, 6- and 4-bit floats", Support::Emulated("integer arithmetic")),
    ("bitcast reshape transpose broadcast slice join split", Support::Native),
    ("load store at spans and rows", Support::Native),
    ("load store at gathers", Support::Emulated("masked gathers and scatters")),
    ("atomic", Support::Emulated("one element at a time")),
    ("mma", Support::Native),
    ("mma_scaled", Support::Emulated("operands scaled in f32")),
    ("reduce arg_reduce", Support::Native),
    ("scan", Support::Emulated("in order, along registers")),
    ("sort histogram", Support::Emulated("a helper on stack memory")),
    ("philox", Support::Native),
    ("for while if", Support::Native),
];

/// The operations and how `target` lowers them, as a Markdown table.
pub fn support_table(target: &TargetDesc) -> String {
    let mut out = format!("| operation | `{}` |\n|---|---|\n", target.id);
    let rows = match target.family {
        Family::Cpu => CPU,
        Family::Nvptx | Family::Amdgcn => &[],
    };
    for (op, support) in rows {
        let how = match support {
            Support::Native => "native".to_string(),
            Support::Emulated(how) => format!("emulated: {how}"),
            Support::Refused(why) => format!("refused: {why}"),
        };
        let _ = writeln!(out, "| {op} | {how} |");
    }
    for m in target.mma {
        let _ = writeln!(out, "| mma {} × {} → {} | {:?} |", m.a, m.b, m.acc, m.form);
    }
    out
}
