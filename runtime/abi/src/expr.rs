//! Integer expressions over named axes, and comparisons of them: shapes, grids, conditions.
//!
//! In: text such as `ceil_div(m, 128) * n`, or the builder methods. Out: a value, given the axes.
//! Evaluation is total: an unknown name, an overflow or a division by zero gives `None`.

use std::fmt;
use std::str::FromStr;

/// An integer expression over named axes.
///
/// ```
/// use tilewright_abi::Expr;
/// let e: Expr = "ceil_div(m, 6) * n".parse().unwrap();
/// assert_eq!(e.eval(&|s| Some(if s == "m" { 13 } else { 2 })), Some(6));
/// assert_eq!(e.to_string(), "ceil_div(m, 6) * n");
/// assert_eq!(e, Expr::sym("m").ceil_div(6) * Expr::sym("n"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A number.
    Const(i64),
    /// An axis or a variant key.
    Sym(String),
    /// Sum.
    Add(Box<Expr>, Box<Expr>),
    /// Difference.
    Sub(Box<Expr>, Box<Expr>),
    /// Product.
    Mul(Box<Expr>, Box<Expr>),
    /// Quotient rounded up.
    CeilDiv(Box<Expr>, Box<Expr>),
    /// Quotient rounded down.
    FloorDiv(Box<Expr>, Box<Expr>),
    /// Remainder, with the sign of the divisor.
    Rem(Box<Expr>, Box<Expr>),
    /// The smaller.
    Min(Box<Expr>, Box<Expr>),
    /// The larger.
    Max(Box<Expr>, Box<Expr>),
}

/// How two expressions compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each variant is named by the comparison; `symbol` gives the text form"
)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// A comparison of two expressions, for example `k % 32 == 0`.
///
/// ```
/// use tilewright_abi::Cond;
/// let c: Cond = "k % 32 == 0".parse().unwrap();
/// assert_eq!(c.eval(&|_| Some(64)), Some(true));
/// assert_eq!(c.to_string(), "k % 32 == 0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cond {
    /// Left side.
    pub lhs: Expr,
    /// Comparison.
    pub op: CmpOp,
    /// Right side.
    pub rhs: Expr,
}

/// Why a text is not an expression or a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The whole text.
    pub text: String,
    /// Byte offset of the fault.
    pub at: usize,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {} at byte {}", self.text, self.message, self.at)
    }
}

impl std::error::Error for ParseError {}

impl Expr {
    /// A named axis.
    pub fn sym(name: impl Into<String>) -> Expr {
        Expr::Sym(name.into())
    }

    /// `ceil(self / by)`.
    #[must_use]
    pub fn ceil_div(self, by: impl Into<Expr>) -> Expr {
        Expr::CeilDiv(Box::new(self), Box::new(by.into()))
    }

    /// `floor(self / by)`.
    #[must_use]
    pub fn floor_div(self, by: impl Into<Expr>) -> Expr {
        Expr::FloorDiv(Box::new(self), Box::new(by.into()))
    }

    /// The smaller of the two.
    #[must_use]
    pub fn min(self, other: impl Into<Expr>) -> Expr {
        Expr::Min(Box::new(self), Box::new(other.into()))
    }

    /// The larger of the two.
    #[must_use]
    pub fn max(self, other: impl Into<Expr>) -> Expr {
        Expr::Max(Box::new(self), Box::new(other.into()))
    }

