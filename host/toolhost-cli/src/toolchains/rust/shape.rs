//! What JSON a type is, as far as its name and the sources tell.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enums of syn have a variant for all of Rust, and grow with it"
)]

use std::collections::HashMap;

use syn::{
    Attribute, Fields, GenericArgument, Ident, Item, Path, PathArguments, PathSegment, Type,
};

use super::source::{Placed, metas};

/// Types that are read and written as the type within them.
const WRAPPERS: [&str; 11] = [
    "Option",
    "Box",
    "Rc",
    "Arc",
    "Cow",
    "Cell",
    "RefCell",
    "Mutex",
    "RwLock",
    "Wrapping",
    "Saturating",
];

const TEXTS: [&str; 5] = ["String", "str", "char", "PathBuf", "Path"];

const LISTS: [&str; 7] = [
    "Vec",
    "VecDeque",
    "LinkedList",
    "BTreeSet",
    "HashSet",
    "IndexSet",
    "BinaryHeap",
];

pub(super) const MAPS: [&str; 4] = ["HashMap", "BTreeMap", "IndexMap", "Map"];

/// Most types within each other that are looked through: one may contain itself.
const DEPTH_MAX: usize = 16;

/// What JSON a type is.
#[derive(Clone, Copy)]
pub(super) enum Shape<'t> {
    Text,
    Number,
    Bool,
    /// A list, of this type if it has one.
    List(Option<&'t Type>),
    /// A map, of any names.
    Map,
    /// A structure with named fields.
    Object,
    /// An enum of names.
    Names,
    /// An enum of forms.
    Forms,
    /// `serde_json::Value`.
    Anything,
    Unknown,
}

/// How paths begin to types of the standard library, of JSON and of the sources.
const KNOWN: [&str; 8] = [
    "alloc",
    "core",
    "crate",
    "indexmap",
    "self",
    "serde_json",
    "std",
    "super",
];

/// Returns the last name of a path that may be looked up by it: `a::Value` may be a type of another package.
pub(super) fn known_name(path: &Path) -> Option<&PathSegment> {
    let (first, last) = (path.segments.first()?, path.segments.last()?);
    let is_known = path.segments.len() == 1 || KNOWN.iter().any(|known| first.ident == known);
    is_known.then_some(last)
}

/// The types of the sources by their names.
pub(super) struct Types<'s>(pub(super) HashMap<String, Placed<'s, Item>>);

impl<'s> Types<'s> {
    pub(super) fn get(&self, name: &Ident) -> Option<Placed<'s, Item>> {
        self.0.get(&name.to_string()).copied()
    }

    pub(super) fn shape<'t>(&self, ty: &'t Type) -> Shape<'t>
    where
        's: 't,
    {
        self.shape_within(ty, 0)
    }

    fn shape_within<'t>(&self, ty: &'t Type, depth: usize) -> Shape<'t>
    where
        's: 't,
    {
        if depth > DEPTH_MAX {
            return Shape::Unknown;
        }
        let (name, within) = match ty {
            Type::Array(it) => return Shape::List(Some(&it.elem)),
            Type::Slice(it) => return Shape::List(Some(&it.elem)),
            Type::Tuple(it) if it.elems.len() > 1 => return Shape::List(None),
            Type::Reference(it) => return self.shape_within(&it.elem, depth + 1),
            Type::Paren(it) => return self.shape_within(&it.elem, depth + 1),
            Type::Group(it) => return self.shape_within(&it.elem, depth + 1),
            Type::Path(path) => match known_name(&path.path) {
                Some(last) => (&last.ident, type_arguments(&last.arguments)),
                None => return Shape::Unknown,
            },
            _ => return Shape::Unknown,
        };
        if let Some((_, item)) = self.get(name) {
            return self.shape_of_item(item, depth + 1);
        }
        let text = name.to_string();
        let first = within.first().copied();
        match text.as_str() {
            "bool" => Shape::Bool,
            "Value" => Shape::Anything,
            name if TEXTS.contains(&name) => Shape::Text,
            name if LISTS.contains(&name) => Shape::List(first),
            name if MAPS.contains(&name) => Shape::Map,
            name if is_number(name) => Shape::Number,
            name if WRAPPERS.contains(&name) => {
                first.map_or(Shape::Unknown, |first| self.shape_within(first, depth + 1))
            }
            _ => Shape::Unknown,
        }
    }

    fn shape_of_item<'t>(&self, item: &'t Item, depth: usize) -> Shape<'t>
    where
        's: 't,
    {
        let attributes = match item {
            Item::Type(alias) => return self.shape_within(&alias.ty, depth),
            Item::Struct(it) => &it.attrs,
            Item::Enum(it) => &it.attrs,
            _ => return Shape::Unknown,
        };
        let converts = ["from", "try_from", "into", "with", "schema_with"];
        if !derives(attributes, "JsonSchema")
            || ["serde", "schemars"]
                .iter()
                .any(|name| has_any(attributes, name, &converts))
        {
            return Shape::Unknown;
        }
        match item {
            Item::Enum(it) if it.variants.iter().all(|it| it.fields.is_empty()) => Shape::Names,
            Item::Enum(_) => Shape::Forms,
            Item::Struct(it) => match &it.fields {
                Fields::Named(_) if has_any(attributes, "serde", &["transparent"]) => {
                    Shape::Unknown
                }
                Fields::Named(_) => Shape::Object,
                Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                    let first = fields.unnamed.first();
                    let first = first
                        .filter(|field| field.attrs.iter().all(|it| it.path().is_ident("doc")));
                    first.map_or(Shape::Unknown, |it| self.shape_within(&it.ty, depth))
                }
                Fields::Unnamed(_) => Shape::List(None),
                Fields::Unit => Shape::Unknown,
            },
            _ => Shape::Unknown,
        }
    }
}

fn is_number(name: &str) -> bool {
    let name = name.strip_prefix("NonZero").unwrap_or(name);
    let name = name.strip_prefix("Atomic").unwrap_or(name);
    let name = name.to_ascii_lowercase();
    matches!(
        name.as_str(),
        "i8" | "i16"
            | "i32"
            | "i64"
            | "isize"
            | "u8"
            | "u16"
            | "u32"
            | "u64"
            | "usize"
            | "f32"
            | "f64"
    )
}

/// Returns the types in the brackets behind a name.
pub(super) fn type_arguments(arguments: &PathArguments) -> Vec<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return Vec::new();
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

/// Whether the attributes have `#[derive(NAME)]`, of any crate.
pub(super) fn derives(attributes: &[Attribute], name: &str) -> bool {
    let derived = metas(attributes, "derive");
    derived.iter().any(|derived| {
        let last = derived.path().segments.last();
        last.is_some_and(|last| last.ident == name)
    })
}

/// Whether an attribute has one of these items.
pub(super) fn has_any(attributes: &[Attribute], name: &str, items: &[&str]) -> bool {
    let metas = metas(attributes, name);
    metas
        .iter()
        .any(|meta| items.iter().any(|item| meta.path().is_ident(item)))
}
