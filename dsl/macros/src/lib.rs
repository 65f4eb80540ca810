//! `#[kernel]` and `#[derive(Carry)]`.
//!
//! `#[kernel]` adds to a Rust function what operator overloading cannot: control flow over kernel
//! values. It does not know types. It emits every body once, between calls on a guard
//! (`tilewright_dsl::control`) whose type rustc infers, and that type decides whether the code is host
//! Rust or a region of the kernel.
//!
//! In order: `signature` checks the head of the function, `parse` refuses what a body cannot contain,
//! `expand` rewrites the body with the help of `carry`, which knows the variables.

mod carry;
mod derive;
mod diag;
mod expand;
mod look;
mod parse;
mod signature;

use proc_macro::TokenStream;

/// Makes a function a kernel, or a part of one: `for`, `while` and `if` over kernel values become
/// regions of the kernel, comparisons and `&&`, `||` work on kernel values, and every operation
/// knows its line of source.
///
/// Host or kernel is decided by type: `for k in range(0, n, 16)` and `if a < b` with a `Scalar` run
/// in the kernel; `for i in 0..4` and `if variant.bias` run while staging. Functions without such
/// control flow need no `#[kernel]`, but with it their messages show the source line.
///
/// What to know:
/// - Both branches of a kernel `if` are staged, and the body of a kernel loop twice. Side effects on
///   host values there (in a `Cell`, say) happen as often, whatever the kernel does.
/// - Both sides of `&&` and `||` on kernel values are computed.
/// - `match`, `if let`, `while let` and `loop` are always of the host.
/// - A value that an `if` moves in both branches is moved twice, as far as rustc can see, even if the
///   condition is a host value: `match flag { true => …, false => … }` does not have that.
/// - A variable that an `if` or loop assigns is declared with a value.
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match signature::kernel(arguments.into(), item.clone().into()) {
        Ok(tokens) => tokens.into(),
        Err(error) => {
            let mut out = error.to_compile_error();
            out.extend(signature::stand_in(item.into()));
            out.into()
        }
    }
}

/// Lets a struct of kernel values change in kernel loops and branches. Fields that are host values
/// are marked `#[carry(host)]`; they must not change there.
#[proc_macro_derive(Carry, attributes(carry))]
pub fn derive_carry(item: TokenStream) -> TokenStream {
    match derive::carry(item.into()) {
        Ok(tokens) => tokens.into(),
        Err(error) => error.to_compile_error().into(),
    }
}
