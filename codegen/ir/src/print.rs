//! The text form, written. The grammar stands at the head of `parse.rs`.

use crate::func::*;
use crate::op::*;
use crate::span::Span;
use crate::types::Type;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{Display, Formatter, Result, Write};
use tilewright_abi::Kind;

/// The text of a function, without source positions.
pub fn print(f: &Func) -> String {
    Printer::new(f, false).function()
}

/// The text of a function with the table of its source positions.
pub fn print_with_spans(f: &Func) -> String {
    Printer::new(f, true).function()
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Type::Scalar(d) => write!(f, "{d}"),
            Type::Tile(t) => {
                f.write_str("tile<")?;
                for extent in &t.shape {
                    write!(f, "{extent}x")?;
                }
                write!(f, "{}>", t.elem)
            }
            Type::View(v) => {
                let mutable = if v.mutable { "mut " } else { "" };
                write!(f, "{mutable}view<{}, {}>", v.elem, v.rank)
            }
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let float = f64::from_bits(self.bits);
        match (self.dtype.kind(), self.bits) {
            (Kind::Bool, 0) => f.write_str("false"),
            (Kind::Bool, 1) => f.write_str("true"),
            (Kind::Bool | Kind::Unsigned, bits) => write!(f, "{bits}"),
            (Kind::Signed, bits) => write!(f, "{}", bits as i64),
            (Kind::Float, bits) if float.is_nan() && bits != f64::NAN.to_bits() => {
                write!(f, "nan(0x{bits:x})")
            }
            (Kind::Float, _) if float.is_nan() => f.write_str("nan"),
            (Kind::Float, _) => write!(f, "{float:?}"),
        }
    }
}

/// Whether a name needs no quotes in the text form.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn name_text(name: &str) -> String {
    if is_plain_name(name) { name.to_owned() } else { quoted(name) }
}

fn commas<T>(items: impl IntoIterator<Item = T>, text: impl FnMut(T) -> String) -> String {
    items.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

struct Printer<'f> {
    f: &'f Func,
    /// Names of the values met so far; a function that does not verify may use others.
    names: BTreeMap<Value, String>,
    /// Regions met so far: one that is met again, in a broken function, is not entered.
    printed: Vec<RegionId>,
    next: usize,
    /// Whether positions are printed, and the table of those met, callers first.
    spans: bool,
    table: Vec<Span>,
    index: HashMap<Span, usize>,
    depth: usize,
    out: String,
}

impl<'f> Printer<'f> {
    fn new(f: &'f Func, spans: bool) -> Self {
        Printer {
            f,
            names: BTreeMap::new(),
            printed: Vec::new(),
            next: 0,
            spans,
            table: Vec::new(),
            index: HashMap::new(),
            depth: 1,
            out: String::new(),
        }
    }

    fn function(mut self) -> String {
        let f = self.f;
        let mut params = Vec::new();
        for p in &f.params {
            let name = format!("%{}", name_text(&p.name));
            params.push(format!("{name}: {}", self.ty(p.value)));
            self.names.insert(p.value, name);
        }
        let _ = writeln!(self.out, "func @{}({}) {{", name_text(&f.name), params.join(", "));
        for a in &f.assumes {
            self.assume(a);
        }
        self.region(Func::BODY);
        self.out.push_str("}\n");
        for (n, span) in self.table.iter().enumerate() {
            let (file, text) = (quoted(&span.file), quoted(&span.text));
            let _ = write!(self.out, "loc #{n} = {file}:{}:{} {text}", span.line, span.col);
            if let Some(caller) = span.called_from.as_deref().and_then(|s| self.index.get(s)) {
                let _ = write!(self.out, " from #{caller}");
            }
            self.out.push('\n');
        }
        self.out
    }

    fn assume(&mut self, a: &Assume) {
        let name = self.f.params.get(a.param).map_or("", |p| &p.name);
        let fact = match a.fact {
            Fact::DimMultiple(axis, n) => format!("dim {axis} multiple {n}"),
            Fact::DimEquals(axis, n) => format!("dim {axis} equals {n}"),
            Fact::StrideEquals(axis, n) => format!("stride {axis} equals {n}"),
            Fact::StrideMultiple(axis, n) => format!("stride {axis} multiple {n}"),
            Fact::Aligned(n) => format!("aligned {n}"),
            Fact::ScalarMultiple(n) => format!("multiple {n}"),
        };
        let _ = writeln!(self.out, "  assume %{} {fact}", name_text(name));
    }

