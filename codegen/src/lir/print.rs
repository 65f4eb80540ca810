//! `.ll` text of a module.

use super::op::*;
use std::fmt::Write;

/// Ending of the names of helpers that are called so that the caller's registers survive.
pub const KEEPS_REGISTERS: &str = ".keep";

/// What stands on every function: the attributes of a target.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// Target triple.
    pub triple: &'a str,
    /// Processor.
    pub cpu: &'a str,
    /// Features beyond the processor's, joined by commas.
    pub features: &'a str,
    /// Preferred vector width in bits.
    pub vector_bits: u32,
}

/// The module as LLVM assembly.
pub fn print(m: &Module, attributes: &Attributes<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "target triple = \"{}\"", attributes.triple);
    for f in &m.funcs {
        let _ = writeln!(out);
        function(&mut out, f);
    }
    for (_, text) in &m.texts {
        let _ = write!(out, "\n{text}");
    }
    let features = match attributes.features {
        "" => String::new(),
        f => format!(" \"target-features\"=\"{f}\""),
    };
    // A helper that keeps its caller's registers must not end in `vzeroupper`, which clears halves.
    let keeping = match attributes.features {
        "" => " \"target-features\"=\"-vzeroupper\"".to_owned(),
        f => format!(" \"target-features\"=\"{f},-vzeroupper\""),
    };
    let common = |features: &str| {
        format!(
            "nounwind \"no-builtins\" \"target-cpu\"=\"{}\"{features} \"prefer-vector-width\"=\"{}\" \
             \"min-legal-vector-width\"=\"{}\"",
            attributes.cpu, attributes.vector_bits, attributes.vector_bits
        )
    };
    let _ = writeln!(out, "\nattributes #0 = {{ {} }}", common(&features));
    let _ = writeln!(out, "attributes #1 = {{ noinline cold {} }}", common(&keeping));
    let _ = writeln!(out, "\n!0 = !{{!\"branch_weights\", i32 1, i32 4000}}");
    out
}

fn is_void(ty: Ty) -> bool {
    ty.lanes == u32::MAX
}

fn function(out: &mut String, f: &Func) {
    let params: Vec<String> =
        f.params.iter().enumerate().map(|(i, t)| format!("{t} %a{i}")).collect();
    let ret = f.ret.map_or("void".to_string(), |t| t.to_string());
    let (linkage, group) = if f.exported { ("", "#0") } else { ("internal ", "#1") };
    let (name, params) = (symbol(&f.name), params.join(", "));
    let _ = writeln!(out, "define {linkage}{ret} @{name}({params}) {group} {{");
    for (i, block) in f.blocks.iter().enumerate() {
        let _ = writeln!(out, "b{i}:");
        for &v in &block.insts {
            instruction(out, f, v);
        }
        match &block.term {
            Some(Term::Br(b)) => {
                let _ = writeln!(out, "  br label %b{}", b.0);
            }
            Some(Term::CondBr { cond, then, other, unlikely }) => {
                let weights = if *unlikely { ", !prof !0" } else { "" };
                let cond = operand(f, *cond);
                let _ = writeln!(
                    out,
                    "  br i1 {cond}, label %b{}, label %b{}{weights}",
                    then.0, other.0
                );
            }
            Some(Term::Ret(Some(v))) => {
                let _ = writeln!(out, "  ret {} {}", f.ty(*v), operand(f, *v));
            }
            Some(Term::Ret(None)) => {
                let _ = writeln!(out, "  ret void");
            }
            None => {
                let _ = writeln!(out, "  unreachable");
            }
        }
    }
    let _ = writeln!(out, "}}");
}

/// A name as LLVM reads it: quoted unless it is plain.
fn symbol(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-');
    if name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        return name.to_string();
    }
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{:02X}", u32::from(c)),
        c if c.is_ascii_control() => format!("\\{:02X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", name.chars().map(escape).collect::<String>())
}

/// An element constant.
fn literal(elem: Elem, bits: u64) -> String {
    match elem {
        Elem::I1 => if bits & 1 == 1 { "true" } else { "false" }.to_string(),
        Elem::F32 => format!("0x{:016X}", f32_as_f64_bits(bits as u32)),
        Elem::F64 => format!("0x{bits:016X}"),
        Elem::F16 => format!("0xH{bits:04X}"),
        Elem::Bf16 => format!("0xR{bits:04X}"),
        Elem::Ptr => "null".to_string(),
        Elem::I8 => (bits as i8).to_string(),
        Elem::I16 => (bits as i16).to_string(),
        Elem::I32 => (bits as i32).to_string(),
        Elem::I64 => (bits as i64).to_string(),
    }
}

