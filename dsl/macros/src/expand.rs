//! The rewriting of a kernel's body.
//!
//! Calls whose types or positions can be at fault carry the span of the user's code, so that rustc
//! reports them there and `#[track_caller]` locates them there. Everything else has the macro's own
//! span, which keeps its variables apart from the user's.

use crate::carry::{Carried, Touch, Variables, bindings, bindings_of};
use crate::diag::Refusal;
use crate::look::{bare, has_let, is_assignment, is_host_iterator, leaves, repeat, value_span};
use crate::parse::macro_name;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{
    Arm, BinOp, Block, Error, Expr, ExprBinary, ExprClosure, ExprForLoop, ExprIf, ExprWhile, Item,
    Local, Macro, Token, Type, parse_quote, parse_quote_spanned,
};

/// Rewrites `block`, the body of a kernel with these parameters; gives what is refused.
pub(crate) fn body(block: &mut Block, variables: Variables) -> Vec<Error> {
    let mut expander = Expander { variables };
    expander.visit_block_mut(block);
    expander.variables.errors
}

struct Expander {
    variables: Variables,
}

/// A variable of the emitted code that the user's code cannot see.
fn own(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// For each carried variable, `guard.method(&mut variable)` or, with `named`, also its name.
fn each(carried: &[Carried], guard: &Ident, method: &str, named: bool) -> TokenStream {
    let calls = carried.iter().map(|Carried { ident, through_reference }| {
        let span = ident.span();
        let method = Ident::new(method, span);
        let place =
            if *through_reference { quote_spanned!(span=> *#ident) } else { quote!(#ident) };
        let name = named.then(|| ident.to_string()).into_iter();
        quote_spanned!(span=> #guard.#method(&mut #place #(, #name)*);)
    });
    quote!(#(#calls)*)
}

impl Expander {
    fn region<R>(&mut self, visit: impl FnOnce(&mut Self) -> R) -> Vec<Carried> {
        self.variables.enter_region();
        visit(self);
        self.variables.leave_region()
    }

    fn for_loop(&mut self, f: &mut ExprForLoop) -> Option<Expr> {
        self.visit_expr_mut(&mut f.expr);
        let pattern = bindings_of(&f.pat, &f.expr);
        if is_host_iterator(&f.expr) {
            self.variables.enter_scope(pattern);
            self.visit_block_mut(&mut f.body);
            self.variables.leave_scope();
            return None;
        }
        let carried = self.region(|s| {
            s.variables.enter_scope(pattern);
            s.visit_block_mut(&mut f.body);
            s.variables.leave_scope();
        });
        let (guard, item) = (own("guard"), own("item"));
        let ExprForLoop { label, pat, expr, body, .. } = f;
        let ins = each(&carried, &guard, "carry_in", false);
        let outs = each(&carried, &guard, "carry_out", true);
        let ends = each(&carried, &guard, "carry_end", false);
        let open = quote_spanned!(expr.span()=> (#expr).into_kernel_loop());
        Some(parse_quote!({
            #[allow(unused_imports)]
            use ::tilewright_dsl::control::{HostLoop as _, RangeLoop as _};
            match #open {
                mut #guard => {
                    #label while let ::core::option::Option::Some(#item) = #guard.next() {
                        let #pat = #item;
                        #ins
                        #body
                        #outs
                        #guard.end_body();
                    }
                    #guard.close();
                    #ends
                }
            }
        }))
    }

    fn while_loop(&mut self, w: &mut ExprWhile) -> Expr {
        let carried = self.region(|s| {
            let assigned = s.region(|s| s.visit_expr_mut(&mut w.cond));
            s.check_condition(&assigned, &w.cond);
            s.visit_block_mut(&mut w.body);
        });
        let guard = own("guard");
        let ExprWhile { label, cond, body, .. } = w;
        let ins = each(&carried, &guard, "carry_in", false);
        let overs = each(&carried, &guard, "carry_over", true);
        let outs = each(&carried, &guard, "carry_out", true);
        let ends = each(&carried, &guard, "carry_end", false);
        let open = quote_spanned! {cond.span()=> ::tilewright_dsl::control::while_loop(|| #cond) };
        let test = quote_spanned!(cond.span()=> #guard.test(#cond));
        parse_quote!({
            let mut #guard = #open;
            #label while #guard.next() {
                #ins
                if !#test {
                    break;
                }
                #overs
                #guard.begin_body();
                #body
                #outs
                #guard.end_body();
            }
            #guard.close();
            #ends
        })
    }

    fn branch(&mut self, i: &mut ExprIf) -> Expr {
        self.visit_expr_mut(&mut i.cond);
        let carried = self.region(|s| {
            s.visit_block_mut(&mut i.then_branch);
            if let Some((_, e)) = &mut i.else_branch {
                s.visit_expr_mut(e);
            }
        });
        let guard = own("guard");
        let (then_value, else_value, value) = (own("then_value"), own("else_value"), own("value"));
        let then_span = value_span(&i.then_branch);
        // With the user's span, so that messages about its type point there; hence the odd name.
        let tail = Ident::new("__if_value", then_span);
        let ExprIf { cond, then_branch, else_branch, if_token, .. } = i;
        let else_branch = match else_branch {
            Some((_, e)) => e.to_token_stream(),
            None => quote!({}),
        };
        let ins = each(&carried, &guard, "carry_in", false);
        let outs = each(&carried, &guard, "carry_out", true);
        let ends = each(&carried, &guard, "carry_end", false);
        let open = quote_spanned!(cond.span()=> ::tilewright_dsl::control::branch(#cond));
        let take = quote_spanned!(then_span=> #guard.value(#tail));
        let close = quote_spanned!(if_token.span=> #guard.close(#then_value, #else_value));
        parse_quote!({
            let mut #guard = #open;
            let #then_value = if #guard.enter_then() {
                #ins
                let #tail = #then_branch;
                #outs
                ::core::option::Option::Some(#take)
            } else {
                ::core::option::Option::None
            };
            let #else_value = if #guard.enter_else() {
                #ins
                let #value = #else_branch;
                #outs
                ::core::option::Option::Some(#value)
            } else {
                ::core::option::Option::None
            };
            let #value = #close;
            #ends
            #value
        })
    }

    /// The condition of an `if let` or `while let`, whose bindings join the current scope.
    fn let_chain(&mut self, cond: &mut Expr) {
        match cond {
            Expr::Let(l) => {
                self.visit_expr_mut(&mut l.expr);
                self.variables.declare(bindings_of(&l.pat, &l.expr));
            }
            Expr::Binary(ExprBinary { left, op: BinOp::And(_), right, .. }) => {
                self.let_chain(left);
                self.let_chain(right);
            }
            other => self.visit_expr_mut(other),
        }
    }

    /// An assignment in the condition of a kernel `while` would be lost.
    fn check_condition(&mut self, touched: &[Carried], cond: &Expr) {
        struct Finder<'a>(&'a [Carried], Vec<Error>);
        impl<'b> Visit<'b> for Finder<'_> {
            fn visit_expr(&mut self, e: &'b Expr) {
                let place = match e {
                    Expr::Assign(a) => Some(&*a.left),
                    Expr::Binary(b) if is_assignment(&b.op) => Some(&*b.left),
                    _ => None,
                };
                if let Some(Expr::Path(p)) = place
                    && let Some(ident) = p.path.get_ident()
                    && self.0.iter().any(|c| c.ident == *ident)
                {
                    self.1.push(Refusal::ConditionAssigns(ident.to_string()).at(ident));
                }
                visit::visit_expr(self, e);
            }
        }
        let mut finder = Finder(touched, Vec::new());
        finder.visit_expr(cond);
        self.variables.errors.extend(finder.1);
    }

    fn binary(&mut self, b: &mut ExprBinary) -> Option<Expr> {
        if is_assignment(&b.op) {
            self.visit_expr_mut(&mut b.right);
            self.visit_expr_mut(&mut b.left);
            self.variables.touch_place(&b.left, Touch::Assigned);
            return None;
        }
        self.visit_expr_mut(&mut b.left);
        self.visit_expr_mut(&mut b.right);
        let (left, right, span) = (bare(&b.left), bare(&b.right), b.op.span());
        let (kind, method) = match b.op {
            BinOp::Eq(_) => ("KernelEq", "kernel_eq"),
            BinOp::Ne(_) => ("KernelEq", "kernel_ne"),
            BinOp::Lt(_) => ("KernelOrd", "kernel_lt"),
            BinOp::Le(_) => ("KernelOrd", "kernel_le"),
            BinOp::Gt(_) => ("KernelOrd", "kernel_gt"),
            BinOp::Ge(_) => ("KernelOrd", "kernel_ge"),
            BinOp::And(_) => return Some(logic("and", left, right, span)),
            BinOp::Or(_) => return Some(logic("or", left, right, span)),
            _ => return None,
        };
        let (kind, method) = (Ident::new(kind, span), Ident::new(method, span));
        Some(parse_quote_spanned!(span=>
            ::tilewright_dsl::control::#kind::#method(&(#left), &(#right))
        ))
    }

    /// `break`, `continue` or `return` in a loop or branch: noted for the message if that is one of
    /// the kernel.
    fn jump(&mut self, e: &mut Expr, keyword: &str, span: Span) {
        visit_mut::visit_expr_mut(self, e);
        if self.variables.is_in_region() {
            let note = quote_spanned!(span=> ::tilewright_dsl::control::leaving(#keyword));
            *e = parse_quote!({ #note; #e });
        }
    }
}

/// `left && right` or `left || right`. All is at the operator's place, so that rustc reports two sides
/// that do not fit there, once.
fn logic(name: &str, left: &Expr, right: &Expr, span: Span) -> Expr {
    let (lhs, rhs) = (Ident::new("__lhs", span), Ident::new("__rhs", span));
    let (combine, needs) = (Ident::new(name, span), format_ident!("{name}_needs_rhs", span = span));
    let needs_rhs = quote_spanned!(span=> ::tilewright_dsl::control::#needs(&#lhs, &#rhs));
    let both = quote_spanned!(span=> ::tilewright_dsl::control::#combine(#lhs, #rhs));
    parse_quote!({
        let #lhs = #left;
        let mut #rhs = ::core::option::Option::None;
        if #needs_rhs {
            #rhs = ::core::option::Option::Some(#right);
        }
        #both
    })
}

impl VisitMut for Expander {
    fn visit_expr_mut(&mut self, e: &mut Expr) {
        match e {
            Expr::ForLoop(f) => {
                if let Some(new) = self.for_loop(f) {
                    *e = new;
                }
            }
            // What leaves its loop or function cannot stand in the guard's closure: a host loop.
            Expr::While(w) if has_let(&w.cond) || leaves(&w.cond) => {
                self.variables.enter_scope(Vec::new());
                self.let_chain(&mut w.cond);
                self.visit_block_mut(&mut w.body);
                self.variables.leave_scope();
            }
            Expr::While(w) => *e = self.while_loop(w),
            Expr::If(i) if has_let(&i.cond) => {
                self.variables.enter_scope(Vec::new());
                self.let_chain(&mut i.cond);
                self.visit_block_mut(&mut i.then_branch);
                self.variables.leave_scope();
                if let Some((_, e)) = &mut i.else_branch {
                    self.visit_expr_mut(e);
                }
            }
            Expr::If(i) => *e = self.branch(i),
            Expr::Binary(b) => {
                if let Some(new) = self.binary(b) {
                    *e = new;
                }
            }
            Expr::Assign(a) => {
                self.visit_expr_mut(&mut a.right);
                self.visit_expr_mut(&mut a.left);
                self.variables.touch_place(&a.left, Touch::Assigned);
            }
            Expr::Reference(r) => {
                if r.mutability.is_some() {
                    self.variables.touch_place(&r.expr, Touch::Assigned);
                }
                self.visit_expr_mut(&mut r.expr);
            }
            Expr::MethodCall(m) => {
                self.variables.touch_place(&m.receiver, Touch::Receiver);
                m.args.iter().for_each(|a| self.variables.touch_place(a, Touch::Argument));
                visit_mut::visit_expr_method_call_mut(self, m);
            }
            Expr::Call(c) => {
                c.args.iter().for_each(|a| self.variables.touch_place(a, Touch::Argument));
                visit_mut::visit_expr_call_mut(self, c);
            }
            Expr::Break(b) => {
                let span = b.break_token.span;
                self.jump(e, "`break`", span);
            }
            Expr::Continue(c) => {
                let span = c.continue_token.span;
                self.jump(e, "`continue`", span);
            }
            Expr::Return(r) => {
                let span = r.return_token.span;
                self.jump(e, "`return`", span);
            }
            Expr::Const(_) => {}
            Expr::Repeat(r) => self.visit_expr_mut(&mut r.expr),
            other => visit_mut::visit_expr_mut(self, other),
        }
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        self.variables.enter_scope(Vec::new());
        visit_mut::visit_block_mut(self, block);
        self.variables.leave_scope();
    }

    /// The value first, then the variables: the value may use older ones of the same name.
    fn visit_local_mut(&mut self, local: &mut Local) {
        let mut variables = bindings(&local.pat);
        match &mut local.init {
            Some(init) => {
                variables = bindings_of(&local.pat, &init.expr);
                self.visit_expr_mut(&mut init.expr);
                if let Some((_, diverge)) = &mut init.diverge {
                    self.visit_expr_mut(diverge);
                }
            }
            None => variables.iter_mut().for_each(|v| v.is_uninitialised = true),
        }
        self.variables.declare(variables);
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        self.variables.enter_scope(bindings(&arm.pat));
        if let Some((_, guard)) = &mut arm.guard {
            self.let_chain(guard);
        }
        self.visit_expr_mut(&mut arm.body);
        self.variables.leave_scope();
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        self.variables.enter_closure(closure.inputs.iter().flat_map(bindings).collect());
        self.visit_expr_mut(&mut closure.body);
        self.variables.leave_closure();
    }

    /// The arguments of known macros: those of `vec!` are rewritten, others only searched for changed
    /// variables, since the text of an `assert!` is shown when it fails.
    fn visit_macro_mut(&mut self, mac: &mut Macro) {
        type Arguments = Punctuated<Expr, Token![,]>;
        let is_vec = macro_name(mac) == "vec";
        if let Ok(mut arguments) = mac.parse_body_with(Arguments::parse_terminated) {
            arguments.iter_mut().for_each(|a| self.visit_expr_mut(a));
            if is_vec {
                mac.tokens = arguments.into_token_stream();
            }
        } else if is_vec && let Ok(mut repeat) = mac.parse_body_with(repeat) {
            self.visit_expr_mut(&mut repeat.0);
            let (value, count) = repeat;
            mac.tokens = quote!(#value; #count);
        }
    }

    /// Items inside a kernel are not part of it, and types hold no kernel code.
    fn visit_item_mut(&mut self, _: &mut Item) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
}
