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
        }
    });
    parameters.collect()
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
}
