//! Executes tile IR on the host: the meaning of every op, and the oracle for every backend.
//!
//! Memory is what a launch gives: each view is bytes with dims, strides and an offset, so that a test
//! may surround it with canaries. Programs run one after the other, pid 0 fastest. Sums are in index
//! order; products of `mma` accumulate in k order; transcendental functions are rounded from f64.
//! Nothing here is fast for its own sake, but tiles are typed vectors, so that a kernel's corpus runs
//! in seconds.

pub mod codes;
pub mod convert;
mod elements;
mod exec;
mod folds;
mod memory;
mod products;
mod race;
pub mod random;
mod shapes;
mod tile;

use exec::Machine;
use std::rc::Rc;
use tilewright_abi::DType;
use tilewright_ir::{Diagnostic, Func, Literal, Type, verify};

/// One argument of a launch.
#[derive(Debug)]
pub enum Arg<'a> {
    /// Memory of a view parameter.
    View {
        /// Its bytes, little-endian elements.
        data: &'a mut [u8],
        /// Element type.
        dtype: DType,
        /// Extent of each axis.
        dims: Vec<i64>,
        /// Elements between neighbours of each axis.
        strides: Vec<i64>,
        /// Elements before the one at all-zero coordinates.
        offset: i64,
    },
    /// A scalar parameter.
    Scalar(Literal),
}

impl<'a> Arg<'a> {
    /// A row-major view over the whole of `data`.
    pub fn dense(data: &'a mut [u8], dtype: DType, dims: &[i64]) -> Arg<'a> {
        let mut strides = vec![1i64; dims.len()];
        for i in (1..dims.len()).rev() {
            strides[i - 1] = strides[i].saturating_mul(dims[i]);
        }
        Arg::View { data, dtype, dims: dims.to_vec(), strides, offset: 0 }
    }

    /// An integer or bool scalar.
    pub fn int(dtype: DType, value: i64) -> Arg<'a> {
        let unused = 64 - dtype.bits();
        let bits = match dtype.kind() {
            tilewright_abi::Kind::Signed => ((value << unused) >> unused) as u64,
            _ => (value as u64) << unused >> unused,
        };
        Arg::Scalar(Literal { dtype, bits })
    }

    /// A float scalar, rounded to its type.
    pub fn float(dtype: DType, value: f64) -> Arg<'a> {
        let rounding = tilewright_ir::Rounding::NearestEven;
        let rounded = convert::decode(dtype, convert::encode(dtype, value, rounding, false));
        Arg::Scalar(Literal { dtype, bits: rounded.to_bits() })
    }
}

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Refuse a launch whose result depends on the order of its programs. Slower.
    pub check_races: bool,
    /// Stop with an error after this many instructions.
    pub max_steps: Option<u64>,
}

/// Verifies and runs a kernel over a grid.
pub fn run(f: &Func, args: &mut [Arg<'_>], grid: [i64; 3]) -> Result<(), Diagnostic> {
    run_with(f, args, grid, &Options::default())
}

/// [`run`] with options.
pub fn run_with(
    f: &Func,
    args: &mut [Arg<'_>],
    grid: [i64; 3],
    options: &Options,
) -> Result<(), Diagnostic> {
    if let Err(mut errors) = verify(f) {
        return Err(errors.swap_remove(0));
    }
    if f.params.len() != args.len() {
        let message = format!("kernel `{}` has {} parameters", f.name, f.params.len());
        let label = format!("{} arguments given", args.len());
        return Err(Diagnostic::new(codes::ARGUMENTS, message).label(label));
    }
    let mut machine = Machine {
        f,
        values: vec![None; f.values.len()],
        views: f.values.iter().map(|_| None).collect(),
        grid,
        program: [0; 3],
        steps: options.max_steps.unwrap_or(u64::MAX),
    };
    for (p, arg) in f.params.iter().zip(args) {
        let fault = |what: String| {
            let message = format!("the argument of `{}` {what}", p.name);
            Diagnostic::new(codes::ARGUMENTS, message)
        };
        match f.ty(p.value) {
            Type::View(v) => {
                let view = memory::view(arg, v.rank, v.elem, options.check_races).map_err(fault)?;
                machine.views[p.value.index()] = Some(view);
            }
            ty @ (Type::Scalar(_) | Type::Tile(_)) => {
                let tile = memory::scalar(arg, ty.elem()).map_err(fault)?;
                machine.values[p.value.index()] = Some(Rc::new(tile));
            }
        }
    }
    let mut id = 0u32;
    for z in 0..grid[2] {
        for y in 0..grid[1] {
            for x in 0..grid[0] {
                machine.program = [x, y, z];
                for race in machine.views.iter_mut().flatten().filter_map(|v| v.race.as_mut()) {
                    race.set_program(id);
                }
                machine.region(Func::BODY, Vec::new())?;
                id = id.wrapping_add(1);
            }
        }
    }
    Ok(())
}
