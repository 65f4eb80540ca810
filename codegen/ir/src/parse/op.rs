//! One operation: its word, operands and result types.

use super::{Parser, Step, Stop};
use crate::codes;
use crate::func::*;
use crate::op::*;
use crate::types::Type;
use tilewright_abi::{DType, Kind};

impl Parser<'_> {
    /// The op and the types of its results, as written.
    pub(super) fn op(&mut self) -> Step<(TileOp, Vec<Type>)> {
        let at = self.c.mark();
        let word = self.c.any_word()?;
        let op = match word {
            "const" => return self.constant(),
            "dim" => {
                let view = self.value()?;
                return self.index_op(|axis| TileOp::Dim { view, axis });
            }
            "program_id" => return self.index_op(|axis| TileOp::ProgramId { axis }),
            "num_programs" => return self.index_op(|axis| TileOp::NumPrograms { axis }),
            "store" => {
                let (access, value) = self.access_value()?;
                return Ok((TileOp::Store { access, value }, Vec::new()));
            }
            "atomic" => {
                let op = self.c.variant("an atomic operation", AtomicOp::from_name)?;
                let (access, value) = self.access_value()?;
                return Ok((TileOp::Atomic { op, access, value }, Vec::new()));
            }
            "yield" => {
                let values = if self.c.at_on_line('%') { self.values()? } else { Vec::new() };
                return Ok((TileOp::Yield { values }, Vec::new()));
            }
            "for" => return self.for_op(),
            "while" => return self.while_op(),
            "if" => return self.if_op(),
            "split" => TileOp::Split { x: self.value()? },
            "arg_reduce" => {
                let max = self.c.variant("`max` or `min`", |w| match w {
                    "max" => Some(true),
                    "min" => Some(false),
                    _ => None,
                })?;
                let (x, axis) = self.value_axis()?;
                TileOp::ArgReduce { max, x, axis }
            }
            "sort" => {
                let (x, axis) = self.value_axis()?;
                let descending = self.c.variant("`ascending` or `descending`", |w| match w {
                    "ascending" => Some(false),
                    "descending" => Some(true),
                    _ => None,
                })?;
                TileOp::Sort { x, axis, descending }
            }
            _ => return self.single(word, at),
        };
        self.c.punct(':')?;
        let first = self.ty()?;
        self.c.punct(',')?;
        let second = self.ty()?;
        Ok((op, vec![first, second]))
    }

    /// The ops with one result, whose type is written.
    fn single(&mut self, word: &str, at: usize) -> Step<(TileOp, Vec<Type>)> {
        // What the type written after the operands says is filled in below.
        let (shape, to) = (Vec::new(), DType::Bool);
        let op = match word {
            "iota" => TileOp::Iota { len: 1, dtype: to },
            "splat" => TileOp::Splat { x: self.value()?, shape },
            "bitcast" => TileOp::Bitcast { x: self.value()?, to },
            "reshape" => TileOp::Reshape { x: self.value()?, shape },
            "broadcast" => TileOp::Broadcast { x: self.value()?, shape },
            "histogram" => TileOp::Histogram { x: self.value()?, bins: 1 },
            "cmp" => {
                let op = self.c.variant("a comparison", CompareOp::from_name)?;
                let [lhs, rhs] = self.fixed_values()?;
                TileOp::Compare { op, lhs, rhs }
            }
            "fma" => {
                let [a, b, c] = self.fixed_values()?;
                TileOp::Fma { a, b, c }
            }
            "select" => {
                let [cond, on_true, on_false] = self.fixed_values()?;
                TileOp::Select { cond, on_true, on_false }
            }
            "mma" => {
                let [a, b, acc] = self.fixed_values()?;
                TileOp::Mma { a, b, acc }
            }
            "mma_scaled" => {
                let [a, scale_a, b, scale_b, acc] = self.fixed_values()?;
                self.c.word("group")?;
                let group = self.c.number()?;
                TileOp::MmaScaled { a, scale_a, b, scale_b, acc, group }
            }
            "cast" => {
                let x = self.value()?;
                let rounding = self.c.variant("`rne` or `rtz`", Rounding::from_name)?;
                TileOp::Cast { x, to, rounding, saturate: self.c.eat_word("sat") }
            }
            "transpose" => TileOp::Transpose { x: self.value()?, perm: self.numbers()? },
            "slice" => TileOp::Slice { x: self.value()?, starts: self.numbers()?, shape },
            "join" => {
                let [lhs, rhs] = self.fixed_values()?;
                TileOp::Join { lhs, rhs }
            }
            "load" => {
                let access = self.access()?;
                let other = if self.c.eat_word("other") { Some(self.value()?) } else { None };
                TileOp::Load { access, shape, other }
            }
            "reduce" => {
                let op = self.c.variant("a reduction", ReduceOp::from_name)?;
                let (x, axis) = self.value_axis()?;
                TileOp::Reduce { op, x, axis }
            }
            "scan" => {
                let op = self.c.variant("a reduction", ReduceOp::from_name)?;
                let (x, axis) = self.value_axis()?;
                TileOp::Scan { op, x, axis }
            }
            "philox" => {
                let key = self.value()?;
                self.c.punct('[')?;
                let counter = self.fixed_values()?;
                self.c.punct(']')?;
                TileOp::Philox { key, counter }
            }
            _ => match (UnaryOp::from_name(word), BinaryOp::from_name(word)) {
                (Some(op), _) => TileOp::Unary { op, x: self.value()? },
                (None, Some(op)) => {
                    let [lhs, rhs] = self.fixed_values()?;
                    TileOp::Binary { op, lhs, rhs }
                }
                (None, None) => {
                    self.c.error(codes::SYNTAX, at, format!("`{word}` is not an operation"));
                    return Err(Stop);
                }
            },
        };
        self.c.punct(':')?;
        let ty = self.ty()?;
        Ok((with_result_type(op, &ty), vec![ty]))
    }

    fn constant(&mut self) -> Step<(TileOp, Vec<Type>)> {
        let at = self.c.mark();
        let text = self.c.literal_text()?;
        self.c.punct(':')?;
        let ty = self.ty()?;
        let dtype = ty.elem();
        match literal_bits(text, dtype) {
            Some(bits) => Ok((TileOp::Const(Literal { dtype, bits }), vec![ty])),
            None => {
                self.c.error(codes::SYNTAX, at, format!("`{text}` is not a constant of `{dtype}`"));
                Err(Stop)
            }
        }
    }

    fn index_op(&mut self, make: impl Fn(usize) -> TileOp) -> Step<(TileOp, Vec<Type>)> {
        Ok((make(self.c.number()?), vec![Type::Scalar(DType::I64)]))
    }

    fn values(&mut self) -> Step<Vec<Value>> {
        let mut values = vec![self.value()?];
        while self.c.eat(',') {
            values.push(self.value()?);
        }
        Ok(values)
    }

    fn fixed_values<const N: usize>(&mut self) -> Step<[Value; N]> {
        let mut values = [Value(0); N];
        for (n, v) in values.iter_mut().enumerate() {
            if n > 0 {
                self.c.punct(',')?;
            }
            *v = self.value()?;
        }
        Ok(values)
    }

    fn value_axis(&mut self) -> Step<(Value, usize)> {
        let x = self.value()?;
        self.c.word("axis")?;
        Ok((x, self.c.number()?))
    }

    fn numbers(&mut self) -> Step<Vec<usize>> {
        self.c.punct('[')?;
        let mut out = Vec::new();
        while !self.c.eat(']') {
            if !out.is_empty() {
                self.c.punct(',')?;
            }
            out.push(self.c.number()?);
        }
        Ok(out)
    }

    fn access(&mut self) -> Step<Access> {
        let view = self.value()?;
        self.c.punct('[')?;
        let mut coords = Vec::new();
        while !self.c.eat(']') {
            if !coords.is_empty() {
                self.c.punct(',')?;
            }
            let make = self.c.variant("`span`, `rows` or `gather`", |w| match w {
                "span" => Some(Coord::Span as fn(Value) -> Coord),
                "rows" => Some(Coord::Rows as fn(Value) -> Coord),
                "gather" => Some(Coord::Gather as fn(Value) -> Coord),
                _ => None,
            })?;
            coords.push(make(self.value()?));
        }
        self.c.word("bounds")?;
        self.c.punct('[')?;
        let mut bounds = Vec::new();
        while !self.c.eat(']') {
            if !bounds.is_empty() {
                self.c.punct(',')?;
            }
            bounds.push(match self.c.any_word()? {
                "dim" => Bound::Dim,
                "inside" => Bound::Inside,
                "limit" => Bound::Limit(self.value()?),
                _ => return Err(self.c.expected("`dim`, `limit` or `inside` before this")),
            });
        }
        Ok(Access { view, coords, bounds })
    }

    fn access_value(&mut self) -> Step<(Access, Value)> {
        let access = self.access()?;
        self.c.punct(',')?;
        Ok((access, self.value()?))
    }

    fn for_op(&mut self) -> Step<(TileOp, Vec<Type>)> {
        let body = self.b.new_region();
        let iv_at = self.c.mark();
        let iv = self.value_name()?;
        self.c.punct('=')?;
        let lo = self.value()?;
        self.c.word("to")?;
        let hi = self.value()?;
        self.c.word("step")?;
        let step = self.value()?;
        let iv_value = self.b.region_param(body, Type::Scalar(DType::I64));
        self.bind(iv, iv_value, iv_at);
        let carry = if self.c.eat_word("carry") { self.carry()? } else { Vec::new() };
        let (inits, types) = self.bind_carry(body, carry);
        self.region(body)?;
        Ok((TileOp::For { lo, hi, step, inits, body }, types))
    }

    fn while_op(&mut self) -> Step<(TileOp, Vec<Type>)> {
        let cond = self.b.new_region();
        let carry = self.carry()?;
        let (inits, types) = self.bind_carry(cond, carry);
        self.region(cond)?;
        self.c.word("do")?;
        self.c.punct('(')?;
        let body = self.b.new_region();
        let mut bound = 0;
        while !self.c.eat(')') {
            if bound > 0 {
                self.c.punct(',')?;
            }
            let at = self.c.mark();
            let name = self.value_name()?;
            let Some(ty) = types.get(bound) else { return Err(self.too_many(at)) };
            let value = self.b.region_param(body, ty.clone());
            self.bind(name, value, at);
            bound += 1;
        }
        if bound < types.len() {
            return Err(self.c.expected("a name for each carried value before this"));
        }
        self.region(body)?;
        Ok((TileOp::While { inits, cond, body }, types))
    }

    fn if_op(&mut self) -> Step<(TileOp, Vec<Type>)> {
        let cond = self.value()?;
        let types = if self.c.eat(':') { self.type_list()? } else { Vec::new() };
        let then_region = self.b.new_region();
        self.region(then_region)?;
        self.c.word("else")?;
        let else_region = self.b.new_region();
        self.region(else_region)?;
        Ok((TileOp::If { cond, then_region, else_region }, types))
    }

    fn too_many(&mut self, at: usize) -> Stop {
        self.c.error(codes::SYNTAX, at, "more names than carried values".to_owned());
        Stop
    }

    fn type_list(&mut self) -> Step<Vec<Type>> {
        self.c.punct('(')?;
        let mut types = Vec::new();
        while !self.c.eat(')') {
            if !types.is_empty() {
                self.c.punct(',')?;
            }
            types.push(self.ty()?);
        }
        Ok(types)
    }

    /// `(%p = %init, …) : (types)`: name, its place, initial value, type.
    fn carry(&mut self) -> Step<Vec<(String, usize, Value, Type)>> {
        let at = self.c.mark();
        self.c.punct('(')?;
        let mut pairs = Vec::new();
        while !self.c.eat(')') {
            if !pairs.is_empty() {
                self.c.punct(',')?;
            }
            let at = self.c.mark();
            let name = self.value_name()?;
            self.c.punct('=')?;
            pairs.push((name, at, self.value()?));
        }
        self.c.punct(':')?;
        let types = self.type_list()?;
        if types.len() != pairs.len() {
            let message = format!("{} carried values, {} types", pairs.len(), types.len());
            self.c.error(codes::SYNTAX, at, message);
            return Err(Stop);
        }
        Ok(pairs.into_iter().zip(types).map(|((n, at, v), ty)| (n, at, v, ty)).collect())
    }

    fn bind_carry(
        &mut self,
        region: RegionId,
        carry: Vec<(String, usize, Value, Type)>,
    ) -> (Vec<Value>, Vec<Type>) {
        let mut inits = Vec::new();
        let mut types = Vec::new();
        for (name, at, init, ty) in carry {
            let value = self.b.region_param(region, ty.clone());
            self.bind(name, value, at);
            inits.push(init);
            types.push(ty);
        }
        (inits, types)
    }
}

