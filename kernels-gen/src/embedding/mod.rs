//! Embedding look-ups, from float tables and from the blocks of a GGUF file. The meaning of a block is
//! `crate::gemm::reference::dequantise`.

mod gather;
mod gguf;
pub mod space;
pub mod spec;

pub use gather::gather;
pub use gguf::gather_gguf;

use crate::common::dispatch::for_float;
use crate::common::format::{Block, Source};
use crate::{ImplDef, OpEntry};
use space::Gather;
use tilewright_abi::{Arg, DType, TargetCaps, Variant};
use tilewright_dsl::prelude::*;

/// The ops of this family.
pub fn entries() -> Vec<OpEntry> {
    vec![
        OpEntry { spec: spec::gather(), impls: Box::new(gather_impls) },
        OpEntry { spec: spec::gather_gguf(), impls: Box::new(|_| gguf_impls()) },
    ]
}

fn args() -> Vec<Arg> {
    ["ids", "table", "out"].map(Arg::tensor).to_vec()
}

fn gather_impls(caps: &TargetCaps) -> Vec<ImplDef> {
    let default = space::variants(caps).into_iter().take(1);
    default.flat_map(|v| space::DTYPES.map(|(t, o)| gather_impl(t, o, v))).collect()
}

fn gather_impl(table: DType, out: DType, v: Gather) -> ImplDef {
    let name = format!("embedding.gather.{table}.{out}.{}", v.variant());
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            for_float!(table, T => for_float!(out, O => {
                gather::<T, O>(s.view("ids"), s.view("table"), s.view_mut("out"), &v)
            }))
        })
    };
    let def = ImplDef::new("rows", v.variant()).dtype("table", table).dtype("out", out);
    def.launch(name, Box::new(make), args(), &["tokens"])
}

fn gguf_impls() -> Vec<ImplDef> {
    let formats = Source::ALL.into_iter();
    formats.filter_map(|source| Some(gguf_impl(source, source.block()?))).collect()
}

fn gguf_impl(source: Source, block: Block) -> ImplDef {
    let name = format!("embedding.gather_gguf.{}", source.name());
    let staged = name.clone();
    let make = move || {
        stage(&staged, |s| {
            gather_gguf(s.view("ids"), s.view("table"), s.view_mut("out"), source, block)
        })
    };
    ImplDef::new("blocks", Variant::new())
        .attr("format", source.name())
        .when(&format!("hidden % {} == 0", block.len))
        .when(&format!("row_bytes == hidden / {} * {}", block.len, block.bytes))
        .launch(name, Box::new(make), args(), &["tokens"])
}
