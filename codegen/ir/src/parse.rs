//! The text form, read. Any input gives a function or diagnostics, never a panic.
//!
//! ```text
//! file    = func { loc }                          // "//" and ";" start a comment
//! func    = "func" "@" name "(" [ param { "," param } ] ")" "{" { assume } { inst } "}"
//! name    = identifier | string
//! param   = "%" name ":" type
//! type    = dtype | "tile" "<" n "x" { n "x" } dtype ">" | [ "mut" ] "view" "<" dtype "," n ">"
//! assume  = "assume" "%" name fact
//! fact    = ( "dim" | "stride" ) axis ( "multiple" | "equals" ) n | "aligned" n | "multiple" n
//! inst    = [ value { "," value } "=" ] op [ "loc" "#" n ]
//! value   = "%" ( n | name )
//! op      = "const" literal ":" type
//!         | "iota" ":" type
//!         | unary value ":" type                  // neg abs not exp … (UnaryOp)
//!         | binary value "," value ":" type       // add sub mul … (BinaryOp)
//!         | "cmp" ( "eq" | "ne" | "lt" | "le" | "gt" | "ge" ) value "," value ":" type
//!         | ( "fma" | "select" | "mma" ) value "," value "," value ":" type
//!         | "cast" value ( "rne" | "rtz" ) [ "sat" ] ":" type
//!         | ( "splat" | "bitcast" | "reshape" | "broadcast" | "histogram" ) value ":" type
//!         | ( "transpose" | "slice" ) value "[" [ n { "," n } ] "]" ":" type
//!         | "join" value "," value ":" type
//!         | "split" value ":" type "," type
//!         | "dim" value axis | "program_id" axis | "num_programs" axis
//!         | "load" access [ "other" value ] ":" type
//!         | "store" access "," value
//!         | "atomic" ( "add" | "max" | … ) access "," value
//!         | "mma_scaled" value "," value "," value "," value "," value "group" n ":" type
//!         | ( "reduce" | "scan" ) ( "sum" | "max" | … ) value "axis" axis ":" type
//!         | "arg_reduce" ( "max" | "min" ) value "axis" axis ":" type "," type
//!         | "sort" value "axis" axis ( "ascending" | "descending" ) ":" type "," type
//!         | "philox" value "[" value "," value "," value "," value "]" ":" type
//!         | "for" value "=" value "to" value "step" value [ "carry" carry ] region
//!         | "while" carry region "do" "(" [ value { "," value } ] ")" region
//!         | "if" value [ ":" "(" type { "," type } ")" ] region "else" region
//!         | "yield" [ value { "," value } ]       // the first value on the same line
//! access  = value "[" coord { "," coord } "]" "bounds" "[" bound { "," bound } "]"
//! coord   = ( "span" | "rows" | "gather" ) value
//! bound   = "dim" | "limit" value | "inside"
//! carry   = "(" [ value "=" value { "," value "=" value } ] ")" ":" "(" [ type { "," type } ] ")"
//! region  = "{" { inst } "}"                      // a missing last "yield" is an empty one
//! literal = integer | float | "inf" | "-inf" | "nan" | "nan(0x…)" | "true" | "false"
//! loc     = "loc" "#" n "=" string ":" line ":" column string [ "from" "#" n ]
//! ```
//!
//! Names are unique in a function; a name may be used anywhere below its definition, and the verifier
//! says where its region had closed. Types are kept as written; the verifier compares them with what
//! follows from the operands.

mod cursor;
mod op;

use crate::builder::Builder;
use crate::codes;
use crate::diag::Diagnostic;
use crate::func::*;
use crate::op::TileOp;
use crate::span::Span;
use crate::types::{Type, ViewType};
use cursor::{Cursor, Stop};
use std::collections::HashMap;
use std::sync::Arc;

/// Reads one function. Without a `loc` an op's position is unknown.
pub fn parse(text: &str) -> Result<Func, Vec<Diagnostic>> {
    Parser::new("<text>", text, false).file()
}

/// Reads one function from the text of `file`: an op without a `loc` has its position in that text.
pub fn parse_file(file: &str, text: &str) -> Result<Func, Vec<Diagnostic>> {
    Parser::new(file, text, true).file()
}

struct Parser<'t> {
    c: Cursor<'t>,
    b: Builder,
    names: HashMap<String, Value>,
    /// Ops with a `loc #n`, and where that stands.
    locs: Vec<(Inst, usize, usize)>,
    own_spans: bool,
    depth: usize,
}

