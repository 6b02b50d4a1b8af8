//! Parses a function up to its body, which is not looked at.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Ident, ReturnType, Token, Type, Visibility, parenthesized, token};

use crate::argument::Argument;

pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) name: Ident,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) output: ReturnType,
    pub(crate) body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        if input.peek(Token![async]) {
            return Err(input.error("a tool cannot be `async`: nothing else runs in its instance"));
        }
        if !input.peek(Token![fn]) {
            return Err(input.error("`#[tool]` belongs on an ordinary function"));
        }
        input.parse::<Token![fn]>()?;
        let name = input.parse()?;
        if input.peek(Token![<]) {
            return Err(input.error("a tool has no type parameters: its schema needs one type"));
        }
        let list;
        parenthesized!(list in input);
        let arguments = list.parse_terminated(Argument::parse, Token![,])?;
        let output = input.parse()?;
        if let ReturnType::Type(_, ty) = &output
            && let Type::ImplTrait(unnamed) = &**ty
        {
            let message = "name the type that a tool returns: its schema comes from it";
            return Err(syn::Error::new_spanned(unnamed, message));
        }
        if !input.peek(token::Brace) {
            return Err(input.error("expected the body of the function"));
        }
        Ok(Self {
            attributes,
            visibility,
            name,
            arguments: arguments.into_iter().collect(),
            output,
            body: input.parse()?,
        })
    }
}