    /// The value, if every name is known and nothing overflows or divides by zero.
    pub fn eval(&self, sym: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        let two = |a: &Expr, b: &Expr| Some((a.eval(sym)?, b.eval(sym)?));
        match self {
            Expr::Const(c) => Some(*c),
            Expr::Sym(s) => sym(s),
            Expr::Add(a, b) => two(a, b).and_then(|(a, b)| a.checked_add(b)),
            Expr::Sub(a, b) => two(a, b).and_then(|(a, b)| a.checked_sub(b)),
            Expr::Mul(a, b) => two(a, b).and_then(|(a, b)| a.checked_mul(b)),
            Expr::CeilDiv(a, b) => {
                let (a, b) = two(a, b)?;
                floor_div(a, b)?.checked_add(i64::from(a.checked_rem(b)? != 0))
            }
            Expr::FloorDiv(a, b) => two(a, b).and_then(|(a, b)| floor_div(a, b)),
            Expr::Rem(a, b) => {
                let (a, b) = two(a, b)?;
                let r = a.checked_rem(b)?;
                Some(if r != 0 && (r < 0) != (b < 0) { r + b } else { r })
            }
            Expr::Min(a, b) => two(a, b).map(|(a, b)| a.min(b)),
            Expr::Max(a, b) => two(a, b).map(|(a, b)| a.max(b)),
        }
    }

    /// Calls `f` with each name used, in reading order, repeats included.
    pub fn for_each_sym<'e>(&'e self, f: &mut dyn FnMut(&'e str)) {
        match self {
            Expr::Const(_) => {}
            Expr::Sym(s) => f(s),
            Expr::Add(a, b)
            | Expr::Sub(a, b)
            | Expr::Mul(a, b)
            | Expr::CeilDiv(a, b)
            | Expr::FloorDiv(a, b)
            | Expr::Rem(a, b)
            | Expr::Min(a, b)
            | Expr::Max(a, b) => {
                a.for_each_sym(f);
                b.for_each_sym(f);
            }
        }
    }

    fn precedence(&self) -> u8 {
        match self {
            Expr::Add(..) | Expr::Sub(..) => 1,
            Expr::Mul(..) | Expr::Rem(..) => 2,
            Expr::Const(_)
            | Expr::Sym(_)
            | Expr::CeilDiv(..)
            | Expr::FloorDiv(..)
            | Expr::Min(..)
            | Expr::Max(..) => 3,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, at_least: u8) -> fmt::Result {
        let own = self.precedence();
        if own < at_least {
            f.write_str("(")?;
        }
        let infix = |f: &mut fmt::Formatter<'_>, a: &Expr, op: &str, b: &Expr| {
            a.write(f, own)?;
            write!(f, " {op} ")?;
            b.write(f, own + 1)
        };
        let call = |f: &mut fmt::Formatter<'_>, name: &str, a: &Expr, b: &Expr| {
            write!(f, "{name}(")?;
            a.write(f, 0)?;
            f.write_str(", ")?;
            b.write(f, 0)?;
            f.write_str(")")
        };
        match self {
            Expr::Const(c) => write!(f, "{c}")?,
            Expr::Sym(s) => f.write_str(s)?,
            Expr::Add(a, b) => infix(f, a, "+", b)?,
            Expr::Sub(a, b) => infix(f, a, "-", b)?,
            Expr::Mul(a, b) => infix(f, a, "*", b)?,
            Expr::Rem(a, b) => infix(f, a, "%", b)?,
            Expr::CeilDiv(a, b) => call(f, "ceil_div", a, b)?,
            Expr::FloorDiv(a, b) => call(f, "floor_div", a, b)?,
            Expr::Min(a, b) => call(f, "min", a, b)?,
            Expr::Max(a, b) => call(f, "max", a, b)?,
        }
        if own < at_least {
            f.write_str(")")?;
        }
        Ok(())
    }
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let q = a.checked_div(b)?;
    Some(if a.checked_rem(b)? != 0 && (a < 0) != (b < 0) { q - 1 } else { q })
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl From<i64> for Expr {
    fn from(c: i64) -> Expr {
        Expr::Const(c)
    }
}

impl From<usize> for Expr {
    fn from(c: usize) -> Expr {
        Expr::Const(i64::try_from(c).unwrap_or(i64::MAX))
    }
}

impl From<i32> for Expr {
    fn from(c: i32) -> Expr {
        Expr::Const(i64::from(c))
    }
}

