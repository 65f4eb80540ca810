//! Implementations of the quantisers: one kernel per element type; rows are walked in steps of a
//! few vectors.

use super::group::{f8_group, i8_group};
use super::spec::{Code, Grouping, suffix};
use super::token::{dequant_group, dequant_token, f8_token, i8_token};
use crate::common::dispatch::for_float;
use crate::gemm::spec::FLOATS;
use crate::{ImplDef, StageFn};
use tilewright_abi::{Arg, DType, TargetCaps, Variant};
use tilewright_dsl::prelude::*;

/// Elements of a row per step where no group decides it: four vectors of f32.
fn block_k(caps: &TargetCaps) -> usize {
    4 * caps.lanes(DType::F32).max(1) as usize
}

fn quantiser(code: Code, grouping: Grouping, x: DType, block_k: usize) -> StageFn {
    Box::new(move || {
        stage(format!("quant.{}", suffix(code, grouping)), |s| {
            for_float!(x, X => {
                let x: View<X, 2> = s.view("x");
                match (code, grouping) {
                    (Code::I8, Grouping::Group(len)) => {
                        let (q, scale, sum) = (s.view_mut("q"), s.view_mut("scale"), s.view_mut("sum"));
                        i8_group(x, q, scale, sum, s.view_mut("status"), len);
                    }
                    (Code::I8, Grouping::Token) => {
                        let (q, scale, sum) = (s.view_mut("q"), s.view_mut("scale"), s.view_mut("sum"));
                        i8_token(x, q, scale, sum, s.view_mut("status"), block_k);
                    }
                    (Code::F8E4M3, Grouping::Group(len)) => {
                        f8_group(x, s.view_mut("q"), s.view_mut("scale"), len);
                    }
                    (Code::F8E4M3, Grouping::Token) => {
                        f8_token(x, s.view_mut("q"), s.view_mut("scale"), block_k);
                    }
                }
            })
        })
    })
}

fn dequantiser(code: Code, grouping: Grouping, x: DType, block_k: usize) -> StageFn {
    Box::new(move || {
        stage(format!("quant.dequant_{}", suffix(code, grouping)), |s| {
            for_float!(x, X => match (code, grouping) {
                (Code::I8, Grouping::Group(len)) => {
                    let q: View<I8, 2> = s.view("q");
                    dequant_group(q, s.view("scale"), s.view_mut::<X, 2>("x"), len)
                }
                (Code::I8, Grouping::Token) => {
                    let q: View<I8, 2> = s.view("q");
                    dequant_token(q, s.view("scale"), s.view_mut::<X, 2>("x"), block_k)
                }
                (Code::F8E4M3, Grouping::Group(len)) => {
                    let q: View<F8E4M3, 2> = s.view("q");
                    dequant_group(q, s.view("scale"), s.view_mut::<X, 2>("x"), len)
                }
                (Code::F8E4M3, Grouping::Token) => {
                    let q: View<F8E4M3, 2> = s.view("q");
                    dequant_token(q, s.view("scale"), s.view_mut::<X, 2>("x"), block_k)
                }
            })
        })
    })
}

/// The implementations of `quant.<code>_<grouping>`.
pub(super) fn quant_impls(code: Code, grouping: Grouping, caps: &TargetCaps) -> Vec<ImplDef> {
    let names: &[&str] = match code {
        Code::I8 => &["x", "q", "scale", "sum", "status"],
        Code::F8E4M3 => &["x", "q", "scale"],
    };
    let args: Vec<Arg> = names.iter().map(|n| Arg::tensor(n)).collect();
    let one = |x: DType| {
        let kernel = format!("quant.{}.rows.{x}", suffix(code, grouping));
        let def = ImplDef::new("rows", Variant::new()).dtype("x", x);
        def.launch(kernel, quantiser(code, grouping, x, block_k(caps)), args.clone(), &["m"])
    };
    FLOATS.into_iter().map(one).collect()
}

/// The implementations of `quant.dequant_<code>_<grouping>`.
pub(super) fn dequant_impls(code: Code, grouping: Grouping, caps: &TargetCaps) -> Vec<ImplDef> {
    let one = |x: DType| {
        let kernel = format!("quant.dequant_{}.rows.{x}", suffix(code, grouping));
        let args = ["q", "scale", "x"].map(Arg::tensor).to_vec();
        let def = ImplDef::new("rows", Variant::new()).dtype("x", x);
        def.launch(kernel, dequantiser(code, grouping, x, block_k(caps)), args, &["m"])
    };
    FLOATS.into_iter().map(one).collect()
}
