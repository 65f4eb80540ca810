//! Arguments and memory accesses.

use super::race::Race;
use super::tile::{Data, Tile, literal_bits};
use super::{Arg, codes};
use tilewright_abi::DType;
use tilewright_ir::{Access, AtomicOp, BinaryOp, Bound, Coord, Diagnostic, Literal, Value};

/// A view parameter's memory.
pub(super) struct View<'a> {
    pub(super) data: &'a mut [u8],
    pub(super) dtype: DType,
    pub(super) dims: &'a [i64],
    pub(super) strides: &'a [i64],
    pub(super) offset: i64,
    pub(super) race: Option<Race>,
}

/// Where each element of an access lies: its element number in the view's memory, or [`MASKED`].
pub(super) type Places = Vec<i64>;

/// The place of an element that is not accessed.
const MASKED: i64 = i64::MIN;

fn plus(a: i64, b: i64) -> i64 {
    if a == MASKED || b == MASKED { MASKED } else { a.wrapping_add(b) }
}

/// Reads the values that an access names.
pub(super) trait Values {
    fn tile(&self, v: Value) -> Result<std::rc::Rc<Tile>, Diagnostic>;
}

/// One axis of an access.
enum Axis {
    /// Coordinate by position on this axis.
    Line(Vec<i64>),
    /// Coordinate by element.
    All(Vec<i64>),
}

impl View<'_> {
    fn bytes(&self) -> usize {
        self.dtype.bits() as usize / 8
    }

    /// The places of a tile of `shape` (one element where empty).
    pub(super) fn places(
        &self,
        access: &Access,
        shape: &[usize],
        values: &dyn Values,
    ) -> Result<Places, Diagnostic> {
        // Grows by an axis at a time; index tiles of the whole shape are added at the end.
        let mut at: Places = vec![self.offset];
        let mut whole: Vec<Places> = Vec::new();
        for (n, (coord, bound)) in access.coords.iter().zip(&access.bounds).enumerate() {
            let extent = shape.get(n).copied().unwrap_or(1);
            let axis = match coord {
                Coord::Span(v) => {
                    let origin = values.tile(*v)?.as_index();
                    Axis::Line((0..extent as i64).map(|i| origin.saturating_add(i)).collect())
                }
                Coord::Rows(v) => Axis::Line(signed(&*values.tile(*v)?)),
                Coord::Gather(v) => Axis::All(signed(&*values.tile(*v)?)),
            };
            let dim = self.dims.get(n).copied().unwrap_or(0);
            let limit = match bound {
                Bound::Dim | Bound::Inside => dim,
                Bound::Limit(v) => values.tile(*v)?.as_index().min(dim),
            };
            let stride = self.strides.get(n).copied().unwrap_or(0);
            let masks = !matches!(coord, Coord::Span(_));
            let step = |c: &i64| {
                if (0..limit).contains(c) {
                    return Ok(c.wrapping_mul(stride));
                }
                // A negative row index masks the row whatever the bound is.
                match bound {
                    Bound::Inside if !(masks && *c < 0) => Err(outside(n, *c, dim)),
                    Bound::Inside | Bound::Dim | Bound::Limit(_) => Ok(MASKED),
                }
            };
            let mut next = Vec::with_capacity(at.len() * extent);
            match axis {
                Axis::Line(line) => {
                    let steps = line.iter().map(step).collect::<Result<Vec<_>, _>>()?;
                    for a in &at {
                        next.extend(steps.iter().map(|b| plus(*a, *b)));
                    }
                }
                Axis::All(all) => {
                    whole.push(all.iter().map(step).collect::<Result<Vec<_>, _>>()?);
                    for a in &at {
                        next.extend(std::iter::repeat_n(*a, extent));
                    }
                }
            }
            at = next;
        }
        for steps in whole {
            for (a, b) in at.iter_mut().zip(steps) {
                *a = plus(*a, b);
            }
        }
        let elements = (self.data.len() / self.bytes().max(1)) as i64;
        match at.iter().find(|a| **a != MASKED && !(0..elements).contains(*a)) {
            None => Ok(at),
            Some(element) => {
                let message = "an access outside the argument's memory";
                Err(Diagnostic::new(codes::OUTSIDE_BUFFER, message)
                    .label(format!("element {element} of {elements}"))
                    .note("the argument's dims and strides reach past its data"))
            }
        }
    }

    fn word(&self, element: i64) -> u64 {
        let (bytes, at) = (self.bytes(), element as usize);
        let get = self.data.get(at * bytes..(at + 1) * bytes);
        match get {
            Some(&[a]) => u64::from(a),
            Some(&[a, b]) => u64::from(u16::from_le_bytes([a, b])),
            Some(&[a, b, c, d]) => u64::from(u32::from_le_bytes([a, b, c, d])),
            Some(&[a, b, c, d, e, f, g, h]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        }
    }

    fn set_word(&mut self, element: i64, word: u64) {
        let (bytes, at) = (self.bytes(), element as usize);
        let word = word.to_le_bytes();
        let to = self.data.get_mut(at * bytes..(at + 1) * bytes);
        if let (Some(to), Some(from)) = (to, word.get(..bytes)) {
            to.copy_from_slice(from);
        }
    }

    /// Tells the race check of each place that is accessed.
    fn record(
        &mut self,
        places: &Places,
        what: impl Fn(&mut Race, usize) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        match &mut self.race {
            None => Ok(()),
            Some(race) => {
                let live = places.iter().filter(|at| **at != MASKED);
                live.map(|at| *at as usize).try_for_each(|at| what(race, at))
            }
        }
    }

    pub(super) fn load(
        &mut self,
        places: &Places,
        shape: &[usize],
        other: u64,
    ) -> Result<Tile, Diagnostic> {
        self.record(places, Race::read)?;
        let is_bool = self.dtype == DType::Bool;
        let words = places.iter().map(|at| match *at {
            MASKED => other,
            // Any byte but 0 is true.
            at if is_bool => u64::from(self.word(at) != 0),
            at => self.word(at),
        });
        Ok(Tile {
            dtype: self.dtype,
            shape: shape.to_vec(),
            data: Data::from_bits(self.dtype, words),
        })
    }

    pub(super) fn store(&mut self, places: &Places, value: &Tile) -> Result<(), Diagnostic> {
        if let Some(race) = &mut self.race {
            race.next_store();
        }
        self.record(places, Race::write)?;
        for (i, at) in places.iter().enumerate().filter(|(_, at)| **at != MASKED) {
            self.set_word(*at, value.data.get(i));
        }
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        places: &Places,
        value: &Tile,
    ) -> Result<(), Diagnostic> {
        self.record(places, Race::atomic)?;
        let combine = match op {
            AtomicOp::Add => Some(BinaryOp::Add),
            AtomicOp::Max => Some(BinaryOp::Max),
            AtomicOp::Min => Some(BinaryOp::Min),
            AtomicOp::And => Some(BinaryOp::And),
            AtomicOp::Or => Some(BinaryOp::Or),
            AtomicOp::Xor => Some(BinaryOp::Xor),
            AtomicOp::Exchange => None,
        };
        for (i, at) in places.iter().enumerate().filter(|(_, at)| **at != MASKED) {
            let at = *at;
            let new = value.data.get(i);
            let new = match combine {
                None => new,
                Some(op) => {
                    let one = |bits| Tile::from_bits(self.dtype, Vec::new(), std::iter::once(bits));
                    super::elements::binary(op, &one(self.word(at)), &one(new)).data.get(0)
                }
            };
            self.set_word(at, new);
        }
        Ok(())
    }
}

