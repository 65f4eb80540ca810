//! Composite views: the addresses that they compute.

use tilewright_dsl::prelude::*;
use tilewright_dsl::views::*;

mod common;

#[track_caller]
fn check(name: &str, kernel: impl FnOnce(&mut Stage)) {
    let text = match stage(name, |s| kernel(s)) {
        Ok(func) => tilewright_ir::print(&func),
        Err(d) => d.iter().map(|d| d.render()).collect::<Vec<_>>().join("\n"),
    };
    common::golden(name, &text);
}

fn paged(s: &mut Stage) -> PagedView<F32> {
    let table = PageTable {
        indptr: s.view("indptr"),
        indices: s.view("indices"),
        last_page_len: s.view("last_page_len"),
    };
    PagedView::new(s.view("pages"), table)
}

#[test]
fn a_block_inside_a_page() {
    check("paged_block", |s| {
        let kv = paged(s).with_page_size(16);
        let out: ViewMut<F32, 2> = s.view_mut("out");
        out.tile((0, 0), [8, 64])
            .store(kv.v(program_id(0), 3).tile((program_id(1) * 8, 0), [8, 64]).load());
    });
}

#[test]
fn tokens_across_pages() {
    check("paged_rows", |s| {
        let kv = paged(s).with_layout(KvLayout::Hnd);
        let out: ViewMut<F32, 2> = s.view_mut("out");
        let tokens = iota::<I32>(8) + 5;
        out.tile((0, 0), [8, 64]).store(kv.k(program_id(0), 3).tile((tokens, 0), [8, 64]).load());
    });
}

#[test]
fn a_block_must_not_cross_pages() {
    check("paged_crossing", |s| {
        paged(s).with_page_size(16).k(0, 0).tile((0, 0), [24, 64]).load();
    });
}

#[test]
fn a_token_is_appended() {
    check("paged_append", |s| {
        let table = PageTable {
            indptr: s.view("indptr"),
            indices: s.view("indices"),
            last_page_len: s.view("last_page_len"),
        };
        let kv = PagedViewMut::<BF16>::new(s.view_mut("pages"), table).with_page_size(16);
        let new: View<BF16, 2> = s.view("new");
        let seq = program_id(0);
        let at = kv.as_view().len(seq) - 1;
        let value = new.tile((seq, 0), [1, 64]).load();
        kv.k(seq, 0).tile((at, 0), [1, 64]).store(value);
    });
}

#[test]
fn ragged_rows() {
    check("ragged", |s| {
        let x = RaggedView::<F32, 3> { data: s.view("x"), indptr: s.view("indptr") };
        let y = RaggedViewMut::<F32, 2> { data: s.view_mut("y"), indptr: x.indptr };
        let (from, to) = (x.seq(program_id(0)), y.seq(program_id(0)));
        let t = from.tile((4, 2, 0), [4, 1, 32]).load();
        to.tile((4, 0), [4, 32]).store(t);
        let last = iota::<I32>(4) - 1;
        to.tile((last, 0), [4, 32]).store(t);
    });
}

#[test]
fn routed_rows() {
    check("routed", |s| {
        let x = RoutedView::<F32> { data: s.view("x"), rows: s.view("ids"), copies: 2 };
        let y = RoutedViewMut::<F32> { data: s.view_mut("y"), rows: x.rows, copies: 1 };
        y.tile((16, 0), [8, 32]).store(x.tile((16, 0), [8, 32]).load());
    });
}

#[test]
fn strided_rows() {
    check("strided", |s| {
        let x = StridedView::<F32, 2>::new(s.view("x"), 0, 1, 4);
        let y: ViewMut<F32, 2> = s.view_mut("y");
        y.tile((0, 0), [8, 32]).store(x.tile((8, 0), [8, 32]).load());
        y.set((0, 0), x.dim(0).cast::<F32>());
    });
}

#[test]
fn quantised_codes() {
    for (code, name) in [
        (QuantCode::U4, "quant_u4"),
        (QuantCode::U5, "quant_u5"),
        (QuantCode::U6, "quant_u6"),
        (QuantCode::U8, "quant_u8"),
        (QuantCode::I8, "quant_i8"),
    ] {
        check(name, |s| {
            let w = QuantView::<F16>::new(code, 32, s.view("codes"), s.view("scales"));
            let w = if code.high_bits() > 0 { w.with_high(s.view("high")) } else { w };
            let w = if code == QuantCode::U4 { w.with_zero(8) } else { w };
            let w = if code == QuantCode::U5 { w.with_mins(s.view("mins")) } else { w };
            let out: ViewMut<F32, 2> = s.view_mut("out");
            out.tile((0, 0), [2, 64]).store(w.load((0, 64), [2, 64]));
        });
    }
}
