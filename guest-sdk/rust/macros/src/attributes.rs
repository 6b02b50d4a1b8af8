//! What stands in the brackets of `#[tool(…)]`, on a function and on an argument.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Ident, LitStr, Token};

/// `#[tool(name = "…", description = "…")]` on a function.
#[derive(Default)]
pub(crate) struct FunctionOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
}

impl Parse for FunctionOptions {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let value: LitStr = input.parse()?;
            match key.to_string().as_str() {
                "name" => options.name = Some(check_name(value)?),
                "description" => options.description = Some(value),
                _ => {
                    let message = "expected `name` or `description`";
                    return Err(syn::Error::new(key.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn check_name(name: LitStr) -> syn::Result<LitStr> {
    match name_fault(&name.value()) {
        None => Ok(name),
        Some(fault) => Err(syn::Error::new(name.span(), fault)),
    }
}

/// Returns the name of a handler, which is that of its function.
pub(crate) fn name_of(function: &Ident) -> syn::Result<LitStr> {
    let name = plain(function);
    match name_fault(&name) {
        None => Ok(LitStr::new(&name, function.span())),
        Some(fault) => Err(syn::Error::new(
            function.span(),
            format!("{fault}; `#[tool(name = \"…\")]` gives the handler another name"),
        )),
    }
}

/// The rule of the contract.
fn name_fault(name: &str) -> Option<&'static str> {
    let is_allowed = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
    };
    let starts = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let fits = starts && name.bytes().all(is_allowed) && !name.contains("__");
    (!fits).then_some(
        "the name of a handler has lower-case letters, digits, `_` and `-`, without `__`, and starts with a letter \
         or a digit",
    )
}

/// Returns an identifier without `r#`.
pub(crate) fn plain(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

/// The default of an argument.
pub(crate) enum DefaultValue {
    /// `#[tool(default)]`: that of its type.
    OfType,
    /// `#[tool(default = 10)]`: an expression, and whether it is a string literal.
    Expression(TokenStream, bool),
}

/// Parses `#[tool(default)]` and `#[tool(default = EXPRESSION)]`.
pub(crate) fn default_value(attribute: &Attribute) -> syn::Result<DefaultValue> {
    attribute.parse_args_with(|input: ParseStream<'_>| {
        let key: Ident = input.parse()?;
        if key != "default" {
            return Err(syn::Error::new(
                key.span(),
                "expected `default` or `default = …`",
            ));
        }
        if input.is_empty() {
            return Ok(DefaultValue::OfType);
        }
        input.parse::<Token![=]>()?;
        let is_text = input.peek(LitStr);
        let expression: TokenStream = input.parse()?;
        let is_text = is_text && expression.clone().into_iter().count() == 1;
        if expression.is_empty() {
            return Err(syn::Error::new(key.span(), "`default =` needs a value"));
        }
        Ok(DefaultValue::Expression(expression, is_text))
    })
}

/// Returns the values of the doc comments among attributes, one for each line.
pub(crate) fn doc_lines(attributes: &[Attribute]) -> Vec<TokenStream> {
    let docs = attributes.iter().filter(|it| it.path().is_ident("doc"));
    docs.filter_map(|doc| doc.meta.require_name_value().ok())
        .map(|doc| doc.value.to_token_stream())
        .collect()
}

/// Returns where tokens begin.
pub(crate) fn span_of(tokens: &TokenStream) -> Span {
    let first = tokens.clone().into_iter().next();
    first.as_ref().map_or_else(Span::call_site, TokenTree::span)
}
