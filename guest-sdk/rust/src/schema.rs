//! JSON Schema of Rust types: what `schemars` makes, in the words that the APIs of model providers take.

use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::{RecursiveTransform, ReplaceBoolSchemas, Transform as _};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use crate::text;

/// Moments without a zone, which no standard `format` names.
const DATE_TIME: &str = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?$";
const TIME: &str = r"^\d{2}:\d{2}:\d{2}(\.\d+)?$";

/// What a schema is that everything fits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anything {
    /// An input always is one.
    IsAnObject,
    IsNoObject,
}

/// Returns the schema of what serde reads or writes. A type stands where it is used; only one that contains itself is a
/// definition.
pub(crate) fn of<T: JsonSchema>(contract: Contract) -> Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    settings.contract = contract;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    finish(schema, &T::schema_name())
}

/// The part that is the same for all types, and therefore compiled once.
fn finish(mut schema: Schema, name: &str) -> Schema {
    // A type without a title gets its name.
    if schema.get("title").and_then(Value::as_str) == Some(name) {
        schema.remove("title");
    }
    let mut bools = ReplaceBoolSchemas::default();
    bools.skip_additional_properties = true;
    bools.transform(&mut schema);
    RecursiveTransform(tidy).transform(&mut schema);
    schema
}

fn tidy(schema: &mut Schema) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = text::description(description);
    }
    // Variants of an enum exclude each other, and providers take `anyOf`.
    if !schema.contains_key("anyOf")
        && let Some(variants) = schema.shift_remove("oneOf")
    {
        schema.insert("anyOf".into(), variants);
    }
    replace_format(schema);
}

/// Replaces the names of Rust's numbers by bounds, and those of chrono's types without a zone by patterns.
fn replace_format(schema: &mut Map<String, Value>) {
    let Some(Value::String(format)) = schema.get("format") else {
        return;
    };
    let added: &[(&str, Value)] = match format.as_str() {
        "int32" => &[("minimum", i32::MIN.into()), ("maximum", i32::MAX.into())],
        "uint32" => &[("maximum", u32::MAX.into())],
        // They have their bounds, or every integer that JSON can hold exactly is one.
        "int8" | "int16" | "int64" | "int128" | "int" | "uint8" | "uint16" | "uint64"
        | "uint128" | "uint" | "float" | "double" => &[],
        "partial-date-time" => &[("pattern", DATE_TIME.into())],
        "partial-time" => &[("pattern", TIME.into())],
        _ => return,
    };
    schema.shift_remove("format");
    for (key, value) in added {
        // The author's own are narrower.
        schema.entry(*key).or_insert_with(|| value.clone());
    }
}

/// Returns a schema that only objects fit as one that says so, and `None` if other values fit.
pub(crate) fn as_object(mut schema: Schema, anything: Anything) -> Option<Value> {
    let schema = std::mem::take(schema.ensure_object());
    if schema.contains_key("type") {
        return is_object(&schema).then_some(schema.into());
    }
    let is_anything = schema
        .keys()
        .all(|key| ["title", "description"].contains(&key.as_str()));
    let counts = is_object(&schema) || (is_anything && anything == Anything::IsAnObject);
    counts.then(|| {
        let mut object = Map::new();
        object.insert("type".into(), "object".into());
        object.extend(schema);
        object.into()
    })
}

fn is_object(schema: &Map<String, Value>) -> bool {
    if let Some(kind) = schema.get("type") {
        return kind == "object";
    }
    let alternatives = schema.get("anyOf").and_then(Value::as_array);
    alternatives.is_some_and(|alternatives| {
        let mut objects = alternatives.iter().map(Value::as_object);
        objects.all(|it| it.is_some_and(is_object))
    })
}

#[cfg(test)]
mod tests {
    use schemars::json_schema;

    use super::{DATE_TIME, TIME, tidy};

    #[test]
    fn names_of_rust_are_bounds_or_patterns_and_standard_formats_stay() {
        for (made, expected) in [
            (
                json_schema!({"type": "integer", "format": "uint32", "minimum": 1}),
                json_schema!({"type": "integer", "minimum": 1, "maximum": u32::MAX}),
            ),
            (
                json_schema!({"type": "integer", "format": "int32", "maximum": 9}),
                json_schema!({"type": "integer", "minimum": i32::MIN, "maximum": 9}),
            ),
            (
                json_schema!({"type": "number", "format": "double"}),
                json_schema!({"type": "number"}),
            ),
            (
                json_schema!({"type": "string", "format": "partial-date-time"}),
                json_schema!({"type": "string", "pattern": DATE_TIME}),
            ),
            (
                json_schema!({"type": "string", "format": "partial-time"}),
                json_schema!({"type": "string", "pattern": TIME}),
            ),
            (
                json_schema!({"type": "string", "format": "date-time"}),
                json_schema!({"type": "string", "format": "date-time"}),
            ),
            (
                json_schema!({"oneOf": [{"const": "a"}], "description": "One\nof."}),
                json_schema!({"anyOf": [{"const": "a"}], "description": "One of."}),
            ),
        ] {
            let mut schema = made;
            tidy(&mut schema);
            assert_eq!(schema, expected);
        }
    }
}
