//! Finds what the types of tools say to serde and not to their schema, and the other way round: such a tool builds, and
//! some of its calls fail. These are notes: what stands in the sources does not say for sure what is compiled. Types of other packages, and what macros write, are not looked at.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enums of syn have a variant for all of Rust, and grow with it"
)]

use std::collections::HashSet;

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Expr, Fields, FnArg, ItemEnum, ItemFn, Lit, Meta, Pat, ReturnType, Token, Type,
};

use super::shape::{MAPS, Shape, Types, derives, has_any, known_name, type_arguments};
use super::source::{SourceFile, Sources, metas};
use crate::toolchains::build_error::Fault;

/// Items of `#[schemars(…)]` that say what else than its type the schema of a field is.
const REPLACING: [&str; 4] = ["with", "schema_with", "extend", "transform"];

/// Items that serde and schemars both read. One of `#[schemars(…)]` alone changes the schema alone.
const SHARED: [&str; 11] = [
    "rename",
    "rename_all",
    "rename_all_fields",
    "tag",
    "content",
    "untagged",
    "default",
    "flatten",
    "transparent",
    "from",
    "try_from",
];

/// What a type is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Use {
    /// serde reads the arguments into it.
    Read,
    /// serde reads them into it, from a value that it has read before: for `flatten`, `tag` and `untagged`.
    ReadLater,
    /// serde writes the output from it.
    Written,
}

impl Use {
    fn later(self) -> Self {
        match self {
            Self::Read | Self::ReadLater => Self::ReadLater,
            Self::Written => Self::Written,
        }
    }

    fn is_read(self) -> bool {
        self != Self::Written
    }

    /// Whether a field or a variant with these attributes has no part in it.
    fn skips(self, attributes: &[Attribute]) -> bool {
        let in_part = if self.is_read() {
            "skip_deserializing"
        } else {
            "skip_serializing"
        };
        has_any(attributes, "serde", &["skip", in_part])
            || has_any(attributes, "schemars", &["skip"])
    }

    fn derive(self) -> &'static str {
        if self.is_read() {
            "Deserialize"
        } else {
            "Serialize"
        }
    }
}

/// Returns what is wrong with the types of the tools.
pub(super) fn check(sources: &Sources) -> Vec<Fault> {
    let types = Types(sources.types());
    let mut check = Check {
        types: &types,
        seen: HashSet::new(),
        faults: Vec::new(),
    };
    for (file, function) in sources.tools() {
        check.tool(file, function);
    }
    check.faults
}

struct Check<'s> {
    types: &'s Types<'s>,
    /// The types that were looked at, by the places of their names.
    seen: HashSet<(String, Use)>,
    faults: Vec<Fault>,
}

