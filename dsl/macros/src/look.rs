//! What can be told from the look of an expression, without its type.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprLit, Lit, Stmt, Token};

/// Where messages about the value of a branch point: its last expression, else the block.
pub(crate) fn value_span(block: &Block) -> Span {
    match block.stmts.last() {
        Some(Stmt::Expr(e, None)) => e.span(),
        _ => block.brace_token.span.open(),
    }
}

/// `expr` without the parentheses that the emitted call makes superfluous.
pub(crate) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(p) => bare(&p.expr),
        other => other,
    }
}

/// Whether `expr` may leave the loop or function it is part of.
pub(crate) fn leaves(expr: &Expr) -> bool {
    struct Finder(bool);
    impl<'a> Visit<'a> for Finder {
        fn visit_expr(&mut self, e: &'a Expr) {
            match e {
                Expr::Try(_) | Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => {
                    self.0 = true
                }
                Expr::Closure(_) => {}
                other => visit::visit_expr(self, other),
            }
        }
    }
    let mut finder = Finder(false);
    finder.visit_expr(expr);
    finder.0
}

pub(crate) fn is_assignment(op: &BinOp) -> bool {
    use BinOp::*;
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

pub(crate) fn has_let(cond: &Expr) -> bool {
    match cond {
        Expr::Let(_) => true,
        Expr::Binary(b) => has_let(&b.left) || has_let(&b.right),
        Expr::Paren(p) => has_let(&p.expr),
        _ => false,
    }
}

/// Methods that give host iterators.
const ITERATORS: &[&str] = &[
    "bytes",
    "chain",
    "chars",
    "chunks",
    "chunks_exact",
    "cloned",
    "copied",
    "drain",
    "enumerate",
    "filter",
    "filter_map",
    "flat_map",
    "into_iter",
    "iter",
    "iter_mut",
    "keys",
    "lines",
    "map",
    "rev",
    "skip",
    "split",
    "step_by",
    "take",
    "values",
    "windows",
    "zip",
];

/// Whether a `for` over `expr` is a host loop by its look, and can be left as it is.
pub(crate) fn is_host_iterator(expr: &Expr) -> bool {
    let is_number = |e: &Expr| matches!(e, Expr::Lit(ExprLit { lit: Lit::Int(_), .. }));
    match expr {
        Expr::Reference(_) | Expr::Array(_) => true,
        Expr::Paren(p) => is_host_iterator(&p.expr),
        Expr::Range(r) => {
            r.start.as_deref().is_some_and(is_number) || r.end.as_deref().is_some_and(is_number)
        }
        Expr::MethodCall(m) => ITERATORS.iter().any(|name| m.method == name),
        _ => false,
    }
}

/// `value; count` of `vec![value; count]`.
pub(crate) fn repeat(input: syn::parse::ParseStream<'_>) -> syn::Result<(Expr, Expr)> {
    let value = input.parse()?;
    input.parse::<Token![;]>()?;
    Ok((value, input.parse()?))
}