    fn ty(&self, v: Value) -> String {
        self.f.values.get(v.index()).map_or("undefined".to_owned(), |d| d.ty.to_string())
    }

    fn name(&self, v: Value) -> String {
        self.names.get(&v).cloned().unwrap_or_else(|| format!("%undefined{}", v.0))
    }

    fn define(&mut self, v: Value) -> String {
        let name = format!("%{}", self.next);
        self.next += 1;
        self.names.insert(v, name.clone());
        name
    }

    fn list(&self, values: &[Value]) -> String {
        commas(values, |v| self.name(*v))
    }

    fn types(&self, values: &[Value]) -> String {
        commas(values, |v| self.ty(*v))
    }

    fn indent(&mut self) {
        self.out.extend(std::iter::repeat_n("  ", self.depth));
    }

    /// The instructions of a region, one level deeper than the line that opened it.
    fn region(&mut self, r: RegionId) {
        let f = self.f;
        if self.printed.contains(&r) || self.depth > crate::MAX_NESTING {
            return;
        }
        self.printed.push(r);
        let Some(region) = f.regions.get(r.index()) else { return };
        for (n, i) in region.insts.iter().enumerate() {
            let Some(inst) = f.insts.get(i.index()) else { continue };
            let last = n + 1 == region.insts.len();
            // A last empty `yield` is understood, unless it has a position to show.
            let silent = last
                && matches!(&inst.op, TileOp::Yield { values } if values.is_empty())
                && !(self.spans && inst.span.is_known());
            if !silent {
                self.inst(inst);
            }
        }
    }

    fn nested(&mut self, r: RegionId) {
        self.out.push_str(" {\n");
        self.depth += 1;
        self.region(r);
        self.depth -= 1;
        self.indent();
        self.out.push('}');
    }

    fn inst(&mut self, inst: &InstData) {
        self.indent();
        let operands = self.op_text(inst);
        if !inst.results.is_empty() {
            let results = inst.results.clone();
            let names = commas(results, |v| self.define(v));
            let _ = write!(self.out, "{names} = ");
        }
        self.out.push_str(&operands);
        match &inst.op {
            TileOp::For { lo, hi, step, inits, body } => {
                let params = self.region_params(*body);
                let (iv, carried) = params.split_first().unwrap_or((&Value(u32::MAX), &[]));
                let iv = self.define(*iv);
                let (lo, hi, step) = (self.name(*lo), self.name(*hi), self.name(*step));
                let _ = write!(self.out, " {iv} = {lo} to {hi} step {step}");
                if !inits.is_empty() {
                    let carry = self.carry(carried, inits);
                    let _ = write!(self.out, " carry {carry}");
                }
                self.nested(*body);
            }
            TileOp::While { inits, cond, body } => {
                let params = self.region_params(*cond);
                let carry = self.carry(&params, inits);
                let _ = write!(self.out, " {carry}");
                self.nested(*cond);
                let params = commas(self.region_params(*body), |v| self.define(v));
                let _ = write!(self.out, " do ({params})");
                self.nested(*body);
            }
            TileOp::If { then_region, else_region, .. } => {
                if !inst.results.is_empty() {
                    let types = self.types(&inst.results);
                    let _ = write!(self.out, " : ({types})");
                }
                self.nested(*then_region);
                self.out.push_str(" else");
                self.nested(*else_region);
            }
            TileOp::Dim { .. } | TileOp::ProgramId { .. } | TileOp::NumPrograms { .. } => {}
            _ if !inst.results.is_empty() => {
                let types = self.types(&inst.results);
                let _ = write!(self.out, " : {types}");
            }
            _ => {}
        }
        if let Some(loc) = self.span(&inst.span) {
            let _ = write!(self.out, " loc #{loc}");
        }
        self.out.push('\n');
    }

    fn region_params(&self, r: RegionId) -> Vec<Value> {
        self.f.regions.get(r.index()).map_or(Vec::new(), |d| d.params.clone())
    }

    /// `(%p = %init, …) : (types)`.
    fn carry(&mut self, params: &[Value], inits: &[Value]) -> String {
        let inits: Vec<String> = inits.iter().map(|v| self.name(*v)).collect();
        let pairs = commas(params.iter().zip(inits), |(p, init)| {
            let name = self.define(*p);
            format!("{name} = {init}")
        });
        format!("({pairs}) : ({})", self.types(params))
    }

