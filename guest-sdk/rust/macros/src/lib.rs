//! The attribute `#[tool]`, which `toolhost-guest` exports and documents.

mod argument;
mod attributes;
mod expand;
mod function;

use proc_macro::TokenStream;

/// See the documentation of `toolhost_guest::tool`.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = syn::parse(item);
    let expanded = syn::parse(attribute)
        .and_then(|options| Ok((options, function?)))
        .and_then(|(options, function)| expand::expand(&options, &function));
    expanded
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

#[cfg(test)]
mod tests;