/// Parses; a text that is no expression becomes a symbol of that text, which the check of the spec or
/// impl that holds it refuses by name.
impl From<&str> for Expr {
    fn from(text: &str) -> Expr {
        text.parse().unwrap_or_else(|_| Expr::sym(text))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl<R: Into<Expr>> std::ops::$trait<R> for Expr {
            type Output = Expr;
            fn $method(self, rhs: R) -> Expr {
                Expr::$trait(Box::new(self), Box::new(rhs.into()))
            }
        }
    };
}
operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Rem, rem);

impl CmpOp {
    const ALL: [(&'static str, CmpOp); 6] = [
        ("==", CmpOp::Eq),
        ("!=", CmpOp::Ne),
        ("<=", CmpOp::Le),
        (">=", CmpOp::Ge),
        ("<", CmpOp::Lt),
        (">", CmpOp::Gt),
    ];

    /// The text form.
    pub fn symbol(self) -> &'static str {
        Self::ALL.iter().find(|(_, op)| *op == self).map_or("", |(s, _)| s)
    }
}

impl Cond {
    /// A comparison.
    pub fn new(lhs: impl Into<Expr>, op: CmpOp, rhs: impl Into<Expr>) -> Cond {
        Cond { lhs: lhs.into(), op, rhs: rhs.into() }
    }

    /// Whether it holds, if both sides have a value.
    pub fn eval(&self, sym: &dyn Fn(&str) -> Option<i64>) -> Option<bool> {
        let (a, b) = (self.lhs.eval(sym)?, self.rhs.eval(sym)?);
        Some(match self.op {
            CmpOp::Eq => a == b,
            CmpOp::Ne => a != b,
            CmpOp::Lt => a < b,
            CmpOp::Le => a <= b,
            CmpOp::Gt => a > b,
            CmpOp::Ge => a >= b,
        })
    }
}

/// Parses; a text that is no condition becomes `<text> == 1` over a symbol of that text, which the
/// check of the spec or impl that holds it refuses by name.
impl From<&str> for Cond {
    fn from(text: &str) -> Cond {
        text.parse().unwrap_or_else(|_| Cond::new(Expr::sym(text), CmpOp::Eq, 1))
    }
}

impl fmt::Display for Cond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.lhs, self.op.symbol(), self.rhs)
    }
}

impl FromStr for Expr {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Expr, ParseError> {
        let mut p = Parser { text, at: 0, depth: 0 };
        let e = p.sum()?;
        p.end()?;
        Ok(e)
    }
}

impl FromStr for Cond {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Cond, ParseError> {
        let mut p = Parser { text, at: 0, depth: 0 };
        let lhs = p.sum()?;
        let op = CmpOp::ALL.iter().find(|(s, _)| p.eat(s)).map(|(_, op)| *op);
        let Some(op) = op else { return p.fail("expected a comparison") };
        let rhs = p.sum()?;
        p.end()?;
        Ok(Cond { lhs, op, rhs })
    }
}

