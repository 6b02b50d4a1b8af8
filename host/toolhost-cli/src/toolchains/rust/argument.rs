//! Finds the argument or the field that a place in a schema is about.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enums of syn have a variant for all of Rust, and grow with it"
)]

use syn::{Attribute, Expr, Fields, FnArg, Item, Lit, Meta, Pat};

use super::source::{SourceFile, Sources, metas};
use crate::toolchains::build_error::Fault;

/// An argument, or a field of a type.
struct Candidate<'s> {
    file: &'s SourceFile,
    name: String,
    span: proc_macro2::Span,
    has_default: bool,
}

impl<'s> Candidate<'s> {
    fn new(file: &'s SourceFile, attributes: &[Attribute], ident: &syn::Ident) -> Self {
        let renamed = metas(attributes, "serde").iter().find_map(new_name);
        let has_default = ["serde", "tool"].iter().any(|name| {
            let items = metas(attributes, name);
            items.iter().any(|item| item.path().is_ident("default"))
        });
        Self {
            file,
            name: renamed.unwrap_or_else(|| ident.to_string()),
            span: ident.span(),
            has_default,
        }
    }
}

/// Puts a problem with a default in the parameters of an export, at a JSON pointer, at the argument or the field of a type
/// with its name; at the function if there is none.
pub(super) fn place(sources: &Sources, export: &str, pointer: &str, fault: Fault) -> Fault {
    let (before, behind) = pointer.rsplit_once("/properties/").unwrap_or_default();
    let name = plain(behind.split('/').next().unwrap_or_default());
    let is_argument = before.is_empty();
    let mut candidates = Vec::new();
    let mut function = None;
    for (file, tool) in sources.tools() {
        let is_named = metas(&tool.attrs, "tool").iter().find_map(new_name);
        if is_named.map_or_else(|| tool.sig.ident == export, |name| name == export) {
            function = Some((file, tool.sig.ident.span()));
            let arguments = tool.sig.inputs.iter().filter(|_| is_argument);
            candidates.extend(arguments.filter_map(|argument| match argument {
                FnArg::Typed(argument) => match &*argument.pat {
                    Pat::Ident(pattern) => {
                        Some(Candidate::new(file, &argument.attrs, &pattern.ident))
                    }
                    _ => None,
                },
                FnArg::Receiver(_) => None,
            }));
        }
    }
    let types = sources.types();
    for (file, item) in types.values() {
        let fields: Vec<&Fields> = match item {
            Item::Struct(it) => vec![&it.fields],
            Item::Enum(it) => it.variants.iter().map(|variant| &variant.fields).collect(),
            _ => continue,
        };
        for field in fields.into_iter().flatten() {
            if let Some(ident) = &field.ident {
                candidates.push(Candidate::new(file, &field.attrs, ident));
            }
        }
    }
    candidates.retain(|candidate| plain(&candidate.name) == name);
    let best = candidates.iter().find(|candidate| candidate.has_default);
    let best = best.or_else(|| candidates.first());
    let place = best.map(|best| (best.file, best.span)).or(function);
    let Some((file, span)) = place else {
        return fault;
    };
    let placed = file.fault(span, fault.message);
    Fault {
        next: fault.next,
        ..placed
    }
}

/// Returns the text of `rename = "…"` or `name = "…"`.
fn new_name(item: &Meta) -> Option<String> {
    let item = item.require_name_value().ok()?;
    let is_name = item.path.is_ident("rename") || item.path.is_ident("name");
    let Expr::Lit(literal) = &item.value else {
        return None;
    };
    match &literal.lit {
        Lit::Str(text) if is_name => Some(text.value()),
        _ => None,
    }
}

/// A name without what `rename_all` changes.
fn plain(name: &str) -> String {
    let name = name.strip_prefix("r#").unwrap_or(name);
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}
