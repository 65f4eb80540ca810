//! Runs a staged kernel on the interpreter.

use tilewright_codegen::interp::{Arg, run};
use tilewright_dsl::prelude::*;

/// One launch parameter with its data.
#[allow(dead_code, reason = "not every test binary has every kind")]
pub(crate) enum Data<'a> {
    F32(&'a [f32], &'a [i64]),
    I32(&'a [i32], &'a [i64]),
    U8(&'a [u8], &'a [i64]),
}

/// Stages `kernel` and runs it over `grid` with `inputs` and then one output of `len` numbers.
#[track_caller]
pub(crate) fn execute(
    inputs: &[Data<'_>],
    len: usize,
    grid: [i64; 3],
    kernel: impl FnOnce(&mut Stage),
) -> Vec<f32> {
    let func = match stage("k", |s| kernel(s)) {
        Ok(func) => func,
        Err(all) => panic!("{}", all.iter().map(|d| d.render()).collect::<String>()),
    };
    let bytes = |d: &Data<'_>| match d {
        Data::F32(x, _) => x.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
        Data::I32(x, _) => x.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Data::U8(x, _) => x.to_vec(),
    };
    let mut memory: Vec<Vec<u8>> = inputs.iter().map(bytes).collect();
    memory.push(vec![0; len * 4]);
    let mut args: Vec<Arg<'_>> = Vec::new();
    let shape = [len as i64];
    for (i, data) in memory.iter_mut().enumerate() {
        let (dtype, dims) = match inputs.get(i) {
            Some(Data::F32(_, dims)) => (F32::DTYPE, *dims),
            Some(Data::I32(_, dims)) => (I32::DTYPE, *dims),
            Some(Data::U8(_, dims)) => (U8::DTYPE, *dims),
            None => (F32::DTYPE, &shape[..]),
        };
        args.push(Arg::dense(data, dtype, dims));
    }
    if let Err(d) = run(&func, &mut args, grid) {
        panic!("{}", d.render());
    }
    drop(args);
    let output = memory.pop().unwrap_or_default();
    output.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}