fn signed(t: &Tile) -> Vec<i64> {
    t.ints().into_iter().map(|v| v as i64).collect()
}

fn outside(axis: usize, coordinate: i64, dim: i64) -> Diagnostic {
    Diagnostic::new(codes::INSIDE, "a coordinate promised to be inside the view is not")
        .label(format!("coordinate {coordinate} on axis {axis} of extent {dim}"))
        .help("bound the access by the view's extent, or correct the coordinate")
}

/// A view argument of rank and type `(rank, dtype)`, or what is wrong with it.
pub(super) fn view<'a>(
    arg: &'a mut Arg<'_>,
    rank: usize,
    want: DType,
    check_races: bool,
) -> Result<View<'a>, String> {
    let Arg::View { data, dtype, dims, strides, offset } = arg else {
        return Err("is a scalar, not a view".to_owned());
    };
    if *dtype != want {
        return Err(format!("has elements of `{dtype}`, not `{want}`"));
    }
    if dims.len() != rank || strides.len() != rank {
        return Err(format!("has {} dims and {} strides, not {rank}", dims.len(), strides.len()));
    }
    if dims.iter().any(|d| *d < 0) {
        return Err("has a negative extent".to_owned());
    }
    let race = check_races.then(|| Race::new(data.len() / (want.bits() as usize / 8).max(1)));
    Ok(View { data, dtype: *dtype, dims, strides, offset: *offset, race })
}

/// A scalar argument, or what is wrong with it.
pub(super) fn scalar(arg: &Arg<'_>, want: DType) -> Result<Tile, String> {
    match arg {
        Arg::Scalar(l) if l.dtype == want => {
            Ok(Tile::from_bits(want, Vec::new(), std::iter::once(literal_bits(l))))
        }
        Arg::Scalar(Literal { dtype, .. }) => Err(format!("is `{dtype}`, not `{want}`")),
        Arg::View { .. } => Err("is a view, not a scalar".to_owned()),
    }
}
