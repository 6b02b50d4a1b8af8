//! The properties of an object schema, for a table.

use serde_json::Value;
use toolhost::text::escape_lines;
use toolhost::tool::JsonSchemaObject;

/// Most values of an enumeration in the table.
const VALUES_MAX: usize = 12;

/// A property.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: String,
    /// Such as `string`, `array of string`, `"a" or "b"`.
    pub(super) kind: String,
    pub(super) is_required: bool,
    pub(super) description: String,
    /// Its bounds and its default, such as `1 to 7`, `by default 3`.
    pub(super) rules: Vec<String>,
}

/// Returns the properties that the schema declares at its top, in its order.
pub(super) fn of(schema: &JsonSchemaObject) -> Vec<Parameter> {
    let schema = schema.to_value();
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|names| names.iter().any(|other| other.as_str() == Some(name)))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let parameters = properties.into_iter().flatten().map(|(name, property)| {
        let description = property.get("description").and_then(Value::as_str);
        Parameter {
            name: escape_lines(name),
            kind: escape_lines(&kind(property)),
            is_required: is_required(name),
            description: escape_lines(description.unwrap_or_default()),
            rules: rules(property),
        }
    });
    parameters.collect()
}

/// Returns what a schema says of its values beside their type.
fn rules(schema: &Value) -> Vec<String> {
    let of = |key: &str| schema.get(key).map(Value::to_string);
    let range = |least: &str, most: &str, unit: &str| match (of(least), of(most)) {
        (Some(least), Some(most)) if least == most => Some(format!("{least}{unit}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
        (Some(least), None) => Some(format!("at least {least}{unit}")),
        (None, Some(most)) => Some(format!("at most {most}{unit}")),
        (None, None) => None,
    };
    let one = |key: &str, words: &str| of(key).map(|value| format!("{words} {value}"));
    let text = |key: &str, words: &str| {
        let value = schema.get(key).and_then(Value::as_str);
        value.map(|value| format!("{words} {value}"))
    };
    let rules = [
        range("minimum", "maximum", ""),
        one("exclusiveMinimum", "more than"),
        one("exclusiveMaximum", "less than"),
        one("multipleOf", "a multiple of"),
        range("minLength", "maxLength", " characters"),
        range("minItems", "maxItems", " items"),
        text("format", "format"),
        text("pattern", "pattern"),
        one("default", "by default"),
    ];
    let rules = rules.into_iter().flatten();
    rules.map(|rule| escape_lines(&rule)).collect()
}

fn kind(schema: &Value) -> String {
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let mut texts: Vec<String> = values.iter().map(Value::to_string).collect();
        if texts.len() > VALUES_MAX {
            texts.truncate(VALUES_MAX);
            texts.push("…".to_owned());
        }
        return texts.join(" or ");
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => match schema.get("items") {
            Some(items) => format!("array of {}", kind(items)),
            None => "array".to_owned(),
        },
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        Some(_) | None => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn properties_are_listed_with_their_types_and_whether_they_are_required() {
        let schema = json!({
            "type": "object",
            "required": ["path"],
            "properties": {
                "path": {"type": "string", "description": "The file"},
                "mode": {"enum": ["a", "b"]},
                "names": {"type": "array", "items": {"type": "string"}},
                "value": {"type": ["string", "null"]},
                "anything": {},
                "one": {"const": 1},
            },
        });
        let parameters = of(&JsonSchemaObject::parse(schema).unwrap());
        let rows: Vec<_> = parameters
            .iter()
            .map(|p| (&*p.name, &*p.kind, p.is_required, &*p.description))
            .collect();
        assert_eq!(
            rows,
            [
                ("path", "string", true, "The file"),
                ("mode", r#""a" or "b""#, false, ""),
                ("names", "array of string", false, ""),
                ("value", "string or null", false, ""),
                ("anything", "any", false, ""),
                ("one", "1", false, ""),
            ]
        );
    }

    #[test]
    fn bounds_and_defaults_are_rules() {
        let check = |schema: Value, expected: &[&str]| {
            assert_eq!(rules(&schema), expected, "{schema}");
        };
        check(json!({"type": "string"}), &[]);
        check(
            json!({"type": "integer", "minimum": 1, "maximum": 7, "default": 3}),
            &["1 to 7", "by default 3"],
        );
        check(
            json!({"minLength": 1, "maxItems": 2, "pattern": "^a\u{1b}", "default": "x"}),
            &[
                "at least 1 characters",
                "at most 2 items",
                "pattern ^a\\u{1b}",
                "by default \"x\"",
            ],
        );
        check(
            json!({"exclusiveMinimum": 0, "multipleOf": 0.5, "minItems": 2, "maxItems": 2}),
            &["more than 0", "a multiple of 0.5", "2 items"],
        );
    }
}
