//! What `handlers!` lists has different names.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{LitStr, Path, Token};

/// What a handler is listed as.
pub(crate) enum Listed {
    /// A function with `#[tool]`.
    Tool(Path),
    /// The name of another function.
    Name(LitStr),
}

impl Parse for Listed {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(LitStr) {
            return input.parse().map(Self::Name);
        }
        input.call(Path::parse_mod_style).map(Self::Tool)
    }
}

impl Listed {
    /// Where it is listed.
    fn span(&self) -> Span {
        match self {
            Self::Tool(path) => path
                .segments
                .last()
                .map_or_else(Span::call_site, |it| it.ident.span()),
            Self::Name(name) => name.span(),
        }
    }

    /// As the author wrote it.
    fn text(&self) -> String {
        match self {
            Self::Tool(path) => path.to_token_stream().to_string().replace(' ', ""),
            Self::Name(name) => name.token().to_string(),
        }
    }

    /// The name of the handler, as an expression.
    fn name(&self) -> TokenStream {
        match self {
            Self::Tool(path) => {
                quote_spanned!(self.span()=> <#path as ::toolhost_guest::expanded::Tool>::NAME)
            }
            Self::Name(name) => quote!(#name),
        }
    }
}

/// Writes an error at each handler that has the name of one before it.
pub(crate) fn expand(listed: &Punctuated<Listed, Token![,]>) -> TokenStream {
    let (mut texts, mut names) = (Vec::new(), Vec::new());
    let mut checks = TokenStream::new();
    for handler in listed {
        let (text, name) = (handler.text(), handler.name());
        if texts.contains(&text) {
            let message = format!("`handlers!` lists {text} twice: a handler is listed once");
            checks.extend(syn::Error::new(handler.span(), message).into_compile_error());
            continue;
        }
        // The names of `#[tool(name = "…")]` are known to the compiler alone.
        checks.extend(quote_spanned! {handler.span()=>
            const _: () = ::toolhost_guest::expanded::new_name(&[#(#names),*], #name);
        });
        texts.push(text);
        names.push(name);
    }
    checks
}