/// LLVM writes a float constant as the bits of the double of the same value; NaN payloads are
/// shifted by hand, because a conversion might quiet them.
fn f32_as_f64_bits(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        let sign = u64::from(bits >> 31) << 63;
        return sign | 0x7FF << 52 | u64::from(bits & 0x7F_FFFF) << 29;
    }
    f64::from(value).to_bits()
}

fn operand(f: &Func, v: Val) -> String {
    let inst = f.inst(v);
    let Ty { elem, lanes } = inst.ty;
    match &inst.op {
        Op::Const(0) if lanes > 0 => "zeroinitializer".into(),
        Op::Const(bits) if lanes > 0 => format!("splat ({} {})", elem.name(), literal(elem, *bits)),
        Op::Const(bits) => literal(elem, *bits),
        Op::ConstVec(list) => {
            let items: Vec<String> =
                list.iter().map(|&b| format!("{} {}", elem.name(), literal(elem, b))).collect();
            format!("<{}>", items.join(", "))
        }
        Op::Arg(n) => format!("%a{n}"),
        _ => format!("%v{}", v.0),
    }
}

fn instruction(out: &mut String, f: &Func, v: Val) {
    let inst = f.inst(v);
    let (n, ty) = (v.0, inst.ty);
    let o = |v: Val| operand(f, v);
    let typed = |v: Val| format!("{} {}", f.ty(v), operand(f, v));
    let text = match &inst.op {
        Op::Const(_) | Op::ConstVec(_) | Op::Arg(_) => return,
        Op::Alloca { bytes } => format!("%v{n} = alloca [{bytes} x i8], align 64"),
        Op::Bin(op, a, b) => format!("%v{n} = {} {ty} {}, {}", op.name(), o(*a), o(*b)),
        Op::Cmp(op, a, b) => format!("%v{n} = {} {} {}, {}", op.name(), f.ty(*a), o(*a), o(*b)),
        Op::Cast(op, a) => format!("%v{n} = {} {} to {ty}", op.name(), typed(*a)),
        Op::Select(c, a, b) => {
            format!("%v{n} = select {}, {}, {}", typed(*c), typed(*a), typed(*b))
        }
        Op::Load { ptr, align } => format!("%v{n} = load {ty}, ptr {}, align {align}", o(*ptr)),
        Op::Store { value, ptr, align } => {
            format!("store {}, ptr {}, align {align}", typed(*value), o(*ptr))
        }
        Op::Gep { base, offset } => {
            format!("%v{n} = getelementptr i8, ptr {}, {}", o(*base), typed(*offset))
        }
        Op::Shuffle(a, b, mask) => {
            let lanes: Vec<String> = mask.iter().map(|m| format!("i32 {m}")).collect();
            let mask = format!("<{} x i32> <{}>", mask.len(), lanes.join(", "));
            format!("%v{n} = shufflevector {}, {}, {mask}", typed(*a), typed(*b))
        }
        Op::Extract(a, lane) => format!("%v{n} = extractelement {}, i32 {lane}", typed(*a)),
        Op::Insert(a, x, lane) => {
            format!("%v{n} = insertelement {}, {}, i32 {lane}", typed(*a), typed(*x))
        }
        Op::Splat(x) => format!(
            "%v{n}.s = insertelement {ty} zeroinitializer, {}, i32 0\n  %v{n} = shufflevector {ty} \
             %v{n}.s, {ty} zeroinitializer, <{} x i32> zeroinitializer",
            typed(*x),
            ty.lanes
        ),
        Op::Call { callee, args, .. } => {
            let list: Vec<String> = args.iter().map(|&a| typed(a)).collect();
            let ret = if is_void(ty) { "void".to_string() } else { ty.to_string() };
            let list = list.join(", ");
            let convention = if callee.ends_with(KEEPS_REGISTERS) { "preserve_allcc " } else { "" };
            match is_void(ty) {
                true => format!("call {convention}{ret} @{callee}({list})"),
                false => format!("%v{n} = call {convention}{ret} @{callee}({list})"),
            }
        }
        Op::CmpXchg { ptr, expected, value } => format!(
            "%v{n}.x = cmpxchg ptr {}, {}, {} monotonic monotonic\n  %v{n} = extractvalue {{ {ty}, \
             i1 }} %v{n}.x, 0",
            o(*ptr),
            typed(*expected),
            typed(*value)
        ),
        Op::AtomicRmw { op, ptr, value } => {
            format!("%v{n} = atomicrmw {op} ptr {}, {} monotonic", o(*ptr), typed(*value))
        }
        Op::Border(v) => format!("call void (...) @llvm.fake.use({})", typed(*v)),
        Op::Phi(from) => {
            let list: Vec<String> =
                from.iter().map(|(b, v)| format!("[ {}, %b{} ]", o(*v), b.0)).collect();
            format!("%v{n} = phi {ty} {}", list.join(", "))
        }
    };
    let _ = writeln!(out, "  {text}");
}