/// What a parsing step gives; on `Err` the message is already recorded.
type Step<T> = Result<T, Stop>;

impl<'t> Parser<'t> {
    fn new(file: &str, text: &'t str, own_spans: bool) -> Self {
        let (c, b) = (Cursor::new(file, text), Builder::new(""));
        Parser { c, b, names: HashMap::new(), locs: Vec::new(), own_spans, depth: 0 }
    }

    fn file(mut self) -> Result<Func, Vec<Diagnostic>> {
        let parsed = self.func().and_then(|()| self.loc_table());
        match parsed {
            Ok(()) if self.c.errors.is_empty() => {
                self.b.leave();
                Ok(self.b.finish())
            }
            Ok(()) | Err(Stop) => Err(self.c.errors),
        }
    }

    fn func(&mut self) -> Step<()> {
        self.c.word("func")?;
        self.c.punct('@')?;
        let name = self.c.name()?;
        self.b.set_name(name);
        self.c.punct('(')?;
        let mut params: Vec<String> = Vec::new();
        if !self.c.eat(')') {
            loop {
                self.c.punct('%')?;
                let at = self.c.mark();
                let name = self.c.name()?;
                self.c.punct(':')?;
                let ty = self.ty()?;
                let value = self.b.param(name.clone(), ty);
                self.bind(name_key(&name), value, at);
                params.push(name);
                if !self.c.eat(',') {
                    break;
                }
            }
            self.c.punct(')')?;
        }
        self.c.punct('{')?;
        while self.c.eat_word("assume") {
            self.assume(&params)?;
        }
        self.insts()?;
        self.c.punct('}')
    }

    fn assume(&mut self, params: &[String]) -> Step<()> {
        self.c.punct('%')?;
        let at = self.c.mark();
        let name = self.c.name()?;
        let word = self.c.any_word()?;
        let fact = match word {
            "aligned" => Fact::Aligned(self.c.number()?),
            "multiple" => Fact::ScalarMultiple(self.c.number()?),
            "dim" | "stride" => {
                let axis = self.c.number()?;
                let equals = match self.c.any_word()? {
                    "equals" => true,
                    "multiple" => false,
                    _ => return Err(self.c.expected("`multiple` or `equals`")),
                };
                let n = self.c.number()?;
                match (word, equals) {
                    ("dim", true) => Fact::DimEquals(axis, n),
                    ("dim", false) => Fact::DimMultiple(axis, n),
                    (_, true) => Fact::StrideEquals(axis, n),
                    (_, false) => Fact::StrideMultiple(axis, n),
                }
            }
            _ => return Err(self.c.expected("`dim`, `stride`, `aligned` or `multiple`")),
        };
        match params.iter().position(|p| *p == name) {
            Some(param) => self.b.assume(param, fact),
            None => self.c.error(codes::NAME, at, format!("no parameter is named `%{name}`")),
        }
        Ok(())
    }

    /// The instructions up to the region's closing brace, with the `yield` that may be left out.
    fn insts(&mut self) -> Step<()> {
        let mut yielded = false;
        while !self.c.at('}') {
            yielded = self.inst()?;
        }
        if !yielded {
            self.b.set_span(Span::default());
            self.b.op_typed(TileOp::Yield { values: Vec::new() }, &[]);
        }
        Ok(())
    }

    /// `{ … }` into `r`.
    fn region(&mut self, r: RegionId) -> Step<()> {
        let at = self.c.mark();
        if self.depth >= crate::MAX_NESTING {
            self.c.error(codes::SYNTAX, at, "regions are nested too deep".to_owned());
            return Err(Stop);
        }
        self.depth += 1;
        self.c.punct('{')?;
        self.b.enter(r);
        self.insts()?;
        self.b.leave();
        self.depth -= 1;
        self.c.punct('}')
    }

