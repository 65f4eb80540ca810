//! Every kernel of the registry stages and verifies, for a narrow and a wide target; equal names stand
//! for equal kernels; every launch binds what its kernel declares.

use std::collections::BTreeMap;
use tilewright_abi::{Arg, DType, Family, MmaCap, TargetCaps, TargetId};
use tilewright_kernels::registry;

fn caps(vector_bytes: u32, vector_regs: u32) -> TargetCaps {
    let cap = |a, b, acc, k_group| MmaCap { a, b, acc, k_group };
    TargetCaps {
        id: TargetId::new("cpu/x86-64-v3"),
        family: Family::Cpu,
        vector_bytes,
        vector_regs,
        mma: vec![
            cap(DType::F32, DType::F32, DType::F32, 1),
            cap(DType::I8, DType::U8, DType::I32, 4),
            cap(DType::I8, DType::I8, DType::I32, 4),
        ],
    }
}

#[test]
fn every_kernel_stages_and_verifies() {
    let mut faults = Vec::new();
    for caps in [caps(32, 16), caps(64, 32)] {
        let mut seen = BTreeMap::new();
        for entry in registry() {
            for def in (entry.impls)(&caps) {
                let id = def.to_impl(&entry.spec.name).id();
                for launch in &def.launches {
                    let func = match (launch.stage)() {
                        Ok(func) => func,
                        Err(diags) => {
                            let text = diags.iter().map(|d| d.render()).collect::<String>();
                            faults.push(format!("{id}: {}\n{text}", launch.kernel));
                            continue;
                        }
                    };
                    if let Err(diags) = tilewright_ir::verify(&func) {
                        let text = diags.iter().map(|d| d.render()).collect::<String>();
                        faults.push(format!("{id}: {}\n{text}", launch.kernel));
                    }
                    if func.params.len() != launch.args.len() {
                        let (have, want) = (launch.args.len(), func.params.len());
                        faults.push(format!("{id}: {} binds {have} of {want}", launch.kernel));
                    }
                    for (param, arg) in func.params.iter().zip(&launch.args) {
                        if let Arg::Scalar(name) = arg
                            && (*name != param.name || entry.spec.scalar(name).is_none())
                        {
                            faults.push(format!("{id}: scalar `{name}` is `{}`", param.name));
                        }
                        if let Arg::Tensor { name, .. } = arg
                            && entry.spec.tensor(name).is_none()
                        {
                            faults.push(format!("{id}: the spec has no tensor `{name}`"));
                        }
                    }
                    let text = tilewright_ir::print(&func);
                    let other = seen.entry(launch.kernel.clone()).or_insert_with(|| text.clone());
                    if *other != text {
                        faults.push(format!("{id}: two kernels are named {}", launch.kernel));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}
