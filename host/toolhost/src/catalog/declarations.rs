//! Types of a catalog's tools, for declarations in a programming language.
//!
//! A JSON Schema becomes a small tree of types. Keywords that no type expresses stay with the type they are of, for its
//! comment: nothing is dropped.

mod json;
mod names;
mod python;
mod read;
mod typescript;

use std::borrow::Cow;

use serde_json::Value;
use toolhost_contract::{JsonObject, ToolCatalogItem};

use super::descriptions::bound_text;
pub(super) use json::compact;

/// The types of one tool.
pub(super) struct ToolTypes<'c> {
    pub(super) item: &'c ToolCatalogItem,
    /// Types that others refer to by index.
    pub(super) definitions: Vec<Definition<'c>>,
    /// An object, in most cases.
    pub(super) parameters: Type<'c>,
    pub(super) output: Option<Type<'c>>,
}

/// A type with a name, which may contain itself.
pub(super) struct Definition<'c> {
    /// A CamelCase identifier of ASCII letters and digits, unique in the catalog.
    pub(super) name: String,
    /// Where it is in the schema: `#/$defs/Node`.
    pub(super) reference: &'c str,
    pub(super) type_: Type<'c>,
}

/// The values that a schema accepts, and what it says about them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Type<'c> {
    pub(super) kind: Kind<'c>,
    /// The title and the description.
    pub(super) text: Option<Cow<'c, str>>,
    /// Keywords that `kind` does not express, such as `default`, `minimum`, `pattern` and `not`.
    pub(super) rest: Vec<(&'c str, &'c Value)>,
    /// The schema that it was read from.
    pub(super) schema: Option<&'c JsonObject>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind<'c> {
    Any,
    Never,
    Null,
    Boolean,
    Integer,
    Number,
    String,
    /// One of these values: `const` and `enum`.
    Literals(Vec<&'c Value>),
    Array(Box<Type<'c>>),
    Tuple(Tuple<'c>),
    Object(Object<'c>),
    /// One of these types; `exclusive`: exactly one of them.
    Union {
        types: Vec<Type<'c>>,
        exclusive: bool,
    },
    /// All of these types, perhaps only one.
    Intersection(Vec<Type<'c>>),
    /// The definition of this index.
    Definition(usize),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tuple<'c> {
    pub(super) items: Vec<Type<'c>>,
    /// How many of the items must be there.
    pub(super) required: usize,
    /// The type of the items after these; `None` if there are none.
    pub(super) others: Option<Box<Type<'c>>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Object<'c> {
    pub(super) fields: Vec<Field<'c>>,
    pub(super) others: Others<'c>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field<'c> {
    pub(super) name: &'c str,
    pub(super) type_: Type<'c>,
    pub(super) required: bool,
}

/// The fields of an object that have no names of their own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Others<'c> {
    /// The schema says nothing about them, and accepts any.
    Unsaid,
    Refused,
    /// Each is of this type. Where there are named fields too, the schema is also in [`Type::rest`].
    Of(Box<Type<'c>>),
}

impl<'c> Type<'c> {
    pub(super) fn new(kind: Kind<'c>) -> Self {
        Self {
            kind,
            text: None,
            rest: Vec::new(),
            schema: None,
        }
    }

    /// Returns what the comment of the type says: its text, and a line with the keywords that its kind does not
    /// express: `default: 5; minimum: 1`. The value of a keyword is JSON.
    pub(super) fn comment(&self) -> Option<String> {
        self.comment_without("")
    }

    /// Returns the same without one of the keywords.
    pub(super) fn comment_without(&self, left_out: &str) -> Option<String> {
        let mut lines = Vec::from_iter(self.text.as_deref().map(bounded));
        let keywords = self.rest.iter().filter(|(keyword, _)| *keyword != left_out);
        let mut keywords: Vec<_> = keywords
            .map(|(keyword, value)| format!("{}: {}", keyword_name(keyword), compact(value)))
            .collect();
        if let Kind::Union {
            exclusive: true, ..
        } = self.kind
        {
            keywords.push("oneOf: exactly one of these".to_owned());
        }
        if !keywords.is_empty() {
            lines.push(keywords.join("; "));
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Returns the description of a tool or a type, escaped and cut as all descriptions for a model are.
pub(super) fn bounded(text: &str) -> String {
    let mut text = text.trim().to_owned();
    bound_text(&mut text);
    text
}

/// Returns a keyword as it is if it looks like one, else as JSON.
fn keyword_name(keyword: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '$' | '-' | '_');
    if !keyword.is_empty() && keyword.len() <= 64 && keyword.chars().all(is_plain) {
        Cow::Borrowed(keyword)
    } else {
        Cow::Owned(compact(&Value::from(keyword)))
    }
}

#[cfg(test)]
mod tests;