/// Nesting that no written expression reaches; keeps hostile text from exhausting the stack.
const MAX_DEPTH: usize = 64;

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError { text: self.text.to_owned(), at: self.at, message: message.into() })
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let hit = self.rest().starts_with(token);
        if hit {
            self.at += token.len();
        }
        hit
    }

    fn want(&mut self, token: &str) -> Result<(), ParseError> {
        if self.eat(token) { Ok(()) } else { self.fail(format!("expected `{token}`")) }
    }

    fn end(&mut self) -> Result<(), ParseError> {
        self.skip_space();
        if self.rest().is_empty() { Ok(()) } else { self.fail("unexpected text") }
    }

    fn sum(&mut self) -> Result<Expr, ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail("nested too deeply");
        }
        let mut e = self.product()?;
        loop {
            if self.eat("+") {
                e = e + self.product()?;
            } else if self.eat("-") {
                e = e - self.product()?;
            } else {
                self.depth -= 1;
                return Ok(e);
            }
        }
    }

    fn product(&mut self) -> Result<Expr, ParseError> {
        let mut e = self.atom()?;
        loop {
            if self.eat("*") {
                e = e * self.atom()?;
            } else if self.eat("%") {
                e = e % self.atom()?;
            } else if self.eat("/") {
                e = e.floor_div(self.atom()?);
            } else {
                return Ok(e);
            }
        }
    }

    fn word(&mut self, accept: fn(char) -> bool) -> String {
        let n = self.rest().find(|c| !accept(c)).unwrap_or(self.rest().len());
        let word = self.rest().get(..n).unwrap_or("").to_owned();
        self.at += n;
        word
    }

    fn atom(&mut self) -> Result<Expr, ParseError> {
        if self.eat("(") {
            let e = self.sum()?;
            self.want(")")?;
            return Ok(e);
        }
        self.skip_space();
        let start = self.at;
        if self.rest().starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            let sign = if self.eat("-") { "-" } else { "" };
            let digits = self.word(|c| c.is_ascii_digit());
            return match format!("{sign}{digits}").parse() {
                Ok(c) => Ok(Expr::Const(c)),
                Err(_) => {
                    self.at = start;
                    self.fail("expected a 64-bit integer")
                }
            };
        }
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if name.is_empty() {
            return self.fail("expected a name, a number or `(`");
        }
        if !self.eat("(") {
            return Ok(Expr::Sym(name));
        }
        let a = self.sum()?;
        self.want(",")?;
        let b = self.sum()?;
        self.want(")")?;
        match name.as_str() {
            "ceil_div" => Ok(a.ceil_div(b)),
            "floor_div" => Ok(a.floor_div(b)),
            "min" => Ok(a.min(b)),
            "max" => Ok(a.max(b)),
            _ => {
                self.at = start;
                self.fail(format!("unknown function `{name}` (ceil_div, floor_div, min, max)"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(text: &str) -> Option<i64> {
        text.parse::<Expr>().ok()?.eval(&|s| match s {
            "m" => Some(13),
            "n" => Some(-7),
            _ => None,
        })
    }

    #[test]
    fn values() {
        assert_eq!(eval("1 + 2 * 3"), Some(7));
        assert_eq!(eval("(1 + 2) * 3"), Some(9));
        assert_eq!(eval("m - 3 - 2"), Some(8));
        assert_eq!(eval("ceil_div(m, 4)"), Some(4));
        assert_eq!(eval("ceil_div(n, 2)"), Some(-3));
        assert_eq!(eval("floor_div(n, 2)"), Some(-4));
        assert_eq!(eval("m / 4"), Some(3));
        assert_eq!(eval("n % 4"), Some(1));
        assert_eq!(eval("min(m, n) + max(m, n)"), Some(6));
        assert_eq!(eval("-3 + m"), Some(10));
        assert_eq!(eval("m / 0"), None);
        assert_eq!(eval("m * 9223372036854775807"), None);
        assert_eq!(eval("x"), None);
    }

    #[test]
    fn print_then_parse_is_identity() {
        for text in
            ["m - (n - 2)", "(m + n) * 2", "m * (n % 3)", "ceil_div(m + 1, 6) * n", "-4 + m"]
        {
            let e: Expr = text.parse().unwrap();
            assert_eq!(e.to_string(), text);
            assert_eq!(e.to_string().parse::<Expr>().unwrap(), e);
        }
        for text in ["m <= 16", "k % 32 == 0", "m + 1 != max(2, n)"] {
            assert_eq!(text.parse::<Cond>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_text_is_refused() {
        for text in ["", "m +", "(m", "f(m, n)", "m n", "99999999999999999999", &"(".repeat(500)] {
            assert!(text.parse::<Expr>().is_err(), "{text}");
        }
        assert!("m".parse::<Cond>().is_err());
    }
}
