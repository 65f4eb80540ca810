//! Runs one program: regions, control flow and the dispatch to each op.

use super::memory::{Places, Values, View};
use super::tile::Tile;
use super::{codes, elements, folds, products, shapes};
use std::rc::Rc;
use tilewright_ir::{Access, Diagnostic, Func, InstData, RegionId, TileOp, Value};

/// One launch, while it runs.
pub(super) struct Machine<'f, 'a> {
    pub(super) f: &'f Func,
    /// Scalars and tiles by value.
    pub(super) values: Vec<Option<Rc<Tile>>>,
    /// Views by value.
    pub(super) views: Vec<Option<View<'a>>>,
    pub(super) grid: [i64; 3],
    pub(super) program: [i64; 3],
    /// Instructions left.
    pub(super) steps: u64,
}

type Run<T> = Result<T, Diagnostic>;

impl Values for Machine<'_, '_> {
    fn tile(&self, v: Value) -> Run<Rc<Tile>> {
        self.values.get(v.index()).and_then(Clone::clone).ok_or_else(unset)
    }
}

/// Verified functions do not come here.
fn unset() -> Diagnostic {
    Diagnostic::new(codes::STOPPED, "a value is read before it is set")
        .note("this is a bug in the interpreter; please report it")
}

impl<'f, 'a> Machine<'f, 'a> {
    fn set(&mut self, v: Value, tile: Rc<Tile>) {
        if let Some(slot) = self.values.get_mut(v.index()) {
            *slot = Some(tile);
        }
    }

    fn tiles(&self, values: &[Value]) -> Run<Vec<Rc<Tile>>> {
        values.iter().map(|v| self.tile(*v)).collect()
    }

    /// Runs a region with these parameters; what it yields.
    pub(super) fn region(&mut self, r: RegionId, params: Vec<Rc<Tile>>) -> Run<Vec<Rc<Tile>>> {
        let f = self.f;
        let region = f.region(r);
        for (v, tile) in region.params.iter().zip(params) {
            self.set(*v, tile);
        }
        for i in &region.insts {
            let inst = f.inst(*i);
            if let TileOp::Yield { values } = &inst.op {
                return self.tiles(values);
            }
            let done = self.inst(inst).map_err(|d| self.place(d, inst))?;
            for (v, tile) in inst.results.iter().zip(done) {
                self.set(*v, tile);
            }
        }
        Ok(Vec::new())
    }

    /// An error without a place gets that of the innermost op it came through.
    fn place(&self, d: Diagnostic, inst: &InstData) -> Diagnostic {
        if d.span.is_known() || d.notes.iter().any(|n| n.starts_with("in program")) {
            return d;
        }
        let [x, y, z] = self.program;
        d.at(&inst.span).note(format!(
            "in program ({x}, {y}, {z}) of kernel `{}`, op `{}`",
            self.f.name,
            inst.op.name()
        ))
    }

    fn inst(&mut self, inst: &'f InstData) -> Run<Vec<Rc<Tile>>> {
        self.step()?;
        match &inst.op {
            TileOp::For { lo, hi, step, inits, body } => {
                return self.for_loop([*lo, *hi, *step], inits, *body);
            }
            TileOp::While { inits, cond, body } => {
                let mut carried = self.tiles(inits)?;
                while self.region(*cond, carried.clone())?.first().is_some_and(|c| c.as_bool()) {
                    self.step()?;
                    carried = self.region(*body, carried)?;
                }
                return Ok(carried);
            }
            TileOp::If { cond, then_region, else_region } => {
                let arm = if self.tile(*cond)?.as_bool() { then_region } else { else_region };
                return self.region(*arm, Vec::new());
            }
            TileOp::Split { x } => return Ok(shapes::split(&*self.tile(*x)?).map(Rc::new).into()),
            TileOp::ArgReduce { max, x, axis } => {
                return Ok(folds::arg_reduce(*max, &*self.tile(*x)?, *axis).map(Rc::new).into());
            }
            TileOp::Sort { x, axis, descending } => {
                return Ok(folds::sort(&*self.tile(*x)?, *axis, *descending).map(Rc::new).into());
            }
            TileOp::Store { access, value } => {
                let value = self.tile(*value)?;
                let places = self.places(access, &value.shape)?;
                self.view(access.view)?.store(&places, &value)?;
                return Ok(Vec::new());
            }
            TileOp::Atomic { op, access, value } => {
                let value = self.tile(*value)?;
                let places = self.places(access, &value.shape)?;
                self.view(access.view)?.atomic(*op, &places, &value)?;
                return Ok(Vec::new());
            }
            _ => {}
        }
        Ok(vec![Rc::new(self.single(&inst.op)?)])
    }

