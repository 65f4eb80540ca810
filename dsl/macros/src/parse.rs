//! What a kernel's body cannot contain; everything else is Rust as usual.

use crate::diag::Refusal;
use syn::visit::{self, Visit};
use syn::{Block, Error, Expr, ExprForLoop, Item, Label, Lifetime, Macro};

/// Everything in `body` that is refused.
pub(crate) fn refusals(body: &Block) -> Vec<Error> {
    let mut checker = Checker::default();
    checker.visit_block(body);
    checker.errors
}

/// Macros whose expansion holds no kernel control flow of its own.
const ALLOWED_MACROS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "column",
    "concat",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "env",
    "eprint",
    "eprintln",
    "file",
    "format",
    "format_args",
    "include_str",
    "line",
    "matches",
    "module_path",
    "panic",
    "print",
    "println",
    "stringify",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];

/// Whether `mac` is one of the allowed macros, by its last path segment.
pub(crate) fn macro_name(mac: &Macro) -> String {
    mac.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default()
}

/// Whether a `for` is over `range(…)` of the DSL, and so certainly a loop of the kernel.
pub(crate) fn is_kernel_loop(f: &ExprForLoop) -> bool {
    let mut iter = &*f.expr;
    while let Expr::Paren(p) = iter {
        iter = &p.expr;
    }
    let Expr::Call(call) = iter else { return false };
    let Expr::Path(path) = &*call.func else { return false };
    let name = path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
    matches!((name.as_str(), call.args.len()), ("range", 3) | ("range_part", 4))
}

/// Something around the current place that `break`, `continue` or `return` may leave.
#[derive(Debug)]
enum Around {
    Loop {
        label: Option<Lifetime>,
        in_kernel: bool,
    },
    /// A labelled block, which only a `break` with that label leaves.
    Block(Lifetime),
    Closure,
}

#[derive(Debug, Default)]
struct Checker {
    errors: Vec<Error>,
    around: Vec<Around>,
}

impl Checker {
    fn inside(&mut self, around: Around, visit: impl FnOnce(&mut Self)) {
        self.around.push(around);
        visit(self);
        self.around.pop();
    }

    fn in_loop(&mut self, label: &Option<Label>, in_kernel: bool, visit: impl FnOnce(&mut Self)) {
        let label = label.as_ref().map(|l| l.name.clone());
        self.inside(Around::Loop { label, in_kernel }, visit);
    }

    /// `break` or `continue`: goes through kernel loops up to the one it leaves?
    fn check_jump(&self, what: &'static str, target: Option<&Lifetime>) -> Option<Refusal> {
        let mut through_kernel_loop = false;
        for around in self.around.iter().rev() {
            let (label, in_kernel) = match around {
                Around::Closure => return None,
                Around::Block(label) => (Some(label), false),
                Around::Loop { label, in_kernel } => (label.as_ref(), *in_kernel),
            };
            let is_target = match target {
                Some(name) => label.is_some_and(|l| l.ident == name.ident),
                None => matches!(around, Around::Loop { .. }),
            };
            match (is_target, in_kernel) {
                (true, true) => return Some(Refusal::LeavesKernelLoop(what)),
                (true, false) if through_kernel_loop => {
                    return target.map(|name| Refusal::LabelOutside(name.to_string()));
                }
                (true, false) => return None,
                (false, _) => through_kernel_loop |= in_kernel,
            }
        }
        None
    }

    /// `return` or `?`: goes through a kernel loop?
    fn check_exit(&self, what: &'static str) -> Option<Refusal> {
        let in_function = self.around.iter().rev().take_while(|a| !matches!(a, Around::Closure));
        let in_kernel = |a: &Around| matches!(a, Around::Loop { in_kernel: true, .. });
        in_function.into_iter().any(in_kernel).then_some(Refusal::LeavesKernelLoop(what))
    }
}

impl<'a> Visit<'a> for Checker {
    fn visit_expr(&mut self, e: &'a Expr) {
        let refusal = match e {
            Expr::Await(a) => Some(Refusal::Await.at(&a.await_token)),
            Expr::Async(a) => Some(Refusal::AsyncBlock.at(&a.async_token)),
            Expr::Yield(y) => Some(Refusal::Yield.at(&y.yield_token)),
            Expr::Break(b) => {
                self.check_jump("`break`", b.label.as_ref()).map(|r| r.at(&b.break_token))
            }
            Expr::Continue(c) => {
                self.check_jump("`continue`", c.label.as_ref()).map(|r| r.at(&c.continue_token))
            }
            Expr::Return(r) => self.check_exit("`return`").map(|x| x.at(&r.return_token)),
            Expr::Try(t) => self.check_exit("`?`").map(|x| x.at(&t.question_token)),
            _ => None,
        };
        self.errors.extend(refusal);
        match e {
            Expr::ForLoop(f) => {
                self.visit_expr(&f.expr);
                self.in_loop(&f.label, is_kernel_loop(f), |s| s.visit_block(&f.body));
            }
            Expr::While(w) => {
                self.in_loop(&w.label, false, |s| visit::visit_expr_while(s, w));
            }
            Expr::Loop(l) => self.in_loop(&l.label, false, |s| s.visit_block(&l.body)),
            Expr::Block(b) => match &b.label {
                Some(l) => self.inside(Around::Block(l.name.clone()), |s| s.visit_block(&b.block)),
                None => self.visit_block(&b.block),
            },
            Expr::Closure(c) => self.inside(Around::Closure, |s| s.visit_expr(&c.body)),
            other => visit::visit_expr(self, other),
        }
    }

    fn visit_macro(&mut self, mac: &'a Macro) {
        let name = macro_name(mac);
        if !ALLOWED_MACROS.contains(&name.as_str()) {
            self.errors.push(Refusal::Macro(name).at(&mac.path));
        }
    }

    /// Items inside a kernel are not part of it.
    fn visit_item(&mut self, _: &'a Item) {}
}
