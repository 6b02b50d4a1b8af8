//! One argument of a function.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, GenericArgument, Ident, PathArguments, Token, Type};

use crate::attributes::{self, DefaultValue};

/// Attributes that belong to a field of the input, and not to an argument.
const OF_FIELDS: [&str; 5] = ["doc", "serde", "schemars", "validate", "garde"];

/// Names of an argument that stands for the whole input.
const INPUT: [&str; 2] = ["input", "_input"];

pub(crate) struct Argument {
    /// Those that the function keeps.
    pub(crate) kept: Vec<Attribute>,
    /// Those of the field.
    pub(crate) field: Vec<Attribute>,
    pub(crate) default: Option<DefaultValue>,
    pub(crate) pattern: TokenStream,
    /// Its name, unless the pattern is more than a name.
    pub(crate) name: Option<Ident>,
    pub(crate) ty: Type,
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (mut kept, mut field, mut default) = (Vec::new(), Vec::new(), None);
        for attribute in input.call(Attribute::parse_outer)? {
            if attribute.path().is_ident("tool") {
                default = Some(attributes::default_value(&attribute)?);
            } else if OF_FIELDS.iter().any(|name| attribute.path().is_ident(name)) {
                field.push(attribute);
            } else {
                kept.push(attribute);
            }
        }
        let pattern = pattern(input)?;
        input.parse::<Token![:]>()?;
        let mut ty: Type = input.parse()?;
        // A type from a `macro_rules!`.
        while let Type::Group(group) = ty {
            ty = *group.elem;
        }
        if let Type::Reference(reference) = &ty
            && let Some(mutable) = reference.mutability
        {
            let message = "an argument of a tool comes from the model: take it as `&T` or `T`";
            return Err(syn::Error::new(mutable.span, message));
        }
        Ok(Self {
            kept,
            field,
            default,
            name: name_in(&pattern),
            pattern,
            ty,
        })
    }
}

/// Parses a pattern: everything up to `:`, but not `::`.
fn pattern(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut pattern = TokenStream::new();
    while !input.peek(Token![:]) || input.peek(Token![::]) {
        if input.is_empty() || input.peek(Token![,]) {
            return Err(syn::Error::new(
                attributes::span_of(&pattern),
                "a tool is a function with arguments of the form `name: Type`, not a method",
            ));
        }
        let count = if input.peek(Token![::]) { 2 } else { 1 };
        for _ in 0..count {
            pattern.extend([input.parse::<TokenTree>()?]);
        }
    }
    Ok(pattern)
}

/// Returns the name in `name` and `mut name`.
fn name_in(pattern: &TokenStream) -> Option<Ident> {
    let mut tokens = pattern.clone().into_iter().peekable();
    tokens.next_if(|token| matches!(token, TokenTree::Ident(it) if it == "mut"));
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Ident(name)), None) if name != "_" => Some(name),
        _ => None,
    }
}

impl Argument {
    /// Whether it is `&Context`.
    pub(crate) fn is_context(&self) -> bool {
        matches!(&self.ty, Type::Reference(it) if is_named(&it.elem, "Context"))
    }

    /// Whether it stands for the whole input where it is the only one: it is called `input`, or taken apart by a pattern.
    pub(crate) fn is_input(&self) -> bool {
        self.name
            .as_ref()
            .is_none_or(|name| INPUT.iter().any(|input| name == input))
    }

    /// Returns the type of its field, which owns what the function borrows.
    pub(crate) fn field_type(&self) -> TokenStream {
        if let Type::Reference(reference) = &self.ty {
            return owned(&reference.elem);
        }
        match self.borrowed_in_option() {
            Some(borrowed) => {
                let owned = owned(borrowed);
                quote!(::core::option::Option<#owned>)
            }
            None => {
                let ty = &self.ty;
                quote!(#ty)
            }
        }
    }

    /// Returns the expression that passes a field, or the whole input, to the function.
    pub(crate) fn pass(&self, place: &TokenStream) -> TokenStream {
        if matches!(self.ty, Type::Reference(_)) {
            quote!(&#place)
        } else if self.borrowed_in_option().is_some() {
            quote!(#place.as_ref().map(::std::borrow::Borrow::borrow))
        } else {
            place.clone()
        }
    }

    /// Returns `T` of `Option<&T>`.
    fn borrowed_in_option(&self) -> Option<&Type> {
        let Type::Path(path) = &self.ty else {
            return None;
        };
        let last = path.path.segments.last()?;
        let PathArguments::AngleBracketed(arguments) = &last.arguments else {
            return None;
        };
        match arguments.args.first()? {
            GenericArgument::Type(Type::Reference(reference)) if last.ident == "Option" => {
                Some(&*reference.elem)
            }
            _ => None,
        }
    }
}

/// Returns what serde reads a borrowed type into: `String` for `str`, and the type itself if it is not one of those
/// that are only borrowed.
fn owned(borrowed: &Type) -> TokenStream {
    let is_only_borrowed = matches!(borrowed, Type::Slice(_))
        || ["str", "Path"].iter().any(|name| is_named(borrowed, name));
    if is_only_borrowed {
        quote!(<#borrowed as ::std::borrow::ToOwned>::Owned)
    } else {
        quote!(#borrowed)
    }
}

fn is_named(ty: &Type, name: &str) -> bool {
    let Type::Path(path) = ty else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|segment| segment.ident == name)
}
