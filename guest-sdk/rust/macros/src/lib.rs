//! The attribute `#[tool]`, which `toolhost-guest` exports and documents, and a part of `handlers!`.

mod argument;
mod attributes;
mod expand;
mod function;
mod unique;

use proc_macro::TokenStream;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;

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

/// Refuses names that `handlers!` lists twice. It is a part of that macro.
#[doc(hidden)]
#[proc_macro]
pub fn unique(listed: TokenStream) -> TokenStream {
    let listed = Punctuated::parse_terminated.parse(listed);
    listed
        .map(|listed| unique::expand(&listed))
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

#[cfg(test)]
mod tests;
