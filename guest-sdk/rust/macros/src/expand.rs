//! Writes the function as it was, a type of the same name, and what `handlers!` asks of that type.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Ident, LitStr, ReturnType};

use crate::argument::Argument;
use crate::attributes::{self, DefaultValue, FunctionOptions, doc_lines};
use crate::function::Function;

pub(crate) fn expand(options: &FunctionOptions, function: &Function) -> syn::Result<TokenStream> {
    let Function {
        attributes,
        visibility,
        name,
        arguments,
        output,
        body,
    } = function;
    let handler = match &options.name {
        Some(name) => name.clone(),
        None => attributes::name_of(name)?,
    };
    let input = Input::of(arguments)?;
    let (definition, input_type) = (&input.definition, &input.ty);
    let passed = arguments.iter().map(|argument| input.pass(argument));
    let description = description(options, function);
    let returned = match output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => quote!(#ty),
    };
    let listed = arguments.iter().map(|argument| {
        let Argument {
            kept, pattern, ty, ..
        } = argument;
        quote!(#(#kept)* #pattern: #ty)
    });
    // What rustc says of the function, it says at its name, and not at the attribute.
    let keyword = quote_spanned!(name.span()=> fn);
    Ok(quote! {
        #(#attributes)*
        #visibility #keyword #name(#(#listed),*) #output #body

        // A name for types: it is where the function is, and is imported and renamed along with it.
        #[doc(hidden)]
        #[allow(non_camel_case_types, reason = "it has the name of the function")]
        #visibility struct #name {}

        const _: () = {
            #definition

            impl ::toolhost_guest::expanded::Tool for #name {
                const NAME: &'static str = #handler;

                fn handler() -> ::toolhost_guest::Handler {
                    #[allow(unused_imports, reason = "only for what is not a `Result`")]
                    use ::toolhost_guest::expanded::ReturnedValue as _;

                    ::toolhost_guest::expanded::describe::<#input_type>(
                        #handler,
                        #description,
                        <::toolhost_guest::expanded::Returned<#returned>>::output_schema,
                    )
                }

                fn call(
                    __context: &::toolhost_guest::Context,
                    __input: &str,
                ) -> ::toolhost_guest::expanded::Answer {
                    #[allow(unused_imports, reason = "only for what is not a `Result`")]
                    use ::toolhost_guest::expanded::ReturnedValue as _;

                    let __input: #input_type = ::toolhost_guest::expanded::parse(__input)?;
                    let _ = (__context, &__input);
                    ::toolhost_guest::expanded::Returned(#name(#(#passed),*)).answer()
                }
            }
        };
    })
}

/// The lines of the doc comment, or the text of the attribute.
fn description(options: &FunctionOptions, function: &Function) -> TokenStream {
    if let Some(text) = &options.description {
        return quote!(#text);
    }
    let lines = doc_lines(&function.attributes);
    quote!(::core::concat!("" #(, #lines, "\n")*))
}

/// The type that the model's arguments are read into.
struct Input {
    /// Its definition, where the macro makes it.
    definition: TokenStream,
    ty: TokenStream,
    is_whole: bool,
}

impl Input {
    fn of(arguments: &[Argument]) -> syn::Result<Self> {
        let arguments: Vec<&Argument> = arguments.iter().filter(|it| !it.is_context()).collect();
        match arguments.as_slice() {
            [only] if only.is_input() => Self::whole(only),
            arguments => Self::fields(arguments),
        }
    }

    /// One argument that stands for all: its type says everything.
    fn whole(argument: &Argument) -> syn::Result<Self> {
        if let Some(attribute) = argument.field.first() {
            let message =
                "this argument is the whole input: what the model reads of it stands at its type";
            return Err(syn::Error::new_spanned(attribute, message));
        }
        if argument.default.is_some() {
            return Err(syn::Error::new(
                attributes::span_of(&argument.pattern),
                "this argument is the whole input, and has no default: fields of its type may have one",
            ));
        }
        Ok(Self {
            definition: TokenStream::new(),
            ty: argument.field_type(),
            is_whole: true,
        })
    }

    /// A structure with a field for each argument.
    fn fields(arguments: &[&Argument]) -> syn::Result<Self> {
        let (mut fields, mut defaults) = (Vec::new(), Vec::new());
        for argument in arguments {
            let Some(name) = &argument.name else {
                return Err(syn::Error::new(
                    attributes::span_of(&argument.pattern),
                    "give this argument a name: the model calls it by that",
                ));
            };
            let (attributes, ty) = (&argument.field, argument.field_type());
            let default = argument.default.as_ref().map(|default| match default {
                DefaultValue::OfType => quote!(#[serde(default)]),
                DefaultValue::Expression(value, is_text) => {
                    let function = default_function(name);
                    defaults.push(if *is_text {
                        quote!(fn #function() -> #ty { ::core::convert::Into::into(#value) })
                    } else {
                        quote!(fn #function() -> #ty { #value })
                    });
                    let path = format!("__Arguments::{function}");
                    let path = LitStr::new(&path, name.span());
                    quote!(#[serde(default = #path)])
                }
            });
            fields.push(quote!(#(#attributes)* #default #name: #ty));
        }
        let definition = quote! {
            #[derive(::toolhost_guest::serde::Deserialize, ::toolhost_guest::schemars::JsonSchema)]
            #[serde(crate = "::toolhost_guest::serde", deny_unknown_fields)]
            #[schemars(crate = "::toolhost_guest::schemars")]
            struct __Arguments {
                #(#fields,)*
            }

            impl __Arguments {
                #(#defaults)*
            }
        };
        Ok(Self {
            definition,
            ty: quote!(__Arguments),
            is_whole: false,
        })
    }

    /// Returns the expression that passes an argument.
    fn pass(&self, argument: &Argument) -> TokenStream {
        if argument.is_context() {
            quote!(__context)
        } else if self.is_whole {
            argument.pass(&quote!(__input))
        } else {
            let name = &argument.name;
            argument.pass(&quote!(__input.#name))
        }
    }
}

fn default_function(argument: &Ident) -> Ident {
    format_ident!("default_{}", attributes::plain(argument))
}
