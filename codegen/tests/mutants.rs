//! Functions that a faulty pass might make: the verifier judges each without a panic, and what it
//! accepts the interpreter runs, or refuses with a message, and the text form keeps.

use tilewright_abi::DType;
use tilewright_codegen::interp::random::{Config, RandomArg, RandomProgram, random_program};
use tilewright_codegen::interp::{Options, run_with};
use tilewright_ir::*;

/// A small generator of its own, so that the mutants of a program are many.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % n.max(1)
    }

    fn number(&mut self, old: usize) -> usize {
        let some = [0, 1, 2, 3, 4, 8, old + 1, old.wrapping_sub(1), old * 2, 1 << 20, usize::MAX];
        some[self.below(some.len())]
    }

    fn dtype(&mut self) -> DType {
        let all: Vec<DType> = DType::all().collect();
        all[self.below(all.len())]
    }
}

fn shape_change(r: &mut Rng, shape: &mut Vec<usize>) {
    let at = r.below(shape.len());
    match r.below(4) {
        0 if !shape.is_empty() => shape[at] = r.number(shape[at]),
        1 => shape.insert(at, r.below(3)),
        2 if !shape.is_empty() => drop(shape.remove(at)),
        _ => shape.reverse(),
    }
}

/// Changes what an op says beside its operands.
fn attribute_change(r: &mut Rng, op: &mut TileOp) {
    match op {
        TileOp::Const(l) => match r.below(2) {
            0 => l.dtype = r.dtype(),
            _ => l.bits = l.bits.rotate_left(r.below(64) as u32),
        },
        TileOp::Iota { len, dtype } => match r.below(2) {
            0 => *len = r.number(*len),
            _ => *dtype = r.dtype(),
        },
        TileOp::Splat { shape, .. }
        | TileOp::Reshape { shape, .. }
        | TileOp::Broadcast { shape, .. } => shape_change(r, shape),
        TileOp::Slice { starts, shape, .. } => match r.below(2) {
            0 => shape_change(r, shape),
            _ => shape_change(r, starts),
        },
        TileOp::Transpose { perm, .. } => shape_change(r, perm),
        TileOp::Cast { to, .. } | TileOp::Bitcast { to, .. } => *to = r.dtype(),
        TileOp::Unary { op, .. } => *op = UnaryOp::ALL[r.below(UnaryOp::ALL.len())],
        TileOp::Binary { op, .. } => *op = BinaryOp::ALL[r.below(BinaryOp::ALL.len())],
        TileOp::Atomic { op, .. } => *op = AtomicOp::ALL[r.below(AtomicOp::ALL.len())],
        TileOp::Reduce { op, axis, .. } | TileOp::Scan { op, axis, .. } => match r.below(2) {
            0 => *op = ReduceOp::ALL[r.below(ReduceOp::ALL.len())],
            _ => *axis = r.number(*axis),
        },
        TileOp::ArgReduce { axis, .. }
        | TileOp::Sort { axis, .. }
        | TileOp::Dim { axis, .. }
        | TileOp::ProgramId { axis }
        | TileOp::NumPrograms { axis } => *axis = r.number(*axis),
        TileOp::Histogram { bins, .. } => *bins = r.number(*bins),
        TileOp::MmaScaled { group, .. } => *group = r.number(*group),
        TileOp::Load { access, shape, .. } if r.below(2) == 0 => {
            shape_change(r, shape);
            access_change(r, access);
        }
        TileOp::Load { access, .. } | TileOp::Store { access, .. } => access_change(r, access),
        TileOp::For { inits, .. } | TileOp::While { inits, .. } => drop(inits.pop()),
        TileOp::Yield { values } => match r.below(2) {
            0 => drop(values.pop()),
            _ => values.extend(values.first().copied()),
        },
        TileOp::If { then_region, else_region, .. } => match r.below(2) {
            0 => std::mem::swap(then_region, else_region),
            _ => *then_region = *else_region,
        },
        TileOp::Compare { .. }
        | TileOp::Fma { .. }
        | TileOp::Select { .. }
        | TileOp::Join { .. }
        | TileOp::Split { .. }
        | TileOp::Mma { .. }
        | TileOp::Philox { .. } => {}
    }
}

