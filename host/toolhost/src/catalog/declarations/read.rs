//! Reads JSON Schemas as types.

use std::borrow::Cow;
use std::collections::HashMap;

use indexmap::IndexSet;
use serde_json::Value;
use toolhost_contract::{JsonObject, JsonSchemaObject, ToolCatalogItem, json_pointer};

use super::names::Names;
use super::{Definition, Field, Kind, Object, Others, ToolTypes, Tuple, Type};
use crate::ToolCatalog;

/// Schemas within each other that are read. Those of a tool that was loaded have less.
const DEPTH_MAX: usize = 160;

/// Depth up to which a definition is read where it is first referred to. Below, it waits: definitions may refer to each
/// other without a limit.
const DEFINITION_DEPTH_MAX: usize = 32;

/// Keywords that give a schema a name, or hold schemas for others to refer to.
const OF_REFERENCES: [&str; 6] = [
    "$schema",
    "$id",
    "$anchor",
    "$defs",
    "definitions",
    "$vocabulary",
];

/// Keywords from which the kind of a value is read.
const OF_OBJECTS: [&str; 4] = [
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
];
const OF_ARRAYS: [&str; 3] = ["items", "prefixItems", "additionalItems"];

impl<'c> ToolTypes<'c> {
    /// Returns the types of each tool, in the order of the catalog.
    pub(super) fn of(catalog: &'c ToolCatalog) -> Vec<Self> {
        let mut names = Names::default();
        let items = catalog.items().iter();
        items.map(|item| tool(item, &mut names)).collect()
    }
}

fn tool<'c>(item: &'c ToolCatalogItem, names: &mut Names) -> ToolTypes<'c> {
    let mut definitions = Vec::new();
    let mut read = |schema: &'c JsonSchemaObject, root| {
        let mut reader = Reader {
            root: schema.as_object(),
            root_name: root,
            tool: item.name.as_str(),
            names: &mut *names,
            definitions: &mut definitions,
            indexes: HashMap::new(),
            waiting: Vec::new(),
        };
        reader.whole()
    };
    let parameters = item.parameters.as_ref();
    let parameters = parameters.map(|schema| read(schema, "Input"));
    let output = item.output_schema.as_ref();
    let output = output.map(|schema| read(schema, "Output"));
    ToolTypes {
        item,
        definitions,
        parameters: parameters.unwrap_or_else(any_object),
        output,
    }
}

fn any_object<'c>() -> Type<'c> {
    Type::new(Kind::Object(Object {
        fields: Vec::new(),
        others: Others::Unsaid,
    }))
}

struct Reader<'c, 'd> {
    root: &'c JsonObject,
    /// What a reference to the root is called.
    root_name: &'static str,
    tool: &'c str,
    names: &'d mut Names,
    definitions: &'d mut Vec<Definition<'c>>,
    /// Indexes of definitions by reference.
    indexes: HashMap<&'c str, usize>,
    waiting: Vec<(usize, &'c JsonObject)>,
}

#[derive(Clone, Copy)]
struct At<'o> {
    depth: usize,
    /// Definitions of the same value: a reference to one of them would say that a type is itself.
    open: &'o [usize],
}

impl At<'_> {
    /// Another schema for the same value.
    fn beside(self) -> Self {
        let depth = self.depth + 1;
        Self { depth, ..self }
    }

    /// A schema for a value within it.
    fn inside(self) -> At<'static> {
        let depth = self.depth + 1;
        At { depth, open: &[] }
    }
}

