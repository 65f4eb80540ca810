//! The text form: what is printed reads back as the same function, and nothing makes the parser panic.

use proptest::prelude::*;
use tilewright_ir::*;

const ALL_OPS: &str = include_str!("data/all_ops.tile");

#[test]
fn every_op_prints_as_it_was_written() {
    let f = parse(ALL_OPS).unwrap_or_else(|e| panic!("{}", e[0]));
    let text: String = ALL_OPS.lines().skip(1).map(|l| format!("{l}\n")).collect();
    assert_eq!(print(&f), text);
    assert_eq!(parse(&print(&f)), Ok(f));
}

#[test]
fn positions_survive_the_text() {
    let f = parse_file("all \"ops\".tile", ALL_OPS).expect("parses");
    let text = print_with_spans(&f);
    let again = parse(&text).unwrap_or_else(|e| panic!("{}", e[0]));
    assert_eq!(print_with_spans(&again), text);
    let spans = |f: &Func| f.insts.iter().map(|i| i.span.clone()).collect::<Vec<_>>();
    assert_eq!(spans(&f), spans(&again));
    assert_eq!(f.insts[0].span.line, 9);
}

#[test]
fn call_chains_survive_the_text() {
    let mut b = Builder::new("odd name\n");
    let span = |line, from| Span {
        file: "a.rs".into(),
        line,
        col: 3,
        text: "\tlet \"x\" = \\;".into(),
        called_from: from,
    };
    let outer = std::sync::Arc::new(span(7, None));
    b.set_span(span(5, Some(outer)));
    b.index(1);
    let f = b.finish();
    let text = print_with_spans(&f);
    assert_eq!(parse(&text), Ok(f), "{text}");
}

#[test]
fn messages_have_line_and_column() {
    let bad = "func @f(%a: f32) {\n  %0 = add %a, %b : f32\n  %0 = neg %a : f32\n}\n";
    let errors = parse(bad).expect_err("bad");
    let at: Vec<_> = errors.iter().map(|e| (e.code, e.span.line, e.span.col)).collect();
    assert_eq!(at, [(codes::NAME, 2, 16), (codes::NAME, 3, 3)]);
    let errors = parse("func @f() {\n  %0 = frob %a : f32\n}\n").expect_err("bad");
    assert_eq!(
        errors[0].render(),
        "error[V0001]: `frob` is not an operation\n --> <text>:2:8\n  |\n2 |   %0 = frob %a : f32\n  \
         |        ^^^^\n"
    );
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |n: usize| {
        let (open, close) = ("if %c {\n".repeat(n), "} else {\n}\n".repeat(n));
        format!("func @f(%c: bool) {{\n{open}{close}}}\n")
    };
    assert!(parse(&deep(MAX_NESTING)).is_ok());
    assert!(parse(&deep(MAX_NESTING + 1)).is_err());
    assert!(parse(&deep(100_000)).is_err());
}

/// Text that is almost tile IR: pieces of the example removed, repeated, swapped or overwritten.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (0..ALL_OPS.len(), 0..40usize, 0..ALL_OPS.len(), 0..40usize, "\\PC{0,3}");
    prop::collection::vec(edit, 1..6).prop_map(|edits| {
        let mut text: Vec<char> = ALL_OPS.chars().collect();
        for (at, cut, from, take, insert) in edits {
            let at = at.min(text.len());
            let piece: Vec<char> = ALL_OPS.chars().skip(from).take(take).collect();
            let end = (at + cut).min(text.len());
            text.splice(at..end, piece.into_iter().chain(insert.chars()));
        }
        text.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_parses_or_is_refused(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn almost_right_text_parses_or_is_refused(text in mutated()) {
        match parse(&text) {
            Ok(f) => {
                let printed = print(&f);
                let again = parse(&printed).map_err(|e| TestCaseError::fail(e[0].render()))?;
                prop_assert_eq!(print(&again), printed);
            }
            Err(errors) => errors.iter().for_each(|e| drop(e.render())),
        }
    }

    #[test]
    fn float_constants_are_exact(bits in any::<u64>()) {
        let mut b = Builder::new("f");
        b.op1(TileOp::Const(Literal { dtype: tilewright_abi::DType::F64, bits }));
        let f = b.finish();
        prop_assert_eq!(parse(&print(&f)), Ok(f));
    }
}
