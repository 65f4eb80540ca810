//! `#[derive(Carry)]`.

use crate::diag::{Refusal, combine};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, WherePredicate, parse_quote};

/// Expands `#[derive(Carry)]` on `item`.
pub(crate) fn carry(item: TokenStream) -> Result<TokenStream, Error> {
    let mut input: DeriveInput = syn::parse2(item)?;
    let data = match &input.data {
        Data::Struct(data) => data,
        Data::Enum(data) => return Err(Refusal::CarryOnEnum.at(&data.enum_token)),
        Data::Union(data) => return Err(Refusal::CarryOnUnion.at(&data.union_token)),
    };
    let mut errors = Vec::new();
    let mut visits = Vec::new();
    let mut bounds: Vec<WherePredicate> = Vec::new();
    for (field, member) in data.fields.iter().zip(data.fields.members()) {
        let (span, ty) = (field.ty.span(), &field.ty);
        visits.push(match is_host(field) {
            Ok(true) => {
                bounds.push(parse_quote!(#ty: ::core::clone::Clone + ::core::cmp::PartialEq + 'static));
                quote_spanned!(span=> leaves.host(&self.#member);)
            }
            Ok(false) => {
                bounds.push(parse_quote!(#ty: ::tilewright_dsl::control::Carry));
                quote_spanned!(span=> ::tilewright_dsl::control::Carry::visit(&mut self.#member, leaves);)
            }
            Err(error) => {
                errors.push(error);
                continue;
            }
        });
    }
    combine(errors)?;
    // On field types, not on parameters: `Tile<E>` is carried whatever `E` is.
    if input.generics.type_params().next().is_some() {
        input.generics.make_where_clause().predicates.extend(bounds);
    }
    let name = &input.ident;
    let (parameters, arguments, condition) = input.generics.split_for_impl();
    Ok(quote! {
        impl #parameters ::tilewright_dsl::control::Carry for #name #arguments #condition {
            fn visit(&mut self, leaves: &mut ::tilewright_dsl::control::Leaves<'_>) {
                #(#visits)*
                let _ = leaves;
            }
        }
    })
}

/// Whether a field is marked `#[carry(host)]`.
fn is_host(field: &Field) -> Result<bool, Error> {
    let mut host = false;
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("carry")) {
        attribute
            .parse_nested_meta(|meta| {
                host |= meta.path.is_ident("host");
                if meta.path.is_ident("host") {
                    Ok(())
                } else {
                    Err(Refusal::CarryAttribute.at(&meta.path))
                }
            })
            .map_err(|e| {
                if e.to_string().starts_with('[') {
                    e
                } else {
                    Refusal::CarryAttribute.at(attribute)
                }
            })?;
    }
    Ok(host)
}