    /// One instruction; whether it is a `yield`.
    fn inst(&mut self) -> Step<bool> {
        let at = self.c.mark();
        let mut results = Vec::new();
        if self.c.at('%') {
            loop {
                let at = self.c.mark();
                results.push((self.value_name()?, at));
                if !self.c.eat(',') {
                    break;
                }
            }
            self.c.punct('=')?;
        }
        let op_at = self.c.mark();
        let (op, types) = self.op()?;
        if types.len() != results.len() {
            let word = op.name();
            let message =
                format!("`{word}` has {} results, named are {}", types.len(), results.len());
            self.c.error(codes::SYNTAX, op_at, message);
            return Err(Stop);
        }
        let loc = if self.c.eat_word("loc") {
            self.c.punct('#')?;
            let at = self.c.mark();
            Some((self.c.number::<usize>()?, at))
        } else {
            None
        };
        let span = if self.own_spans { self.c.span(at) } else { Span::default() };
        self.b.set_span(span);
        let is_yield = matches!(op, TileOp::Yield { .. });
        let values = self.b.op_typed(op, &types);
        if let Some((n, at)) = loc {
            self.locs.push((Inst(self.b.func().insts.len() as u32 - 1), n, at));
        }
        for ((name, at), value) in results.into_iter().zip(values) {
            self.bind(name, value, at);
        }
        Ok(is_yield)
    }

    fn loc_table(&mut self) -> Step<()> {
        let mut table: Vec<Arc<Span>> = Vec::new();
        while !self.c.at_end() {
            if !self.c.eat_word("loc") {
                return Err(self.c.expected("`loc` or the end of the text"));
            }
            self.c.punct('#')?;
            let at = self.c.mark();
            if self.c.number::<usize>()? != table.len() {
                let message = format!("entry #{} comes next", table.len());
                self.c.error(codes::SYNTAX, at, message);
                return Err(Stop);
            }
            self.c.punct('=')?;
            let file = self.c.string()?;
            self.c.punct(':')?;
            let line = self.c.number()?;
            self.c.punct(':')?;
            let col = self.c.number()?;
            let text = self.c.string()?;
            let mut called_from = None;
            if self.c.eat_word("from") {
                self.c.punct('#')?;
                let n: usize = self.c.number()?;
                called_from = table.get(n).cloned();
                if called_from.is_none() {
                    return Err(self.c.expected("an earlier entry"));
                }
            }
            table.push(Arc::new(Span {
                file: file.into(),
                line,
                col,
                text: text.into(),
                called_from,
            }));
        }
        for (inst, n, at) in std::mem::take(&mut self.locs) {
            match table.get(n) {
                Some(span) => self.b.set_inst_span(inst, Span::clone(span)),
                None => self.c.error(codes::NAME, at, format!("no `loc #{n}` in the table")),
            }
        }
        Ok(())
    }

    fn ty(&mut self) -> Step<Type> {
        let at = self.c.mark();
        let word = self.c.any_word()?;
        let ty = match word {
            "tile" => {
                self.c.punct('<')?;
                let (shape, elem) = self.c.tile_shape()?;
                Type::tile(elem, shape)
            }
            "view" | "mut" => {
                let mutable = word == "mut";
                if mutable {
                    self.c.word("view")?;
                }
                self.c.punct('<')?;
                let elem = self.c.dtype()?;
                self.c.punct(',')?;
                let view = ViewType { elem, rank: self.c.number()?, mutable };
                self.c.punct('>')?;
                Type::View(view)
            }
            _ => match tilewright_abi::DType::from_name(word) {
                Some(d) => Type::Scalar(d),
                None => {
                    self.c.error(codes::SYNTAX, at, format!("`{word}` is not a type"));
                    return Err(Stop);
                }
            },
        };
        Ok(ty)
    }

    /// `%name`, as a key of `names`.
    fn value_name(&mut self) -> Step<String> {
        self.c.punct('%')?;
        if self.c.at_digit() {
            return Ok(self.c.number::<u64>()?.to_string());
        }
        Ok(name_key(&self.c.name()?))
    }

    /// A value used. An unknown name is reported once and stands for no value: the function is refused.
    fn value(&mut self) -> Step<Value> {
        let at = self.c.mark();
        let key = self.value_name()?;
        if let Some(v) = self.names.get(&key) {
            return Ok(*v);
        }
        self.c.error(codes::NAME, at, format!("`%{key}` is not defined above"));
        self.names.insert(key, Value(u32::MAX));
        Ok(Value(u32::MAX))
    }

    fn bind(&mut self, key: String, value: Value, at: usize) {
        if self.names.contains_key(&key) {
            self.c.error(codes::NAME, at, format!("`%{key}` is defined a second time"));
        }
        self.names.insert(key, value);
    }
}

/// Quoted names never meet numbered ones.
fn name_key(name: &str) -> String {
    if crate::print::is_plain_name(name) { name.to_owned() } else { format!("\"{name}\"") }
}