    /// Ops with one result and no effect.
    fn single(&mut self, op: &TileOp) -> Run<Tile> {
        Ok(match op {
            TileOp::Const(l) => Tile::scalar(l),
            TileOp::Iota { len, dtype } => Tile {
                dtype: *dtype,
                shape: vec![*len],
                data: Tile::ints_data(*dtype, 0..*len as u64),
            },
            TileOp::Splat { x, shape } => shapes::splat(&*self.tile(*x)?, shape),
            TileOp::Unary { op, x } => elements::unary(*op, &*self.tile(*x)?),
            TileOp::Binary { op, lhs, rhs } => {
                elements::binary(*op, &*self.tile(*lhs)?, &*self.tile(*rhs)?)
            }
            TileOp::Compare { op, lhs, rhs } => {
                elements::compare(*op, &*self.tile(*lhs)?, &*self.tile(*rhs)?)
            }
            TileOp::Fma { a, b, c } => {
                elements::fma(&*self.tile(*a)?, &*self.tile(*b)?, &*self.tile(*c)?)
            }
            TileOp::Select { cond, on_true, on_false } => {
                let (t, f) = (self.tile(*on_true)?, self.tile(*on_false)?);
                elements::select(&*self.tile(*cond)?, &t, &f)
            }
            TileOp::Cast { x, to, rounding, saturate } => {
                elements::cast(&*self.tile(*x)?, *to, *rounding, *saturate)
            }
            TileOp::Bitcast { x, to } => {
                let x = self.tile(*x)?;
                x.with(*to, x.data.clone())
            }
            TileOp::Reshape { x, shape } => {
                let x = self.tile(*x)?;
                Tile { dtype: x.dtype, shape: shape.clone(), data: x.data.clone() }
            }
            TileOp::Transpose { x, perm } => shapes::transpose(&*self.tile(*x)?, perm),
            TileOp::Broadcast { x, shape } => shapes::broadcast(&*self.tile(*x)?, shape),
            TileOp::Slice { x, starts, shape } => shapes::slice(&*self.tile(*x)?, starts, shape),
            TileOp::Join { lhs, rhs } => shapes::join(&*self.tile(*lhs)?, &*self.tile(*rhs)?),
            TileOp::Dim { view, axis } => {
                Tile::index(self.view(*view)?.dims.get(*axis).copied().unwrap_or(0))
            }
            TileOp::Load { access, shape, other } => {
                let other = match other {
                    Some(v) => self.tile(*v)?.data.get(0),
                    None => 0,
                };
                let places = self.places(access, shape)?;
                self.view(access.view)?.load(&places, shape, other)?
            }
            TileOp::Mma { a, b, acc } => {
                products::mma(&*self.tile(*a)?, &*self.tile(*b)?, &*self.tile(*acc)?)
            }
            TileOp::MmaScaled { a, scale_a, b, scale_b, acc, group } => {
                let tiles = self.tiles(&[*a, *scale_a, *b, *scale_b, *acc])?;
                let [a, sa, b, sb, acc] = &tiles[..] else { return Err(unset()) };
                products::mma_scaled([a, sa, b, sb, acc], *group)
            }
            TileOp::Reduce { op, x, axis } => folds::reduce(*op, &*self.tile(*x)?, *axis),
            TileOp::Scan { op, x, axis } => folds::scan(*op, &*self.tile(*x)?, *axis),
            TileOp::Histogram { x, bins } => folds::histogram(&*self.tile(*x)?, *bins),
            TileOp::Philox { key, counter } => {
                let tiles = self.tiles(counter)?;
                let [c0, c1, c2, c3] = &tiles[..] else { return Err(unset()) };
                products::philox_tile(&*self.tile(*key)?, [c0, c1, c2, c3])
            }
            TileOp::ProgramId { axis } => {
                Tile::index(self.program.get(*axis).copied().unwrap_or(0))
            }
            TileOp::NumPrograms { axis } => Tile::index(self.grid.get(*axis).copied().unwrap_or(1)),
            TileOp::Split { .. }
            | TileOp::ArgReduce { .. }
            | TileOp::Sort { .. }
            | TileOp::Store { .. }
            | TileOp::Atomic { .. }
            | TileOp::For { .. }
            | TileOp::While { .. }
            | TileOp::If { .. }
            | TileOp::Yield { .. } => return Err(unset()),
        })
    }

    fn for_loop(
        &mut self,
        [lo, hi, step]: [Value; 3],
        inits: &[Value],
        body: RegionId,
    ) -> Run<Vec<Rc<Tile>>> {
        let index = |v| Ok::<i64, Diagnostic>(self.tile(v)?.as_index());
        let (mut i, hi, step) = (index(lo)?, index(hi)?, index(step)?);
        if step < 1 {
            return Err(Diagnostic::new(codes::STEP, format!("the step of this loop is {step}"))
                .help("count upwards"));
        }
        let mut carried = self.tiles(inits)?;
        while i < hi {
            self.step()?;
            let mut params = vec![Rc::new(Tile::index(i))];
            params.append(&mut carried);
            carried = self.region(body, params)?;
            // Past the greatest i64 there is nothing below `hi`.
            let Some(next) = i.checked_add(step) else { break };
            i = next;
        }
        Ok(carried)
    }

    fn view(&mut self, v: Value) -> Run<&mut View<'a>> {
        self.views.get_mut(v.index()).and_then(Option::as_mut).ok_or_else(unset)
    }

    fn places(&self, access: &Access, shape: &[usize]) -> Run<Places> {
        let view = self.views.get(access.view.index()).and_then(Option::as_ref);
        view.ok_or_else(unset)?.places(access, shape, self)
    }

    /// Counts instructions, and trips so that an empty loop ends too.
    fn step(&mut self) -> Run<()> {
        self.steps = self.steps.checked_sub(1).ok_or_else(|| {
            Diagnostic::new(codes::STOPPED, "the kernel runs longer than the steps it was given")
        })?;
        Ok(())
    }
}
