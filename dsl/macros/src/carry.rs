//! Which variables a loop or branch changes: scopes, and what is touched inside open regions.

use crate::diag::Refusal;
use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{Error, Expr, ExprUnary, Pat, PatIdent, PatReference, UnOp};

/// A variable in scope.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) ident: Ident,
    /// Declared `mut`.
    pub(crate) is_mut: bool,
    /// A parameter of type `&mut T`: what it points to changes, not the variable.
    pub(crate) is_reference: bool,
    /// Declared without a value and not assigned yet.
    pub(crate) is_uninitialised: bool,
}

impl Variable {
    pub(crate) fn new(ident: Ident, is_mut: bool) -> Variable {
        Variable { ident, is_mut, is_reference: false, is_uninitialised: false }
    }
}

/// How a variable may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// Assigned, or borrowed with `&mut`.
    Assigned,
    /// The receiver of a method, which may take it by `&mut`.
    Receiver,
    /// Passed on by name, which lends it if it is a `&mut` reference.
    Argument,
}

/// A variable that a region changes.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    /// At its first change, which is where messages about it point.
    pub(crate) ident: Ident,
    /// What changes is what it points to.
    pub(crate) through_reference: bool,
}

/// The variables in scope, and the loops and branches open around the current place.
#[derive(Debug)]
pub(crate) struct Variables {
    scopes: Vec<Vec<Variable>>,
    regions: Vec<Region>,
    closures: Vec<Closure>,
    pub(crate) errors: Vec<Error>,
}

#[derive(Debug)]
struct Region {
    /// Variables of scopes below this depth are outside.
    depth: usize,
    carried: Vec<Carried>,
}

#[derive(Debug)]
struct Closure {
    depth: usize,
    /// Number of regions around it.
    regions: usize,
}

impl Variables {
    pub(crate) fn new(parameters: Vec<Variable>) -> Variables {
        Variables {
            scopes: vec![parameters],
            regions: Vec::new(),
            closures: Vec::new(),
            errors: Vec::new(),
        }
    }

    pub(crate) fn enter_scope(&mut self, variables: Vec<Variable>) {
        self.scopes.push(variables);
    }

    pub(crate) fn leave_scope(&mut self) {
        self.scopes.pop();
    }

    /// Adds variables to the innermost scope.
    pub(crate) fn declare(&mut self, variables: Vec<Variable>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.extend(variables);
        }
    }

    pub(crate) fn enter_region(&mut self) {
        self.regions.push(Region { depth: self.scopes.len(), carried: Vec::new() });
    }

    /// Closes the innermost region; gives what it changes, in order of the first change.
    pub(crate) fn leave_region(&mut self) -> Vec<Carried> {
        self.regions.pop().map(|r| r.carried).unwrap_or_default()
    }

    pub(crate) fn enter_closure(&mut self, parameters: Vec<Variable>) {
        self.closures.push(Closure { depth: self.scopes.len(), regions: self.regions.len() });
        self.scopes.push(parameters);
    }

    pub(crate) fn leave_closure(&mut self) {
        self.scopes.pop();
        self.closures.pop();
    }

    /// Whether a loop or branch of the current function or closure is open.
    pub(crate) fn is_in_region(&self) -> bool {
        self.regions.len() > self.closures.last().map_or(0, |c| c.regions)
    }

    /// The place `expr` may change; tuples and arrays on the left of `=` change each part.
    pub(crate) fn touch_place(&mut self, place: &Expr, touch: Touch) {
        match place {
            Expr::Tuple(t) => t.elems.iter().for_each(|e| self.touch_place(e, touch)),
            Expr::Array(a) => a.elems.iter().for_each(|e| self.touch_place(e, touch)),
            Expr::Struct(s) => s.fields.iter().for_each(|f| self.touch_place(&f.expr, touch)),
            Expr::Call(c) => c.args.iter().for_each(|e| self.touch_place(e, touch)),
            other => {
                if let Some(ident) = root(other) {
                    self.touch(ident.clone(), touch);
                }
            }
        }
    }

    fn touch(&mut self, ident: Ident, touch: Touch) {
        let found = self.scopes.iter_mut().enumerate().rev().find_map(|(depth, scope)| {
            scope.iter_mut().rev().find(|v| v.ident == ident).map(|v| (depth, v))
        });
        let Some((depth, variable)) = found else { return };
        let changes = match touch {
            Touch::Assigned => true,
            Touch::Receiver => variable.is_mut || variable.is_reference,
            Touch::Argument => variable.is_reference,
        };
        if !changes {
            return;
        }
        let outside = |region: &Region| depth < region.depth;
        if variable.is_uninitialised && touch == Touch::Assigned {
            if self.regions.iter().any(outside) {
                self.errors.push(Refusal::Uninitialised(ident.to_string()).at(&variable.ident));
            }
            variable.is_uninitialised = false;
        }
        if touch == Touch::Assigned && self.closures.last().is_some_and(|c| depth < c.depth) {
            self.errors.push(Refusal::ClosureAssigns(ident.to_string()).at(&ident));
        }
        let through_reference = !variable.is_mut;
        for region in self.regions.iter_mut().filter(|r| outside(r)) {
            if !region.carried.iter().any(|c| c.ident == ident) {
                region.carried.push(Carried { ident: ident.clone(), through_reference });
            }
        }
    }
}

/// The variables that a pattern declares.
pub(crate) fn bindings(pat: &Pat) -> Vec<Variable> {
    struct Finder(Vec<Variable>);
    impl<'a> Visit<'a> for Finder {
        fn visit_pat_ident(&mut self, p: &'a PatIdent) {
            self.0
                .push(Variable::new(p.ident.clone(), p.mutability.is_some() && p.by_ref.is_none()));
            visit::visit_pat_ident(self, p);
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut finder = Finder(Vec::new());
    finder.visit_pat(pat);
    finder.0
}

/// The variables that a pattern declares when it is matched with parts of `value`: references, if
/// that is a `&mut` borrow.
pub(crate) fn bindings_of(pat: &Pat, value: &Expr) -> Vec<Variable> {
    let mut variables = bindings(pat);
    let borrows = match value {
        Expr::Reference(r) => r.mutability.is_some(),
        Expr::MethodCall(m) => m.method == "iter_mut",
        _ => false,
    };
    if borrows && !has_reference(pat) {
        variables.iter_mut().for_each(|v| v.is_reference = !v.is_mut);
    }
    variables
}

/// Whether a pattern looks through references, so that its variables are not references.
fn has_reference(pat: &Pat) -> bool {
    struct Finder(bool);
    impl<'a> Visit<'a> for Finder {
        fn visit_pat_reference(&mut self, _: &'a PatReference) {
            self.0 = true;
        }
    }
    let mut finder = Finder(false);
    finder.visit_pat(pat);
    finder.0
}

/// The variable that a place expression is part of.
fn root(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(p) => p.path.get_ident(),
        Expr::Field(f) => root(&f.base),
        Expr::Index(i) => root(&i.expr),
        Expr::Paren(p) => root(&p.expr),
        Expr::Group(g) => root(&g.expr),
        Expr::MethodCall(m) => root(&m.receiver),
        Expr::Unary(ExprUnary { op: UnOp::Deref(_), expr, .. }) => root(expr),
        _ => None,
    }
}
