//! The launch that a file test asks for: `run: grid 2,1,1 x=[100] n=7 tolerance=1e-4`.
//!
//! Views are filled with numbers that depend on their names alone; scalars stand in the line.

use tilewright_abi::{DType, Kind};
use tilewright_codegen::interp::convert;
use tilewright_ir::{Func, Literal, Rounding, Type};

use crate::differential::{Tolerance, Value, fill};

/// A launch.
#[derive(Debug)]
pub struct Launch {
    /// One for each parameter of the kernel.
    pub args: Vec<Value>,
    /// Programs along each axis.
    pub grid: [i64; 3],
    /// How far floats may differ.
    pub tolerance: Tolerance,
}

impl Launch {
    /// Reads a line for a kernel.
    pub fn parse(line: &str, func: &Func) -> Result<Launch, String> {
        let mut words = line.split_whitespace();
        if words.next() != Some("grid") {
            return Err(format!("`run: {line}` does not begin with `grid X,Y,Z`"));
        }
        let grid = numbers(words.next().unwrap_or_default())?;
        let axis = |i: usize| grid.get(i).copied().unwrap_or(1);
        let mut tolerance = Tolerance::default();
        let mut given = Vec::new();
        for word in words {
            let (name, value) =
                word.split_once('=').ok_or_else(|| format!("`{word}` is not `name=value`"))?;
            if name == "tolerance" {
                let t = value.parse().map_err(|_| format!("`{value}` is not a number"))?;
                tolerance = Tolerance { rel: t, abs: t };
            } else {
                given.push((name, value));
            }
        }
        let mut args = Vec::new();
        for param in &func.params {
            let value = given.iter().find(|(name, _)| *name == param.name);
            let (_, value) = value.ok_or_else(|| format!("no value for `{}`", param.name))?;
            args.push(argument(func.ty(param.value), &param.name, value)?);
        }
        Ok(Launch { args, grid: [axis(0), axis(1), axis(2)], tolerance })
    }
}

fn numbers(text: &str) -> Result<Vec<i64>, String> {
    text.split(',')
        .map(|n| n.trim().parse().map_err(|_| format!("`{text}` is not numbers with commas")))
        .collect()
}

fn argument(ty: &Type, name: &str, value: &str) -> Result<Value, String> {
    match ty {
        Type::View(view) => {
            let inner = value.strip_prefix('[').and_then(|v| v.strip_suffix(']'));
            let inner = inner.ok_or_else(|| format!("`{name}` is a view: give `{name}=[dims]`"))?;
            let dims = numbers(inner)?;
            if dims.len() != view.rank {
                return Err(format!("`{name}` has {} axes", view.rank));
            }
            let elements = dims.iter().product::<i64>().max(0) as usize;
            let seed = name.bytes().fold(1, |h: u64, b| h.wrapping_mul(131) + u64::from(b));
            let bytes = fill(view.elem, elements, seed);
            Ok(Value::View { dtype: view.elem, dims, bytes })
        }
        Type::Scalar(dtype) => scalar(*dtype, value).map(Value::Scalar),
        Type::Tile(_) => Err(format!("`{name}` is a tile, which no launch can give")),
    }
}

fn scalar(dtype: DType, value: &str) -> Result<Literal, String> {
    let fail = || format!("`{value}` is not a value of {dtype}");
    let bits = if dtype.kind() == Kind::Float {
        let x: f64 = value.parse().map_err(|_| fail())?;
        let code = convert::encode(dtype, x, Rounding::NearestEven, false);
        convert::decode(dtype, code).to_bits()
    } else {
        let wide: i128 = value.parse().map_err(|_| fail())?;
        wide as u64
    };
    Ok(Literal { dtype, bits })
}