enum Target<'c> {
    Keywords(&'c JsonObject),
    Other(&'c Value),
}

impl<'c> Reader<'c, '_> {
    fn whole(&mut self) -> Type<'c> {
        let at = At {
            depth: 0,
            open: &[],
        };
        let root = self.keywords(self.root, at);
        while let Some((index, keywords)) = self.waiting.pop() {
            self.define(index, keywords, at);
        }
        root
    }

    fn schema(&mut self, schema: &'c Value, at: At<'_>) -> Type<'c> {
        match schema {
            Value::Object(keywords) => self.keywords(keywords, at),
            Value::Bool(false) => Type::new(Kind::Never),
            Value::Bool(true) => Type::new(Kind::Any),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => Type {
                rest: vec![("schema", schema)],
                ..Type::new(Kind::Any)
            },
        }
    }

    fn keywords(&mut self, keywords: &'c JsonObject, at: At<'_>) -> Type<'c> {
        let mut rest = Vec::new();
        if at.depth > DEPTH_MAX {
            rest.extend(keywords.iter().map(|(name, value)| (name.as_str(), value)));
            return Type {
                rest,
                ..Type::new(Kind::Any)
            };
        }
        let mut types = Vec::from_iter(self.own_kind(keywords, at, &mut rest).map(Type::new));
        let is_bare = matches!(types.as_slice(), [Type { kind: Kind::Object(object), .. }] if object.is_any());
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("title" | "description", Value::String(_)) => {}
                ("allOf", Value::Array(schemas)) => {
                    types.extend(schemas.iter().map(|each| self.schema(each, at.beside())));
                }
                ("anyOf" | "oneOf", Value::Array(schemas)) => {
                    let schemas = schemas.iter();
                    types.push(Type::new(Kind::Union {
                        types: schemas.map(|each| self.schema(each, at.beside())).collect(),
                        exclusive: keyword == "oneOf",
                    }));
                }
                ("$ref", Value::String(reference)) => match self.reference(reference, at) {
                    Some(type_) => types.push(type_),
                    None => rest.push((keyword, value)),
                },
                (name, _) if OF_REFERENCES.contains(&name) => {}
                (name, _) if is_of_kind(name) => {}
                _ => rest.push((keyword, value)),
            }
        }
        if is_bare && types.len() > 1 {
            types.remove(0);
        }
        Type {
            kind: all_of(types),
            text: text_of(keywords),
            rest,
            schema: Some(keywords),
        }
    }

    /// Returns the kind that `type`, `enum`, `const` and the keywords of objects and arrays say.
    fn own_kind(
        &mut self,
        keywords: &'c JsonObject,
        at: At<'_>,
        rest: &mut Vec<(&'c str, &'c Value)>,
    ) -> Option<Kind<'c>> {
        let said = |names: &[&str]| names.iter().any(|name| keywords.contains_key(*name));
        let mut kinds: Vec<&str> = match keywords.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if let Some((name, value)) = keywords.get_key_value("type")
            && (kinds.is_empty() || !kinds.iter().all(|kind| simple(kind).is_some()))
        {
            rest.push((name, value));
            kinds.clear();
        }
        if let Some(values) = literals(keywords, rest) {
            let matches =
                |value: &&Value| kinds.is_empty() || kinds.iter().any(|kind| is_of(value, kind));
            keywords.iter().for_each(|(name, value)| {
                if OF_OBJECTS.contains(&name.as_str()) || OF_ARRAYS.contains(&name.as_str()) {
                    rest.push((name, value));
                }
            });
            return Some(Kind::Literals(values.into_iter().filter(matches).collect()));
        }
        if kinds.is_empty() {
            kinds.extend(said(&OF_OBJECTS).then_some("object"));
            kinds.extend(said(&OF_ARRAYS).then_some("array"));
        }
        for (of, kind) in [(&OF_OBJECTS[..], "object"), (&OF_ARRAYS[..], "array")] {
            if !kinds.contains(&kind) {
                let unused = keywords
                    .iter()
                    .filter(|(name, _)| of.contains(&name.as_str()));
                rest.extend(unused.map(|(name, value)| (name.as_str(), value)));
            }
        }
        let kinds = kinds.into_iter().map(|kind| match kind {
            "object" => self.object(keywords, at, rest),
            "array" => self.array(keywords, at),
            kind => simple(kind).unwrap_or(Kind::Any),
        });
        let mut kinds: Vec<_> = kinds.collect();
        if kinds.len() < 2 {
            return kinds.pop();
        }
        Some(Kind::Union {
            types: kinds.into_iter().map(Type::new).collect(),
            exclusive: false,
        })
    }

    fn object(
        &mut self,
        keywords: &'c JsonObject,
        at: At<'_>,
        rest: &mut Vec<(&'c str, &'c Value)>,
    ) -> Kind<'c> {
        let list = |name| keywords.get(name).and_then(Value::as_array);
        let map = |name| keywords.get(name).and_then(Value::as_object);
        let required = list("required").into_iter().flatten();
        let mut required: IndexSet<&str> = required.filter_map(Value::as_str).collect();
        let properties = map("properties").into_iter().flatten();
        let mut fields: Vec<_> = properties
            .map(|(name, schema)| Field {
                name,
                type_: self.schema(schema, at.inside()),
                required: required.contains(name.as_str()),
            })
            .collect();
        fields.iter().for_each(|field| {
            required.swap_remove(field.name);
        });
        fields.extend(required.into_iter().map(|name| Field {
            name,
            type_: Type::new(Kind::Any),
            required: true,
        }));
        let mut others = match keywords.get_key_value("additionalProperties") {
            None => Others::Unsaid,
            Some((_, Value::Bool(false))) => Others::Refused,
            Some((name, schema)) => {
                let type_ = self.schema(schema, at.inside());
                if !fields.is_empty() && type_.kind != Kind::Any {
                    rest.push((name, schema));
                }
                Others::Of(Box::new(type_))
            }
        };
        if let Some((name, patterns)) = keywords.get_key_value("patternProperties") {
            rest.push((name, patterns));
            let mut schemas = map(name).into_iter().flatten().map(|(_, schema)| schema);
            others = match (schemas.next(), schemas.next(), others) {
                (Some(one), None, Others::Unsaid | Others::Refused) if fields.is_empty() => {
                    Others::Of(Box::new(self.schema(one, at.inside())))
                }
                (_, _, Others::Refused) => Others::Of(Box::new(Type::new(Kind::Any))),
                (_, _, others) => others,
            };
        }
        Kind::Object(Object { fields, others })
    }

    fn array(&mut self, keywords: &'c JsonObject, at: At<'_>) -> Kind<'c> {
        let items = keywords.get("items");
        let (prefix, others) = match (keywords.get("prefixItems"), items) {
            (Some(Value::Array(prefix)), _) => (prefix, items),
            // Before 2020-12.
            (_, Some(Value::Array(prefix))) => (prefix, keywords.get("additionalItems")),
            _ => {
                let item = items.map(|items| self.schema(items, at.inside()));
                return Kind::Array(Box::new(item.unwrap_or(Type::new(Kind::Any))));
            }
        };
        let items = prefix.iter().map(|item| self.schema(item, at.inside()));
        let items: Vec<_> = items.collect();
        let least = keywords.get("minItems").and_then(Value::as_u64);
        let least = usize::try_from(least.unwrap_or(0)).unwrap_or(usize::MAX);
        let others = match others {
            Some(Value::Bool(false)) => None,
            Some(schema) => Some(Box::new(self.schema(schema, at.inside()))),
            None => Some(Box::new(Type::new(Kind::Any))),
        };
        Kind::Tuple(Tuple {
            required: least.min(items.len()),
            items,
            others,
        })
    }

    /// Returns the type of a reference; `None` if it leads nowhere, out of the schema, or to itself.
    fn reference(&mut self, reference: &'c str, at: At<'_>) -> Option<Type<'c>> {
        if let Some(index) = self.indexes.get(reference) {
            let is_open = at.open.contains(index);
            return (!is_open).then(|| Type::new(Kind::Definition(*index)));
        }
        let keywords = match self.target(reference)? {
            Target::Keywords(keywords) => keywords,
            Target::Other(schema) => return Some(self.schema(schema, at.beside())),
        };
        let index = self.definitions.len();
        self.indexes.insert(reference, index);
        let name = self.names.next(self.tool, self.root_name, reference);
        self.definitions.push(Definition {
            name,
            reference,
            type_: Type::new(Kind::Any),
        });
        if at.depth < DEFINITION_DEPTH_MAX {
            let open = [at.open, &[index]].concat();
            let at = At { open: &open, ..at };
            self.define(index, keywords, at.beside());
        } else {
            self.waiting.push((index, keywords));
        }
        Some(Type::new(Kind::Definition(index)))
    }

    fn define(&mut self, index: usize, keywords: &'c JsonObject, at: At<'_>) {
        let type_ = self.keywords(keywords, at);
        if let Some(definition) = self.definitions.get_mut(index) {
            definition.type_ = type_;
        }
    }

    fn target(&self, reference: &str) -> Option<Target<'c>> {
        let place = reference.strip_prefix('#')?;
        if place.is_empty() {
            return Some(Target::Keywords(self.root));
        }
        let target = if let Some(path) = place.strip_prefix('/') {
            let (first, rest) = path.split_once('/').map_or((path, ""), |(first, _)| {
                (first, path.strip_prefix(first).unwrap_or_default())
            });
            let first = json_pointer::unescape(first);
            let member = self.root.get(&first);
            member.and_then(|member| member.pointer(rest))?
        } else {
            let definitions = ["$defs", "definitions"].into_iter();
            let definitions = definitions.filter_map(|name| self.root.get(name)?.as_object());
            let is_named =
                |schema: &&Value| schema.get("$anchor").is_some_and(|name| name == place);
            definitions.flat_map(JsonObject::values).find(is_named)?
        };
        Some(
            target
                .as_object()
                .map_or(Target::Other(target), Target::Keywords),
        )
    }
}