    /// The op and its operands, without result types and regions.
    fn op_text(&self, inst: &InstData) -> String {
        let word = inst.op.name();
        let n = |v: &Value| self.name(*v);
        match &inst.op {
            TileOp::Const(l) => format!("{word} {l}"),
            TileOp::Iota { .. } => word.to_owned(),
            TileOp::Splat { x, .. }
            | TileOp::Unary { x, .. }
            | TileOp::Bitcast { x, .. }
            | TileOp::Reshape { x, .. }
            | TileOp::Broadcast { x, .. }
            | TileOp::Split { x }
            | TileOp::Histogram { x, .. } => format!("{word} {}", n(x)),
            TileOp::Binary { lhs, rhs, .. } | TileOp::Join { lhs, rhs } => {
                format!("{word} {}, {}", n(lhs), n(rhs))
            }
            TileOp::Compare { op, lhs, rhs } => {
                format!("{word} {} {}, {}", op.name(), n(lhs), n(rhs))
            }
            TileOp::Fma { .. } | TileOp::Select { .. } | TileOp::Mma { .. } => {
                format!("{word} {}", self.list(&inst.op.operands()))
            }
            TileOp::Cast { x, rounding, saturate, .. } => {
                let sat = if *saturate { " sat" } else { "" };
                format!("{word} {} {}{sat}", n(x), rounding.name())
            }
            TileOp::Transpose { x, perm } => format!("{word} {} {perm:?}", n(x)),
            TileOp::Slice { x, starts, .. } => format!("{word} {} {starts:?}", n(x)),
            TileOp::Dim { view, axis } => format!("{word} {} {axis}", n(view)),
            TileOp::Load { access, other, .. } => {
                let other = other.map_or(String::new(), |o| format!(" other {}", n(&o)));
                format!("{word} {}{other}", self.access(access))
            }
            TileOp::Store { access, value } => {
                format!("{word} {}, {}", self.access(access), n(value))
            }
            TileOp::Atomic { op, access, value } => {
                format!("{word} {} {}, {}", op.name(), self.access(access), n(value))
            }
            TileOp::MmaScaled { group, .. } => {
                format!("{word} {} group {group}", self.list(&inst.op.operands()))
            }
            TileOp::Reduce { op, x, axis } | TileOp::Scan { op, x, axis } => {
                format!("{word} {} {} axis {axis}", op.name(), n(x))
            }
            TileOp::ArgReduce { max, x, axis } => {
                format!("{word} {} {} axis {axis}", if *max { "max" } else { "min" }, n(x))
            }
            TileOp::Sort { x, axis, descending } => {
                let order = if *descending { "descending" } else { "ascending" };
                format!("{word} {} axis {axis} {order}", n(x))
            }
            TileOp::Philox { key, counter } => {
                format!("{word} {} [{}]", n(key), self.list(counter))
            }
            TileOp::ProgramId { axis } | TileOp::NumPrograms { axis } => format!("{word} {axis}"),
            TileOp::For { .. } | TileOp::While { .. } => word.to_owned(),
            TileOp::If { cond, .. } => format!("{word} {}", n(cond)),
            TileOp::Yield { values } if values.is_empty() => word.to_owned(),
            TileOp::Yield { values } => format!("{word} {}", self.list(values)),
        }
    }

    fn access(&self, a: &Access) -> String {
        let coords = commas(&a.coords, |c| match c {
            Coord::Span(v) => format!("span {}", self.name(*v)),
            Coord::Rows(v) => format!("rows {}", self.name(*v)),
            Coord::Gather(v) => format!("gather {}", self.name(*v)),
        });
        let bounds = commas(&a.bounds, |b| match b {
            Bound::Dim => "dim".to_owned(),
            Bound::Limit(v) => format!("limit {}", self.name(*v)),
            Bound::Inside => "inside".to_owned(),
        });
        format!("{}[{coords}] bounds [{bounds}]", self.name(a.view))
    }

    /// The table entry of a span and, before it, of the calls that led there.
    fn span(&mut self, span: &Span) -> Option<usize> {
        if !(self.spans && span.is_known()) {
            return None;
        }
        let mut chain = vec![span];
        while let Some(next) = chain.last().and_then(|s| s.called_from.as_deref()) {
            chain.push(next);
        }
        for s in chain.into_iter().rev() {
            if !self.index.contains_key(s) {
                self.index.insert(s.clone(), self.table.len());
                self.table.push(s.clone());
            }
        }
        self.index.get(span).copied()
    }
}
