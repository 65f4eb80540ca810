//! Random programs, run by the interpreter and as compiled code; every seed is one program.

use tilewright_codegen::interp::random::{Config, RandomArg, RandomProgram, random_program};
use tilewright_codegen::target::TargetDesc;
use tilewright_ir::print;
use tilewright_llvm::{Artifact, compile_kernel};

use crate::differential::scalar_bits;
use crate::guard::{Guarded, Kernel, Touch, announce};

/// Runs the program of a seed both ways; an error is a whole report.
pub fn run_seed(seed: u64, config: &Config, target: &TargetDesc) -> Result<(), String> {
    let program = random_program(seed, config);
    announce(&format!("the program of seed {seed} for {}", target.id));
    run(&program, target).map_err(|e| {
        let text = print(&program.func);
        format!("seed {seed} on {}: {e}\n---- program ----\n{text}", target.id)
    })
}

fn run(program: &RandomProgram, target: &TargetDesc) -> Result<(), String> {
    let expected = program.expected().map_err(|d| d.render())?;
    let Artifact { kernel, bytes } =
        compile_kernel(&program.func.name, &program.func, target).map_err(|e| e.to_string())?;
    let kernel = Kernel::load(&bytes, &kernel.symbol)?;
    for place in [Place::Whole, Place::Cut(Touch::Start), Place::Cut(Touch::End)] {
        let got = execute(program, &kernel, place)?;
        for (i, (got, want)) in got.iter().zip(&expected).enumerate() {
            if let Some(difference) = got.difference(want) {
                let name = program.func.params.get(i).map_or("?", |p| p.name.as_str());
                return Err(format!("`{name}`, {place:?}: {difference}"));
            }
        }
    }
    Ok(())
}

/// Where a view's memory lies.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// With the canaries around its elements, to find stray writes.
    Whole,
    /// From the first element to the last between pages that fault, to find stray reads.
    Cut(Touch),
}

fn execute(
    program: &RandomProgram,
    kernel: &Kernel,
    place: Place,
) -> Result<Vec<RandomArg>, String> {
    let mut words = Vec::new();
    let mut memory = Vec::new();
    for arg in &program.args {
        match arg {
            RandomArg::Scalar(literal) => {
                words.push(scalar_bits(*literal));
                memory.push(None);
            }
            RandomArg::View { data, dtype, dims, strides, offset, .. } => {
                let size = i64::from(dtype.bits()) / 8;
                let (first, end) = match place {
                    Place::Whole => (0, data.len()),
                    Place::Cut(_) => extent(dims, strides, *offset, size),
                };
                let touch = match place {
                    Place::Whole => Touch::End,
                    Place::Cut(touch) => touch,
                };
                let bytes = data.get(first..end).ok_or("a view leaves its memory")?;
                let guarded = Guarded::from_bytes(bytes, touch).map_err(|e| e.to_string())?;
                words.push(guarded.address().wrapping_add_signed(offset * size - first as i64));
                words.extend(dims.iter().chain(strides).map(|&n| n as u64));
                memory.push(Some((guarded, first)));
            }
        }
    }
    // In two parts, the later one first, as threads may take them.
    let programs: i64 = program.grid.iter().product();
    kernel.run(&words, program.grid, programs / 2, programs);
    kernel.run(&words, program.grid, 0, programs / 2);
    let mut after = program.args.clone();
    for (arg, memory) in after.iter_mut().zip(&memory) {
        if let (RandomArg::View { data, .. }, Some((guarded, first))) = (arg, memory) {
            let bytes = guarded.bytes();
            data[*first..*first + bytes.len()].copy_from_slice(bytes);
        }
    }
    Ok(after)
}

/// First byte and end of the elements of a view in its memory.
fn extent(dims: &[i64], strides: &[i64], offset: i64, size: i64) -> (usize, usize) {
    let (mut low, mut high) = (offset, offset + 1);
    for (&dim, &stride) in dims.iter().zip(strides) {
        if dim < 1 {
            high = low;
            break;
        }
        let reach = (dim - 1) * stride;
        low += reach.min(0);
        high += reach.max(0);
    }
    ((low * size) as usize, (high.max(low) * size) as usize)
}