/// The op with the shape or element type that its result type gives.
fn with_result_type(mut op: TileOp, ty: &Type) -> TileOp {
    match &mut op {
        TileOp::Iota { len, dtype } => {
            *len = ty.shape().first().copied().unwrap_or(1);
            *dtype = ty.elem();
        }
        TileOp::Histogram { bins, .. } => *bins = ty.shape().first().copied().unwrap_or(1),
        TileOp::Splat { shape, .. }
        | TileOp::Reshape { shape, .. }
        | TileOp::Broadcast { shape, .. }
        | TileOp::Slice { shape, .. }
        | TileOp::Load { shape, .. } => *shape = ty.shape().to_vec(),
        TileOp::Cast { to, .. } | TileOp::Bitcast { to, .. } => *to = ty.elem(),
        _ => {}
    }
    op
}

fn literal_bits(text: &str, dtype: DType) -> Option<u64> {
    match dtype.kind() {
        Kind::Bool => match text {
            "false" => Some(0),
            "true" => Some(1),
            _ => text.parse().ok(),
        },
        Kind::Unsigned => text.parse().ok(),
        Kind::Signed => text.parse::<i64>().ok().map(|n| n as u64),
        Kind::Float => match text {
            "inf" => Some(f64::INFINITY.to_bits()),
            "-inf" => Some(f64::NEG_INFINITY.to_bits()),
            "nan" => Some(f64::NAN.to_bits()),
            _ => match text.strip_prefix("nan(0x").and_then(|t| t.strip_suffix(')')) {
                Some(hex) => {
                    u64::from_str_radix(hex, 16).ok().filter(|b| f64::from_bits(*b).is_nan())
                }
                None => {
                    // Only what the printer writes: `f64::from_str` also takes "infinity" and the like.
                    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
                    text.parse::<f64>().ok().filter(|x| numeric && x.is_finite()).map(f64::to_bits)
                }
            },
        },
    }
}