fn access_change(r: &mut Rng, a: &mut Access) {
    let at = r.below(a.coords.len());
    match (r.below(6), a.coords.get(at).copied()) {
        (0, _) => drop(a.coords.pop()),
        (1, _) => drop(a.bounds.pop()),
        (2, Some(Coord::Span(v) | Coord::Rows(v) | Coord::Gather(v))) => {
            a.coords[at] = Coord::Rows(v)
        }
        (3, Some(Coord::Span(v) | Coord::Rows(v) | Coord::Gather(v))) => {
            a.coords[at] = Coord::Span(v)
        }
        (4, Some(_)) => a.bounds.fill(Bound::Inside),
        _ => a.coords.reverse(),
    }
}

fn mutate(r: &mut Rng, f: &mut Func) {
    let (insts, values, regions) = (f.insts.len(), f.values.len(), f.regions.len());
    let at = r.below(insts);
    match r.below(12) {
        0..=3 => {
            let op = &mut f.insts[at].op;
            let chosen = r.below(op.operands().len());
            // Mostly one nearby, so that many are still right.
            let new = match r.below(4) {
                0 => Value(r.below(values + 2) as u32),
                _ => Value((at + r.below(9)).saturating_sub(4) as u32),
            };
            let mut n = 0;
            op.map_operands(&mut |v| {
                n += 1;
                if n == chosen + 1 { new } else { v }
            });
        }
        4..=6 => attribute_change(r, &mut f.insts[at].op),
        7 => {
            let ty = &mut f.values[r.below(values)].ty;
            *ty = match (r.below(3), ty.clone()) {
                (0, ty) => ty.with_elem(r.dtype()),
                (1, Type::Tile(mut t)) => {
                    shape_change(r, &mut t.shape);
                    Type::Tile(t)
                }
                (_, ty) => Type::Scalar(ty.elem()),
            };
        }
        8 => {
            let region = &mut f.regions[r.below(regions)].insts;
            let (a, b) = (r.below(region.len()), r.below(region.len()));
            if !region.is_empty() {
                region.swap(a, b);
            }
        }
        9 => {
            let region = &mut f.regions[r.below(regions)].insts;
            if !region.is_empty() {
                let a = r.below(region.len());
                region.remove(a);
            }
        }
        10 => {
            let (from, to) = (r.below(regions), r.below(regions));
            match r.below(2) {
                0 => f.regions[to].params = f.regions[from].params.clone(),
                _ => f.regions.swap(from, to),
            }
        }
        _ => {
            let (from, to) = (r.below(insts), r.below(insts));
            f.insts[to].op = f.insts[from].op.clone();
        }
    }
}

/// Whether the verifier accepted it.
fn judge(mut p: RandomProgram) -> bool {
    let errors = verify(&p.func).err().unwrap_or_default();
    errors.iter().for_each(|e| drop(e.render()));
    let text = print_with_spans(&p.func);
    if !errors.is_empty() {
        drop(parse(&text));
        return false;
    }
    let again = parse(&text).unwrap_or_else(|e| panic!("{}\n{text}", e[0]));
    assert_eq!(verify(&again), Ok(()), "{text}");
    assert_eq!(print_with_spans(&again), text);
    let mut args: Vec<_> = p.args.iter_mut().map(RandomArg::borrow).collect();
    let options = Options { check_races: false, max_steps: Some(3000) };
    if let Err(e) = run_with(&p.func, &mut args, p.grid, &options) {
        assert!(e.code.starts_with('X'), "{e}");
        assert!(!e.render().contains("this is a bug"), "{e}\n{text}");
    }
    true
}

#[test]
fn mutants_are_refused_or_run() {
    let mut accepted = 0;
    for seed in 0..30 {
        let config = Config { statements: 12, ..Config::default() };
        let p = random_program(seed, &config);
        let mut r = Rng(seed);
        for _ in 0..40 {
            let mut mutant = p.clone();
            for _ in 0..1 + r.below(3) {
                mutate(&mut r, &mut mutant.func);
            }
            accepted += usize::from(judge(mutant));
        }
    }
    // Otherwise the second half of the promise is not tested.
    assert!(accepted > 120, "{accepted} of 1200 accepted");
}
