//! Random programs verify, run, cover every op, and survive the text form.

use std::collections::BTreeSet;
use tilewright_codegen::interp::random::{Config, random_program};
use tilewright_ir::{Bound, Coord, TileOp, parse, print, verify};

fn seeds() -> impl Iterator<Item = u64> {
    0..200
}

#[test]
fn they_verify_and_run_to_an_end() {
    for seed in seeds() {
        let p = random_program(seed, &Config::default());
        if let Err(e) = verify(&p.func) {
            panic!("seed {seed}: {}\n{}", e[0], print(&p.func));
        }
        let done = p.expected().unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", print(&p.func)));
        let again = p.expected().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        for (a, b) in done.iter().zip(&again) {
            assert_eq!(a.difference(b), None, "seed {seed}");
        }
        let changed = p.args.iter().zip(&done).any(|(a, b)| a.difference(b).is_some());
        assert!(changed, "seed {seed} stores nothing");
    }
}

#[test]
fn the_same_seed_gives_the_same_program() {
    for seed in seeds().take(20) {
        let [a, b] = [0, 1].map(|_| random_program(seed, &Config::default()));
        assert_eq!((a.func, a.grid), (b.func, b.grid));
    }
}

#[test]
fn they_survive_the_text_form() {
    for seed in seeds() {
        let f = random_program(seed, &Config::default()).func;
        let text = print(&f);
        let again = parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {}\n{text}", e[0]));
        assert_eq!(print(&again), text, "seed {seed}");
        assert_eq!(verify(&again), Ok(()), "seed {seed}");
    }
}

#[test]
fn together_they_have_every_op() {
    let mut seen = BTreeSet::new();
    for seed in seeds() {
        for inst in random_program(seed, &Config::default()).func.insts {
            seen.insert(inst.op.name());
            let (TileOp::Load { access, .. } | TileOp::Store { access, .. }) = &inst.op else {
                continue;
            };
            let load = matches!(inst.op, TileOp::Load { .. });
            for c in &access.coords {
                seen.insert(match (c, load) {
                    (Coord::Span(_), true) => "load span",
                    (Coord::Rows(_), true) => "load rows",
                    (Coord::Gather(_), true) => "load gather",
                    (Coord::Span(_), false) => "store span",
                    (Coord::Rows(_), false) => "store rows",
                    (Coord::Gather(_), false) => "store gather",
                });
            }
            for b in &access.bounds {
                seen.insert(match b {
                    Bound::Dim => "dim bound",
                    Bound::Limit(_) => "limit",
                    Bound::Inside => "inside",
                });
            }
        }
    }
    let words = "const iota splat neg abs not exp exp2 ln log2 sqrt rsqrt recip sin cos tanh erf floor \
        ceil round trunc add sub mul div rem max min and or xor shl shr cmp fma select cast bitcast \
        reshape transpose broadcast slice join split dim load store atomic mma mma_scaled reduce \
        arg_reduce scan sort histogram philox program_id num_programs for while if yield";
    let forms =
        ["load span", "load rows", "load gather", "store span", "store rows", "store gather"];
    let bounds = ["dim bound", "limit", "inside"];
    for word in words.split_whitespace().chain(forms).chain(bounds) {
        assert!(seen.contains(word), "no program has `{word}`");
    }
}

#[test]
fn without_odd_extents_or_control_flow_there_are_none() {
    let config = Config { odd_extents: false, control_flow: false, ..Config::default() };
    for seed in seeds().take(100) {
        let f = random_program(seed, &config).func;
        assert_eq!(f.regions.len(), 1);
        let odd = f.values.iter().find(|v| v.ty.shape().iter().any(|e| !e.is_power_of_two()));
        assert!(odd.is_none(), "seed {seed}: {odd:?}");
    }
}