impl Check<'_> {
    fn add(&mut self, file: &SourceFile, span: Span, message: String, next: &str) {
        let fault = file.fault(span, message).next(next);
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    fn tool(&mut self, file: &SourceFile, function: &ItemFn) {
        let arguments = function
            .sig
            .inputs
            .iter()
            .filter_map(|argument| match argument {
                FnArg::Typed(argument) if !is_context(&argument.ty) => Some(argument),
                FnArg::Typed(_) | FnArg::Receiver(_) => None,
            });
        let arguments: Vec<_> = arguments.collect();
        match arguments.as_slice() {
            [whole] if is_whole(&whole.pat) => {
                if matches!(
                    self.types.shape(&whole.ty),
                    Shape::Text | Shape::Number | Shape::Bool | Shape::List(_) | Shape::Names
                ) {
                    let shown = text(&whole.ty);
                    let message =
                        format!("the input of a tool is an object, and `{shown}` is none");
                    let next = "Give the argument another name than `input`, and it is one of the arguments.";
                    self.add(file, whole.span(), message, next);
                }
                self.ty(file, &whole.ty, Use::Read);
            }
            arguments => {
                for argument in arguments {
                    self.field(file, &argument.attrs, &argument.ty, Use::Read, true);
                }
            }
        }
        if let ReturnType::Type(_, ty) = &function.sig.output {
            self.ty(file, ty, Use::Written);
        }
    }

    /// Checks a field or an argument. `denies` tells whether unknown names beside it are refused.
    fn field(
        &mut self,
        file: &SourceFile,
        attributes: &[Attribute],
        ty: &Type,
        of: Use,
        denies: bool,
    ) {
        if of.skips(attributes) {
            return;
        }
        let in_schema = metas(attributes, "schemars");
        let replaced = in_schema.iter().any(|item| is_any(item, &REPLACING));
        self.serde(file, attributes, of, replaced);
        let has = |names: &[&str]| in_schema.iter().any(|item| is_any(item, names));
        let with = in_schema.iter().find_map(with);
        if !has(&["schema_with", "transform"]) {
            self.bounds(file, &in_schema, with.as_ref().unwrap_or(ty));
        }
        if has(&["with", "schema_with"]) {
            return;
        }
        let flattened = metas(attributes, "serde");
        let Some(flattened) = flattened.iter().find(|item| is_any(item, &["flatten"])) else {
            return self.ty(file, ty, of);
        };
        if of.is_read() && denies && matches!(self.types.shape(ty), Shape::Map | Shape::Anything) {
            let message = format!(
                "`{}` gets no values: unknown names are refused here",
                text(ty)
            );
            let next = "Take a map as an argument of its own; or take all arguments as `input: T`, whose type has no \
                        `deny_unknown_fields`.";
            self.add(file, flattened.span(), message, next);
        }
        self.ty(file, ty, of.later());
    }

    /// Checks what serde's attributes of a field or a variant do to values that the schema does not say.
    fn serde(&mut self, file: &SourceFile, attributes: &[Attribute], of: Use, replaced: bool) {
        for item in metas(attributes, "serde") {
            let name = item.path().get_ident().map(ToString::to_string);
            let name = name.unwrap_or_default();
            let (message, next) = match name.as_str() {
                "alias" if of.is_read() => (
                    "`alias` never matches: the host refuses names that the schema does not have",
                    "Remove it; `rename` gives the other name in the place of this one.",
                ),
                "other" if of.is_read() => (
                    "`other` never matches: the host refuses values that the schema does not list",
                    "Remove it; take the value as a `String`, if there may be others.",
                ),
                "deserialize_with" if of.is_read() && !replaced => (
                    "the schema has the type of the field, and not what `deserialize_with` reads",
                    "Say what the function reads: `#[schemars(with = \"String\")]`.",
                ),
                "serialize_with" if !of.is_read() && !replaced => (
                    "the schema has the type of the field, and not what `serialize_with` writes",
                    "Say what the function writes: `#[schemars(with = \"String\")]`.",
                ),
                _ => continue,
            };
            self.add(file, item.span(), message.to_owned(), next);
        }
        self.shared(file, attributes);
    }

    /// Refuses items of `#[schemars(…)]` that serde does not have.
    fn shared(&mut self, file: &SourceFile, attributes: &[Attribute]) {
        for item in metas(attributes, "schemars") {
            let Some(name) = SHARED.iter().find(|name| item.path().is_ident(name)) else {
                continue;
            };
            if !has_any(attributes, "serde", &[name]) {
                let message =
                    format!("`{name}` of #[schemars] changes the schema, and not what serde does");
                let next = format!("Write `{name}` into #[serde(…)]: the schema follows it.");
                self.add(file, item.span(), message, &next);
            }
        }
    }

    /// Checks that the bounds of a field apply to its type: schemars drops the others.
    fn bounds(&mut self, file: &SourceFile, items: &[Meta], ty: &Type) {
        let types = self.types;
        let shape = types.shape(ty);
        for item in items {
            let name = item.path().get_ident().map(ToString::to_string);
            let name = name.unwrap_or_default();
            let applies = match name.as_str() {
                "range" => matches!(shape, Shape::Number),
                "length" => matches!(shape, Shape::Text | Shape::List(_)),
                "regex" | "pattern" | "contains" | "email" | "url" | "ip" | "ipv4" | "ipv6" => {
                    matches!(shape, Shape::Text)
                }
                "inner" => {
                    if let (Shape::List(Some(inner)), Meta::List(list)) = (shape, item) {
                        let parse =
                            syn::punctuated::Punctuated::<Meta, Token![,]>::parse_terminated;
                        let items = list.parse_args_with(parse).into_iter().flatten();
                        self.bounds(file, &items.collect::<Vec<_>>(), inner);
                    }
                    matches!(shape, Shape::List(Some(_)))
                }
                _ => continue,
            };
            if !applies && !matches!(shape, Shape::Unknown) {
                let message = format!("`{name}` has no effect on `{}`", text(ty));
                let next = "`range` bounds numbers, `length` texts and lists; `regex`, `contains` and the names of formats are \
                            for texts, `inner(…)` for the items of a list.";
                self.add(file, item.span(), message, next);
            }
        }
    }

    fn ty(&mut self, file: &SourceFile, ty: &Type, of: Use) {
        match ty {
            Type::Array(it) => self.ty(file, &it.elem, of),
            Type::Slice(it) => self.ty(file, &it.elem, of),
            Type::Reference(it) => self.ty(file, &it.elem, of),
            Type::Paren(it) => self.ty(file, &it.elem, of),
            Type::Group(it) => self.ty(file, &it.elem, of),
            Type::Tuple(it) => it.elems.iter().for_each(|it| self.ty(file, it, of)),
            Type::Path(path) => {
                let Some(last) = known_name(&path.path) else {
                    return;
                };
                let within = type_arguments(&last.arguments);
                if self.types.get(&last.ident).is_some() {
                    self.item(&last.ident, of);
                } else {
                    self.foreign(file, &last.ident, &within, of);
                }
                within.into_iter().for_each(|it| self.ty(file, it, of));
            }
            _ => {}
        }
    }

    /// Checks a type of another crate.
    fn foreign(&mut self, file: &SourceFile, name: &syn::Ident, within: &[&Type], of: Use) {
        let text_of_name = name.to_string();
        let number = text_of_name
            .strip_prefix("NonZero")
            .unwrap_or(&text_of_name);
        let is_wide = ["u128", "i128"]
            .iter()
            .any(|wide| number.eq_ignore_ascii_case(wide));
        if is_wide && of.is_read() {
            let message = format!("a number of a call has at most 64 bits, and `{name}` has more");
            let next = "Take a `u64` or an `i64`; or a `String`, and parse it.";
            return self.add(file, name.span(), message, next);
        }
        let [key, ..] = within else { return };
        if !MAPS.contains(&text_of_name.as_str()) {
            return;
        }
        let shown = text(key);
        match self.types.shape(key) {
            Shape::List(_) | Shape::Map | Shape::Object | Shape::Forms => {
                let message = format!(
                    "`{shown}` cannot be the key of a map: the keys of a JSON object are texts"
                );
                let next = "Use a text, a number or an enum of names as the key; or a list of pairs, `Vec<(K, V)>`.";
                self.add(file, key.span(), message, next);
            }
            Shape::Number | Shape::Bool if of == Use::ReadLater => {
                let message = format!(
                    "`{shown}` cannot be the key of a map within `flatten`, `tag` or `untagged`: serde reads the keys as texts there"
                );
                self.add(
                    file,
                    key.span(),
                    message,
                    "Use `String` as the key, and parse it.",
                );
            }
            _ => {}
        }
    }

    /// Checks a type of the sources.
    fn item(&mut self, name: &syn::Ident, of: Use) {
        let Some((file, item)) = self.types.get(name) else {
            return;
        };
        if !self.seen.insert((name.to_string(), of)) {
            return;
        }
        let attributes = match item {
            syn::Item::Type(alias) => return self.ty(file, &alias.ty, of),
            syn::Item::Struct(it) => &it.attrs,
            syn::Item::Enum(it) => &it.attrs,
            _ => return,
        };
        // The author has written one of the two by hand.
        if !derives(attributes, "JsonSchema") || !derives(attributes, of.derive()) {
            return;
        }
        if has_any(attributes, "schemars", &["with", "schema_with"]) {
            return;
        }
        self.shared(file, attributes);
        let items = metas(attributes, "serde");
        let converts: &[&str] = if of.is_read() {
            &["from", "try_from"]
        } else {
            &["into"]
        };
        if let Some(other) = items.iter().find(|item| is_any(item, converts)) {
            if let Some(ty) = type_in(other) {
                self.ty(file, &ty, of);
            }
            return;
        }
        let denies = items
            .iter()
            .any(|item| is_any(item, &["deny_unknown_fields"]));
        match item {
            syn::Item::Struct(it) => self.fields(file, &it.fields, of, denies),
            syn::Item::Enum(it) => self.variants(file, it, &items, of, denies),
            _ => {}
        }
    }

    fn fields(&mut self, file: &SourceFile, fields: &Fields, of: Use, denies: bool) {
        for field in fields {
            self.field(file, &field.attrs, &field.ty, of, denies);
        }
    }

    fn variants(
        &mut self,
        file: &SourceFile,
        item: &ItemEnum,
        items: &[Meta],
        of: Use,
        denies: bool,
    ) {
        let has = |names: &[&str]| items.iter().any(|item| is_any(item, names));
        let is_later = has(&["tag", "untagged"]);
        let is_internal = has(&["tag"]) && !has(&["content"]);
        let variants = item.variants.iter();
        for variant in variants.filter(|variant| !of.skips(&variant.attrs)) {
            let in_schema = metas(&variant.attrs, "schemars");
            let replaced = in_schema.iter().any(|item| is_any(item, &REPLACING));
            self.serde(file, &variant.attrs, of, replaced);
            if in_schema
                .iter()
                .any(|item| is_any(item, &["with", "schema_with"]))
            {
                continue;
            }
            let own_untagged = has_any(&variant.attrs, "serde", &["untagged"]);
            let of = if is_later || own_untagged {
                of.later()
            } else {
                of
            };
            self.fields(file, &variant.fields, of, denies);
            let Fields::Unnamed(fields) = &variant.fields else {
                continue;
            };
            let Some(field) = fields
                .unnamed
                .first()
                .filter(|_| is_internal && !own_untagged)
            else {
                continue;
            };
            if matches!(
                self.types.shape(&field.ty),
                Shape::Text | Shape::Number | Shape::Bool | Shape::List(_) | Shape::Names
            ) {
                let message = format!(
                    "`{}` cannot be within an enum with `tag`: only an object has room for the tag",
                    text(&field.ty)
                );
                let next = "Give the field a name, `{ value: T }`, or the enum a `content`.";
                self.add(file, field.ty.span(), message, next);
            }
        }
    }
}

/// Whether it is `&Context`.
fn is_context(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else {
        return false;
    };
    let Type::Path(path) = &*reference.elem else {
        return false;
    };
    path.path
        .segments
        .last()
        .is_some_and(|last| last.ident == "Context")
}

/// Whether an argument stands for the whole input where it is the only one, as `#[tool]` has it.
fn is_whole(pattern: &Pat) -> bool {
    match pattern {
        Pat::Ident(name) => name.ident == "input" || name.ident == "_input",
        _ => true,
    }
}

fn is_any(item: &Meta, names: &[&str]) -> bool {
    names.iter().any(|name| item.path().is_ident(name))
}

/// Returns the type of `with = "T"`.
fn with(item: &Meta) -> Option<Type> {
    is_any(item, &["with"]).then(|| type_in(item)).flatten()
}

fn type_in(item: &Meta) -> Option<Type> {
    let Expr::Lit(literal) = &item.require_name_value().ok()?.value else {
        return None;
    };
    let Lit::Str(text) = &literal.lit else {
        return None;
    };
    text.parse().ok()
}

/// A type as its author wrote it.
fn text(ty: &Type) -> String {
    let text = ty.span().source_text().unwrap_or_default();
    text.trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests;
