//! The head of a kernel function: what is accepted, which variables it brings, what is emitted
//! around the body.

use crate::carry::{Variable, Variables};
use crate::diag::{Refusal, combine};
use crate::{expand, parse};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Error, FnArg, Item, ItemFn, Pat, ReturnType, Signature, Token, TraitItemFn, Type};

/// Expands `#[kernel]` on `item`.
pub(crate) fn kernel(arguments: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    if !arguments.is_empty() {
        return Err(Refusal::Arguments.at(&arguments));
    }
    let mut function = function(item)?;
    let mut errors = head(&function.sig);
    errors.extend(parse::refusals(&function.block));
    let variables = Variables::new(parameters(&function.sig));
    errors.extend(expand::body(&mut function.block, variables));
    combine(errors)?;
    Ok(emit(function))
}

/// After an error: the function with a body that compiles, so that its callers are not reported too.
pub(crate) fn stand_in(item: TokenStream) -> Option<TokenStream> {
    let ItemFn { attrs, vis, sig, .. } = syn::parse2(item).ok()?;
    if has_impl_trait(&sig.output) || sig.constness.is_some() || sig.variadic.is_some() {
        return None;
    }
    Some(quote! {
        #(#attrs)*
        #[allow(unused, clippy::all, reason = "stands in for a kernel that has errors")]
        #vis #sig { loop {} }
    })
}

fn function(item: TokenStream) -> Result<ItemFn, Error> {
    match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => Ok(function),
        Err(error) => {
            Err(match (syn::parse2::<Item>(item.clone()), syn::parse2::<TraitItemFn>(item)) {
                (_, Ok(declaration)) => Refusal::NoBody.at(&declaration.sig),
                (Ok(other), _) => Refusal::NotAFunction.at_span(keyword(&other)),
                (Err(_), Err(_)) => error,
            })
        }
    }
}

/// The word that says what an item is, as the shortest span that shows the fault.
fn keyword(item: &Item) -> Span {
    match item {
        Item::Struct(i) => i.struct_token.span(),
        Item::Enum(i) => i.enum_token.span(),
        Item::Impl(i) => i.impl_token.span(),
        Item::Trait(i) => i.trait_token.span(),
        Item::Mod(i) => i.mod_token.span(),
        other => other.span(),
    }
}

fn head(sig: &Signature) -> Vec<Error> {
    let mut errors = Vec::new();
    if let Some(token) = &sig.asyncness {
        errors.push(Refusal::Async.at(token));
    }
    if let Some(token) = &sig.constness {
        errors.push(Refusal::Const.at(token));
    }
    if let Some(token) = &sig.unsafety {
        errors.push(Refusal::Unsafe.at(token));
    }
    if let Some(token) = &sig.abi {
        errors.push(Refusal::Extern.at(&token.extern_token));
    }
    if let Some(token) = &sig.variadic {
        errors.push(Refusal::Variadic.at(&token.dots));
    }
    errors
}

fn parameters(sig: &Signature) -> Vec<Variable> {
    let mut variables = Vec::new();
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(r) => {
                let token = Token![self](r.self_token.span);
                let by_value = !matches!(&*r.ty, Type::Reference(_));
                let mut variable = Variable::new(token.into(), r.mutability.is_some() && by_value);
                variable.is_reference = is_mut_reference(&r.ty);
                variables.push(variable);
            }
            FnArg::Typed(typed) => {
                let by_reference =
                    is_mut_reference(&typed.ty) && matches!(&*typed.pat, Pat::Ident(_));
                for mut variable in crate::carry::bindings(&typed.pat) {
                    variable.is_reference = by_reference;
                    variables.push(variable);
                }
            }
        }
    }
    variables
}

fn is_mut_reference(ty: &Type) -> bool {
    matches!(ty, Type::Reference(r) if r.mutability.is_some())
}

fn emit(function: ItemFn) -> TokenStream {
    let ItemFn { attrs, vis, sig, block } = function;
    let (line, text) = source(block.brace_token.span.open(), block.brace_token.span.close());
    let output = match &sig.output {
        ReturnType::Type(..) if !has_impl_trait(&sig.output) => sig.output.clone(),
        _ => ReturnType::Default,
    };
    let statements = &block.stmts;
    // The closure ends the chain of `#[track_caller]`: operations in the body are to be located in
    // the body, not at the kernel's caller.
    let body = quote_spanned! {block.span()=> (move || #output { #(#statements)* })() };
    quote! {
        #(#attrs)*
        #[track_caller]
        #[allow(
            unreachable_code,
            clippy::let_unit_value,
            clippy::redundant_closure_call,
            clippy::unused_unit,
            reason = "the guards around loops and branches"
        )]
        #vis #sig {
            let _entered = ::tilewright_dsl::control::enter(
                ::tilewright_dsl::control::Source {
                    file: ::core::file!(),
                    line: #line,
                    text: #text,
                },
                ::core::panic::Location::caller(),
            );
            #body
        }
    }
}

/// Line number and text of the lines from one token to another; no text if the file is not at hand.
fn source(from: Span, to: Span) -> (u32, String) {
    let (first, last) = (from.unwrap().line(), to.unwrap().line());
    let file = from.unwrap().local_file().and_then(|path| std::fs::read_to_string(path).ok());
    let lines = file.as_deref().unwrap_or_default().lines();
    let text: Vec<&str> =
        lines.skip(first.saturating_sub(1)).take((last + 1).saturating_sub(first)).collect();
    (first as u32, text.join("\n"))
}

fn has_impl_trait(output: &ReturnType) -> bool {
    struct Finder(bool);
    impl Visit<'_> for Finder {
        fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut finder = Finder(false);
    visit::visit_return_type(&mut finder, output);
    finder.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(item: &str) -> String {
        let item = item.parse().expect("tokens");
        kernel(TokenStream::new(), item).map_or_else(|e| e.to_string(), |_| String::new())
    }

    #[test]
    fn heads_that_are_refused() {
        // Put together, so that a search for the keyword does not stop here.
        let item = ["un", "safe fn k() {}"].concat();
        assert!(message(&item).starts_with("[K0006]"));
        assert!(message("struct K;").starts_with("[K0002]"));
        assert!(message("fn k(&self);").starts_with("[K0003]"));
        assert!(message("fn k(x) {}").starts_with("expected"));
    }
}
