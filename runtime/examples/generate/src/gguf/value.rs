//! Metadata values: twelve scalar types, strings and arrays of one type.

use super::cursor::Cursor;
use crate::error::{Error, Result};

/// One metadata value; integers are widened, arrays keep one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any unsigned integer type.
    Unsigned(u64),
    /// Any signed integer type.
    Signed(i64),
    /// f32 or f64.
    Float(f64),
    /// A byte that is 0 or 1.
    Bool(bool),
    /// UTF-8 text.
    String(String),
    /// An array of unsigned or signed integers.
    Integers(Vec<i64>),
    /// An array of f32 or f64.
    Floats(Vec<f64>),
    /// An array of truth values.
    Bools(Vec<bool>),
    /// An array of strings.
    Strings(Vec<String>),
}

impl Value {
    /// What kind of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Unsigned(_) | Value::Signed(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a bool",
            Value::String(_) => "a string",
            Value::Integers(_) => "an array of integers",
            Value::Floats(_) => "an array of floats",
            Value::Bools(_) => "an array of bools",
            Value::Strings(_) => "an array of strings",
        }
    }
}

#[derive(Clone, Copy)]
enum Scalar {
    Unsigned(u32),
    Signed(u32),
    Float(u32),
    Bool,
    String,
}

const ARRAY: u32 = 9;

/// The scalar type behind a type number: its class and bytes.
fn scalar_type(number: u32) -> Option<Scalar> {
    Some(match number {
        0 => Scalar::Unsigned(1),
        1 => Scalar::Signed(1),
        2 => Scalar::Unsigned(2),
        3 => Scalar::Signed(2),
        4 => Scalar::Unsigned(4),
        5 => Scalar::Signed(4),
        6 => Scalar::Float(4),
        7 => Scalar::Bool,
        8 => Scalar::String,
        10 => Scalar::Unsigned(8),
        11 => Scalar::Signed(8),
        12 => Scalar::Float(8),
        _ => return None,
    })
}

/// Reads the value of `key`.
pub(super) fn read_value(c: &mut Cursor<'_>, key: &str) -> Result<Value> {
    let what = format!("the value of `{key}`");
    let number = c.u32(&what)?;
    if number == ARRAY {
        return read_array(c, &what);
    }
    let ty = scalar_type(number).ok_or_else(|| unknown_type(&what, number))?;
    Ok(match ty {
        Scalar::Unsigned(bytes) => Value::Unsigned(unsigned(c, bytes, &what)?),
        Scalar::Signed(bytes) => Value::Signed(signed(c, bytes, &what)?),
        Scalar::Float(bytes) => Value::Float(float(c, bytes, &what)?),
        Scalar::Bool => Value::Bool(boolean(c, &what)?),
        Scalar::String => Value::String(c.string(&what)?),
    })
}

fn read_array(c: &mut Cursor<'_>, what: &str) -> Result<Value> {
    let number = c.u32(what)?;
    if number == ARRAY {
        return Err(Error::unsupported(format!("{what} is an array of arrays")));
    }
    let ty = scalar_type(number).ok_or_else(|| unknown_type(what, number))?;
    let min_bytes = match ty {
        Scalar::Unsigned(b) | Scalar::Signed(b) | Scalar::Float(b) => u64::from(b),
        Scalar::Bool => 1,
        Scalar::String => 8,
    };
    let n = c.count(min_bytes, &format!("the length of {what}"))?;
    Ok(match ty {
        Scalar::Unsigned(bytes) => Value::Integers(collect(n, || {
            let v = unsigned(c, bytes, what)?;
            i64::try_from(v).map_err(|_| Error::malformed(format!("{what} holds {v}, above 2^63")))
        })?),
        Scalar::Signed(bytes) => Value::Integers(collect(n, || signed(c, bytes, what))?),
        Scalar::Float(bytes) => Value::Floats(collect(n, || float(c, bytes, what))?),
        Scalar::Bool => Value::Bools(collect(n, || boolean(c, what))?),
        Scalar::String => Value::Strings(collect(n, || c.string(what))?),
    })
}

/// `n` items; `Cursor::count` has already bounded `n` by the bytes that are there.
fn collect<T>(n: usize, mut item: impl FnMut() -> Result<T>) -> Result<Vec<T>> {
    (0..n).map(|_| item()).collect()
}

fn unknown_type(what: &str, number: u32) -> Error {
    Error::malformed(format!("{what} has type number {number}, which GGUF does not define"))
}

fn unsigned(c: &mut Cursor<'_>, bytes: u32, what: &str) -> Result<u64> {
    let mut wide = [0; 8];
    let raw = c.take(u64::from(bytes), what)?;
    for (to, from) in wide.iter_mut().zip(raw) {
        *to = *from;
    }
    Ok(u64::from_le_bytes(wide))
}

fn signed(c: &mut Cursor<'_>, bytes: u32, what: &str) -> Result<i64> {
    let unused = 64 - 8 * bytes;
    Ok(((unsigned(c, bytes, what)? << unused) as i64) >> unused)
}

fn float(c: &mut Cursor<'_>, bytes: u32, what: &str) -> Result<f64> {
    let bits = unsigned(c, bytes, what)?;
    Ok(if bytes == 4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) })
}

fn boolean(c: &mut Cursor<'_>, what: &str) -> Result<bool> {
    match c.array::<1>(what)?[0] {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::malformed(format!("{what} is a bool but holds {other}"))),
    }
}
