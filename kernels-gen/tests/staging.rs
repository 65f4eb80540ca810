//! Every kernel of the registry stages to verified IR, and its launch binds what the kernel wants.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use std::collections::BTreeMap;
use tilewright_abi::{Arg, DType, Family, MmaCap, TargetCaps, TargetId};
use tilewright_ir::{Type, print, verify};
use tilewright_kernels::{ImplDef, registry};

fn caps(vector_bytes: u32, vector_regs: u32, bf16: bool) -> TargetCaps {
    let cap = |a, b, acc, k_group| MmaCap { a, b, acc, k_group };
    let mut mma = vec![cap(DType::F32, DType::F32, DType::F32, 1)];
    if bf16 {
        mma.push(cap(DType::BF16, DType::BF16, DType::F32, 2));
    }
    let id = TargetId::new("cpu/x86-64-v3");
    TargetCaps { id, family: Family::Cpu, vector_bytes, vector_regs, mma }
}

/// Dtype and rank of each argument, as the impl and the spec say.
fn bound(op: &tilewright_abi::OpSpec, def: &ImplDef, arg: &Arg) -> (Option<DType>, usize) {
    match arg {
        Arg::Tensor { name, view } => {
            let spec = op.tensor(name).unwrap_or_else(|| panic!("{}: no tensor {name}", op.name));
            let dtype = def.dtypes.get(name).copied();
            let implied = (spec.dtypes.len() == 1).then(|| spec.dtypes[0]);
            let rank = view.as_ref().map_or(spec.shape.len(), Vec::len);
            (
                Some(dtype.or(implied).unwrap_or_else(|| panic!("{}: dtype of {name}", op.name))),
                rank,
            )
        }
        Arg::Workspace(name) => {
            let w = def.workspace.iter().find(|w| w.name == *name).expect("workspace");
            (Some(w.dtype), w.dims.len())
        }
        Arg::Scalar(name) => (Some(op.scalar(name).expect("scalar").dtype), 0),
        Arg::Axis(_) => (None, 0),
    }
}

#[test]
fn every_kernel_stages() {
    let mut texts: BTreeMap<(u32, String), String> = BTreeMap::new();
    for caps in [caps(32, 16, false), caps(64, 32, true)] {
        for entry in registry() {
            for def in (entry.impls)(&caps) {
                for launch in &def.launches {
                    let staged = (launch.stage)().unwrap_or_else(|d| {
                        panic!("{}: {}", launch.kernel, d[0].render());
                    });
                    if let Err(d) = verify(&staged) {
                        panic!("{}: {}\n{}", launch.kernel, d[0].render(), print(&staged));
                    }
                    let params = staged.params.iter().map(|p| match staged.ty(p.value) {
                        Type::View(v) => (Some(v.elem), v.rank),
                        t => (Some(t.elem()), 0),
                    });
                    let params: Vec<_> = params.collect();
                    let args = launch.args.iter().map(|a| bound(&entry.spec, &def, a));
                    let args: Vec<_> = args.collect();
                    let fits = params.len() == args.len()
                        && params
                            .iter()
                            .zip(&args)
                            .all(|(p, a)| p.1 == a.1 && (a.0.is_none() || a.0 == p.0));
                    assert!(fits, "{}: {params:?} bound to {args:?}", launch.kernel);
                    let text = print(&staged);
                    let key = (caps.vector_bytes, launch.kernel.clone());
                    let first = texts.entry(key).or_insert_with(|| text.clone());
                    assert!(*first == text, "{} names two kernels", launch.kernel);
                }
            }
        }
    }
    assert!(texts.len() > 100);
}

/// Ops are named `<family>.<name>`, after the folder that holds them; so are their kernels.
#[test]
fn names_start_with_a_family() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in registry() {
        let name = &entry.spec.name;
        let (family, rest) = name.split_once('.').unwrap_or_else(|| panic!("{name}: no family"));
        assert!(source.join(family).is_dir() && !rest.contains('.'), "{name}: no such family");
        for def in (entry.impls)(&caps(64, 32, true)) {
            for launch in &def.launches {
                let kernel = launch.kernel.split('.').next().unwrap_or_default();
                assert!(source.join(kernel).is_dir(), "{}: no such family", launch.kernel);
            }
        }
    }
}