impl Object<'_> {
    /// Returns whether it accepts any object.
    pub(super) fn is_any(&self) -> bool {
        self.fields.is_empty() && self.others == Others::Unsaid
    }
}

fn is_of_kind(keyword: &str) -> bool {
    matches!(keyword, "type" | "enum" | "const")
        || OF_OBJECTS.contains(&keyword)
        || OF_ARRAYS.contains(&keyword)
}

fn simple<'c>(kind: &str) -> Option<Kind<'c>> {
    Some(match kind {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "string" => Kind::String,
        // Of their own keywords.
        "object" | "array" => Kind::Any,
        _ => return None,
    })
}

fn is_of(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => {
            kind == "number"
                || kind == "integer" && number.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

/// Returns the values of `const` or `enum`.
fn literals<'c>(
    keywords: &'c JsonObject,
    rest: &mut Vec<(&'c str, &'c Value)>,
) -> Option<Vec<&'c Value>> {
    let values = keywords.get_key_value("enum");
    if let Some(one) = keywords.get("const") {
        rest.extend(values.map(|(name, values)| (name.as_str(), values)));
        return Some(vec![one]);
    }
    let (name, values) = values?;
    let Value::Array(values) = values else {
        rest.push((name, values));
        return None;
    };
    Some(values.iter().collect())
}

fn all_of(mut types: Vec<Type<'_>>) -> Kind<'_> {
    match types.pop() {
        None => Kind::Any,
        // Without a comment of its own.
        Some(only) if types.is_empty() && only.text.is_none() && only.rest.is_empty() => only.kind,
        Some(last) => {
            types.push(last);
            Kind::Intersection(types)
        }
    }
}

fn text_of(keywords: &JsonObject) -> Option<Cow<'_, str>> {
    let text = |name| {
        keywords
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
    };
    match (text("title"), text("description")) {
        (Some(title), Some(description)) => Some(Cow::Owned(format!("{title}\n{description}"))),
        (title, description) => title.or(description).map(Cow::Borrowed),
    }
}
