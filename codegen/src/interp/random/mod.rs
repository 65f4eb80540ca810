//! Random tile programs: verified functions with arguments, made from a seed, whose results every
//! backend must agree on.
//!
//! What the IR leaves open is kept out of the results. The order of a float sum is open, so only sums
//! of small whole numbers are taken, which are exact in any order. Transcendental functions are a few
//! ulp apart between backends: what is computed with them is only moved about and stored, to an
//! argument whose [`Tolerance`] says so. The bits of a NaN are open, so none is reinterpreted; NaN
//! equals NaN when results are compared.

mod ops;
mod program;

use super::{Arg, Options, convert, run_with};
use tilewright_abi::DType;
use tilewright_ir::{Diagnostic, Func, Literal};

/// How near a backend must come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Equal values: the same bits, or NaN for NaN.
    Exact,
    /// |a − b| ≤ 1e-5·(1 + |b|); NaN for NaN.
    Close,
}

/// One argument of a random program.
#[derive(Clone, Debug)]
pub enum RandomArg {
    /// A view with its memory, which has canaries before, between and after the elements.
    View {
        /// The whole memory.
        data: Vec<u8>,
        /// Element type.
        dtype: DType,
        /// Extents.
        dims: Vec<i64>,
        /// Strides in elements.
        strides: Vec<i64>,
        /// Elements before the first.
        offset: i64,
        /// How results are compared.
        tolerance: Tolerance,
    },
    /// A scalar.
    Scalar(Literal),
}

/// A function, what to launch it with, and how to judge the result.
#[derive(Clone, Debug)]
pub struct RandomProgram {
    /// The kernel; it verifies.
    pub func: Func,
    /// One for each parameter.
    pub args: Vec<RandomArg>,
    /// Launch grid.
    pub grid: [i64; 3],
}

/// What a random program may contain.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Statements to try at each level.
    pub statements: usize,
    /// Extents that are not powers of two.
    pub odd_extents: bool,
    /// Loops and branches.
    pub control_flow: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config { statements: 24, odd_extents: true, control_flow: true }
    }
}

/// The program of a seed; the same one every time.
pub fn random_program(seed: u64, config: &Config) -> RandomProgram {
    program::Maker::new(seed, *config).program()
}

impl RandomProgram {
    /// The arguments after the interpreter has run the program.
    pub fn expected(&self) -> Result<Vec<RandomArg>, Diagnostic> {
        let mut args = self.args.clone();
        let mut launch: Vec<Arg<'_>> = args.iter_mut().map(RandomArg::borrow).collect();
        let options = Options { check_races: true, max_steps: Some(10_000_000) };
        run_with(&self.func, &mut launch, self.grid, &options)?;
        drop(launch);
        Ok(args)
    }
}

impl RandomArg {
    /// As an argument of the interpreter.
    pub fn borrow(&mut self) -> Arg<'_> {
        match self {
            RandomArg::Scalar(l) => Arg::Scalar(*l),
            RandomArg::View { data, dtype, dims, strides, offset, .. } => Arg::View {
                data,
                dtype: *dtype,
                dims: dims.clone(),
                strides: strides.clone(),
                offset: *offset,
            },
        }
    }

    /// The first difference of a backend's argument from the expected one, canaries included.
    pub fn difference(&self, expected: &RandomArg) -> Option<String> {
        let (RandomArg::View { data: a, dtype, tolerance, .. }, RandomArg::View { data: b, .. }) =
            (self, expected)
        else {
            return None;
        };
        let bytes = dtype.bits() as usize / 8;
        let pairs = a.chunks(bytes).zip(b.chunks(bytes)).enumerate();
        let mut words = pairs.map(|(i, (a, b))| (i, word(a), word(b)));
        let (i, x, y) = words.find(|(_, a, b)| !agree(*dtype, *tolerance, *a, *b))?;
        let show = |bits| match dtype.is_float() {
            true => format!("{:?} ({bits:#x})", convert::decode(*dtype, bits)),
            false => format!("{bits:#x}"),
        };
        Some(format!("element {i} of the memory is {}, expected {} ({dtype})", show(x), show(y)))
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, b| word << 8 | u64::from(*b))
}

fn agree(d: DType, tolerance: Tolerance, a: u64, b: u64) -> bool {
    if a == b {
        return true;
    }
    if !d.is_float() {
        return false;
    }
    let (x, y) = (convert::decode(d, a), convert::decode(d, b));
    match tolerance {
        _ if x.is_nan() || y.is_nan() => x.is_nan() && y.is_nan(),
        Tolerance::Exact => false,
        Tolerance::Close => x == y || (x - y).abs() <= 1e-5 * (1.0 + y.abs()),
    }
}

/// Splitmix64: one add and one mix a number, good enough to choose by.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`, which is at least 1.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// True once in `n`.
    pub(super) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of some; there is at least one.
    pub(super) fn of<T: Clone>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())].clone()
    }
}
