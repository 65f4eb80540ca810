//! Every message that staging itself can give. Codes `K01xx`; the macro's own are `K00xx`.

use tilewright_ir::{Diagnostic, Span, Type};

/// Where a kernel value stood when it was used too late.
pub(crate) fn escaped(span: &Span, made_at: &Span, construct: &str) -> Diagnostic {
    let mut d = Diagnostic::new(
        "K0101",
        format!("this value was made inside a kernel {construct} that has ended"),
    )
    .at(span)
    .label("used here, outside");
    if made_at == span {
        d = d.note("a loop's body is staged twice, and the first time it left this value behind");
    } else if made_at.is_known() {
        d = d.note(format!("it was made at {}:{}:{}", made_at.file, made_at.line, made_at.col));
    }
    d.help(
        "assign it to a variable declared before the loop or `if`, \
         so that `#[kernel]` carries it out",
    )
}

pub(crate) fn other_stage(span: &Span) -> Diagnostic {
    Diagnostic::new("K0102", "this value belongs to another kernel")
        .at(span)
        .label("used here")
        .note("a handle is valid only inside the `stage` call that made it")
}

pub(crate) fn carried_type(
    span: &Span,
    what: &str,
    name: &str,
    was: &Type,
    is: &Type,
) -> Diagnostic {
    Diagnostic::new("K0103", format!("`{name}` changes its type in {what}"))
        .at(span)
        .label(format!("starts as {was}, ends as {is}"))
        .note("a variable carried through a kernel region keeps one type and shape")
}

pub(crate) fn branch_types(span: &Span, then: &Type, els: &Type) -> Diagnostic {
    Diagnostic::new("K0104", "the branches of a kernel `if` give values of different types")
        .at(span)
        .label(format!("{then} if true, {els} if false"))
        .note("a variable that a branch assigns has one type and shape after the `if`")
}

pub(crate) fn carried_count(span: &Span, what: &str, name: &str) -> Diagnostic {
    Diagnostic::new("K0105", format!("`{name}` changes its number of kernel values in {what}"))
        .at(span)
        .label("a `Vec` or `Option` of kernel values keeps its length here")
}

pub(crate) fn fixed_changed(span: &Span, what: &str, name: &str) -> Diagnostic {
    Diagnostic::new("K0106", format!("a host value or view in `{name}` changes in {what}"))
        .at(span)
        .label("decided while staging, so it cannot depend on a kernel region")
}

pub(crate) fn left_region(span: &Span, what: &str, region: &Span, construct: &str) -> Diagnostic {
    let d = Diagnostic::new("K0107", format!("{what} cannot leave a kernel {construct}")).at(span);
    let d = if span == region {
        d.label("this runs in the kernel")
    } else {
        d.label(format!("would leave the {construct} that begins at line {}", region.line))
    };
    d.note("a kernel loop has no early exit, and both branches of a kernel `if` are staged")
        .help("state the exit in the condition of a `while`, or `select` the result")
}

pub(crate) fn condition_assigns(span: &Span, name: &str) -> Diagnostic {
    Diagnostic::new("K0108", format!("`{name}` is assigned in the condition of a kernel `while`"))
        .at(span)
        .label("the condition may only compute a truth value")
        .help("assign it in the loop's body")
}

pub(crate) fn shapes_differ(span: &Span, op: &str, lhs: &Type, rhs: &Type) -> Diagnostic {
    Diagnostic::new(
        "K0110",
        format!("`{op}` of {lhs} and {rhs}"),
    )
    .at(span)
    .label("the shapes differ")
    .help("tiles are never stretched silently; `v.along(axis, shape)` and `t.broadcast(shape)` do it")
}

pub(crate) fn tile_in_scalar(span: &Span, ty: &Type) -> Diagnostic {
    Diagnostic::new("K0111", format!("a scalar operation is given a {ty}"))
        .at(span)
        .label("the first operand is a scalar, so all must be")
        .help("splat the first operand: `a.splat(shape)`")
}

pub(crate) fn constant(span: &Span, reason: String) -> Diagnostic {
    Diagnostic::new("K0112", reason).at(span)
}

pub(crate) fn bad_axis(span: &Span, axis: usize, rank: usize, of: &str) -> Diagnostic {
    Diagnostic::new("K0113", format!("axis {axis} of a {of} of rank {rank}"))
        .at(span)
        .label(format!("the axes are 0 to {}", rank.saturating_sub(1)))
}

pub(crate) fn folds_to_scalar(span: &Span, op: &str, all: &str) -> Diagnostic {
    Diagnostic::new("K0114", format!("`{op}` along the only axis of a tile gives a scalar"))
        .at(span)
        .label("this cannot be a tile")
        .help(format!("write `{all}()`"))
}

pub(crate) fn bad_shape(span: &Span, what: String, help: &str) -> Diagnostic {
    let d = Diagnostic::new("K0115", what).at(span);
    if help.is_empty() { d } else { d.help(help) }
}

pub(crate) fn store_shape(span: &Span, value: &Type, block: &[usize]) -> Diagnostic {
    Diagnostic::new("K0119", format!("{value} is stored to a block of {block:?}"))
        .at(span)
        .label("the shapes differ")
        .note("axes of extent 1 may be left out; the others must agree")
}

pub(crate) fn unknown_param(span: &Span, name: &str) -> Diagnostic {
    Diagnostic::new("K0116", format!("there is no launch parameter `{name}`"))
        .at(span)
        .label("declare it first")
}

pub(crate) fn duplicate_param(span: &Span, name: &str) -> Diagnostic {
    Diagnostic::new("K0117", format!("there are two launch parameters `{name}`"))
        .at(span)
        .label("declared again")
}

pub(crate) fn bad_step(span: &Span, step: i64) -> Diagnostic {
    Diagnostic::new("K0118", format!("the step of a kernel range is {step}"))
        .at(span)
        .label("must be positive")
}
