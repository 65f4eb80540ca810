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

/// Where each element of an access lies: the byte of its first bit, or `None` where masked.
pub(super) type Places = Vec<Option<usize>>;

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
        // Element offsets, or None where masked, of the axes so far: grows by an axis at a time.
        let mut at: Vec<Option<i64>> = vec![Some(self.offset)];
        let mut whole: Vec<(usize, Vec<Option<i64>>)> = Vec::new();
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
                    return Ok(Some(c.wrapping_mul(stride)));
                }
                // A negative row index masks the row whatever the bound is.
                match bound {
                    Bound::Inside if !(masks && *c < 0) => Err(outside(n, *c, dim)),
                    Bound::Inside | Bound::Dim | Bound::Limit(_) => Ok(None),
                }
            };
            match axis {
                Axis::Line(line) => {
                    let steps = line.iter().map(step).collect::<Result<Vec<_>, _>>()?;
                    let sum = |a: &Option<i64>, b: &Option<i64>| Some((*a)?.wrapping_add((*b)?));
                    let next = at.iter().flat_map(|a| steps.iter().map(move |b| sum(a, b)));
                    at = next.collect();
                }
                Axis::All(all) => {
                    let steps = all.iter().map(step).collect::<Result<Vec<_>, _>>()?;
                    whole.push((n, steps));
                    at = at.iter().flat_map(|a| std::iter::repeat_n(*a, extent)).collect();
                }
            }
        }
        for (_, steps) in whole {
            for (a, b) in at.iter_mut().zip(steps) {
                *a = (|| Some((*a)?.wrapping_add(b?)))();
            }
        }
        at.into_iter().map(|a| a.map(|a| self.place(a)).transpose()).collect()
    }

    fn place(&self, element: i64) -> Result<usize, Diagnostic> {
        let bytes = self.bytes();
        usize::try_from(element)
            .ok()
            .and_then(|e| e.checked_mul(bytes))
            .filter(|at| at.checked_add(bytes).is_some_and(|end| end <= self.data.len()))
            .ok_or_else(|| {
                let elements = self.data.len() / bytes.max(1);
                Diagnostic::new(codes::OUTSIDE_BUFFER, "an access outside the argument's memory")
                    .label(format!("element {element} of {elements}"))
                    .note("the argument's dims and strides reach past its data")
            })
    }

    fn word(&self, at: usize) -> u64 {
        let mut word = [0; 8];
        let bytes = self.bytes();
        if let (Some(to), Some(from)) = (word.get_mut(..bytes), self.data.get(at..at + bytes)) {
            to.copy_from_slice(from);
        }
        u64::from_le_bytes(word)
    }

    fn set_word(&mut self, at: usize, word: u64) {
        let bytes = self.bytes();
        let word = word.to_le_bytes();
        if let (Some(to), Some(from)) = (self.data.get_mut(at..at + bytes), word.get(..bytes)) {
            to.copy_from_slice(from);
        }
    }

    pub(super) fn load(
        &mut self,
        places: &Places,
        shape: &[usize],
        other: u64,
    ) -> Result<Tile, Diagnostic> {
        if let Some(race) = &mut self.race {
            places.iter().flatten().try_for_each(|at| race.read(*at))?;
        }
        let is_bool = self.dtype == DType::Bool;
        let words = places.iter().map(|at| match at {
            // Any byte but 0 is true.
            Some(at) if is_bool => u64::from(self.word(*at) != 0),
            Some(at) => self.word(*at),
            None => other,
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
            places.iter().flatten().try_for_each(|at| race.write(*at))?;
        }
        for (i, at) in places.iter().enumerate() {
            if let Some(at) = at {
                self.set_word(*at, value.data.get(i));
            }
        }
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        places: &Places,
        value: &Tile,
    ) -> Result<(), Diagnostic> {
        if let Some(race) = &mut self.race {
            places.iter().flatten().try_for_each(|at| race.atomic(*at))?;
        }
        let combine = match op {
            AtomicOp::Add => Some(BinaryOp::Add),
            AtomicOp::Max => Some(BinaryOp::Max),
            AtomicOp::Min => Some(BinaryOp::Min),
            AtomicOp::And => Some(BinaryOp::And),
            AtomicOp::Or => Some(BinaryOp::Or),
            AtomicOp::Xor => Some(BinaryOp::Xor),
            AtomicOp::Exchange => None,
        };
        for (i, at) in places.iter().enumerate() {
            let Some(at) = *at else { continue };
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
    let race = check_races.then(|| Race::new(data.len()));
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
