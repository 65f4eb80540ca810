//! Every message of the macros, with its code. Lower case, no full stop, the shortest span.

use proc_macro2::Span;
use syn::Error;
use syn::spanned::Spanned;

/// A message of the macros.
pub(crate) enum Refusal {
    Arguments,
    NotAFunction,
    NoBody,
    Async,
    Const,
    Unsafe,
    Extern,
    Variadic,
    Await,
    AsyncBlock,
    Yield,
    /// `break`, `continue`, `return` or `?` in a `for` over `range(…)`.
    LeavesKernelLoop(&'static str),
    LabelOutside(String),
    ClosureAssigns(String),
    Macro(String),
    Uninitialised(String),
    ConditionAssigns(String),
    CarryOnEnum,
    CarryOnUnion,
    CarryAttribute,
}

impl Refusal {
    /// The message at the place of `tokens`.
    pub(crate) fn at(self, tokens: &impl Spanned) -> Error {
        self.at_span(tokens.span())
    }

    /// The message at `span`.
    pub(crate) fn at_span(self, span: Span) -> Error {
        let (code, message, advice) = self.text();
        let mut text = format!("[{code}] {message}");
        for line in advice {
            text.push_str("\n= ");
            text.push_str(line);
        }
        Error::new(span, text)
    }

    /// Code, message and the lines below it.
    fn text(self) -> (&'static str, String, Vec<&'static str>) {
        use Refusal::*;
        match self {
            Arguments => (
                "K0001",
                "`#[kernel]` takes no arguments".into(),
                vec!["help: what varies between kernels is a parameter of the function"],
            ),
            NotAFunction => (
                "K0002",
                "`#[kernel]` goes on a function or method".into(),
                vec!["note: in an `impl`, it goes on each method with kernel control flow"],
            ),
            NoBody => (
                "K0003",
                "`#[kernel]` needs a function with a body".into(),
                vec!["help: put it on the implementation, not on the trait's declaration"],
            ),
            Async => ("K0004", "a kernel cannot be `async`".into(), vec![]),
            Const => (
                "K0005",
                "a kernel cannot be a `const fn`".into(),
                vec!["note: it runs while the kernel is generated, and records what it does"],
            ),
            Unsafe => (
                "K0006",
                "a kernel cannot be an `unsafe fn`".into(),
                vec!["note: it only records operations, which is always safe"],
            ),
            Extern => ("K0007", "a kernel cannot be an `extern` function".into(), vec![]),
            Variadic => ("K0008", "a kernel cannot be variadic".into(), vec![]),
            Await => ("K0009", "`.await` in a kernel".into(), vec![]),
            AsyncBlock => ("K0009", "an `async` block in a kernel".into(), vec![]),
            Yield => ("K0009", "`yield` in a kernel".into(), vec![]),
            LeavesKernelLoop(what) => (
                "K0010",
                format!("{what} cannot leave a kernel loop"),
                vec![
                    "note: a loop over `range(…)` runs in the kernel and has no early exit",
                    "help: state the exit in the condition of a `while`, or `select` the result; \
                     a loop over `lo..hi` of host values may be left",
                ],
            ),
            LabelOutside(label) => (
                "K0011",
                format!("this leaves the kernel loop inside `{label}`"),
                vec!["note: a loop over `range(…)` runs in the kernel and has no early exit"],
            ),
            ClosureAssigns(name) => (
                "K0012",
                format!("a closure in a kernel must not assign `{name}`, a variable from outside"),
                vec![
                    "note: whether the variable changes in a kernel region could not be seen",
                    "help: return the new value, or use a `for` loop",
                ],
            ),
            Macro(name) => (
                "K0013",
                format!("`{name}!` is not allowed in a kernel"),
                vec![
                    "note: `#[kernel]` cannot see the code that it expands to",
                    "help: call a function; `vec!`, `assert!`, `panic!`, `format!` and `matches!` \
                     are allowed",
                ],
            ),
            Uninitialised(name) => (
                "K0014",
                format!("`{name}` is declared without a value and assigned in a branch or loop"),
                vec![
                    "help: initialise it: `let x = if c { a } else { b };` also works with a \
                     kernel condition",
                ],
            ),
            ConditionAssigns(name) => (
                "K0015",
                format!("`{name}` is assigned in the condition of a `while`"),
                vec!["help: assign it in the loop's body"],
            ),
            CarryOnEnum => (
                "K0020",
                "`Carry` cannot be derived for an enum".into(),
                vec![
                    "note: which variant it is would be decided in the kernel",
                    "help: use a struct, or an `Option` that does not change in a kernel region",
                ],
            ),
            CarryOnUnion => ("K0020", "`Carry` cannot be derived for a union".into(), vec![]),
            CarryAttribute => (
                "K0021",
                "unknown `carry` attribute".into(),
                vec!["help: the only one is `#[carry(host)]`, for a field that is a host value"],
            ),
        }
    }
}

/// Several messages as one, or nothing.
pub(crate) fn combine(errors: Vec<Error>) -> Result<(), Error> {
    errors
        .into_iter()
        .reduce(|mut all, next| {
            all.combine(next);
            all
        })
        .map_or(Ok(()), Err)
}
