//! Limits and escapes the descriptions that tool authors write for the model.

use serde_json::Value;
use toolhost_contract::{JsonSchemaObject, ToolCatalogItem, text};

/// Longest description of a tool or of a part of its arguments, in bytes.
pub(crate) const DESCRIPTION_MAX_BYTES: usize = 8 << 10;

/// End of a truncated description.
const TRUNCATION_MARK: &str = "… (cut)";

/// Keywords whose texts stay unchanged: arguments are validated against them, or they are names.
const UNCHANGED_KEYWORDS: [&str; 19] = [
    "enum",
    "const",
    "default",
    "examples",
    "pattern",
    "format",
    "type",
    "required",
    "dependentRequired",
    "$ref",
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$schema",
    "$vocabulary",
    "id",
    "contentEncoding",
    "contentMediaType",
];

/// Escapes and truncates the description of a tool and all texts of its schemas, except
/// [`UNCHANGED_KEYWORDS`] and names. Returns whether anything changed.
pub(crate) fn bound(item: &mut ToolCatalogItem) -> bool {
    let mut is_changed = item.description.as_mut().is_some_and(bound_text);
    let schemas = [&mut item.parameters, &mut item.output_schema];
    for schema in schemas.into_iter().flatten() {
        let mut value = schema.to_value();
        if bound_schema(&mut value)
            && let Ok(bounded) = JsonSchemaObject::parse(value)
        {
            *schema = bounded;
            is_changed = true;
        }
    }
    is_changed
}

/// Recurses as deep as the schema, whose depth is limited.
fn bound_schema(schema: &mut Value) -> bool {
    let each = |schemas: &mut dyn Iterator<Item = &mut Value>| {
        schemas.fold(false, |is_changed, schema| {
            bound_schema(schema) | is_changed
        })
    };
    match schema {
        Value::Object(keywords) => {
            let mut is_changed = false;
            for (keyword, value) in keywords {
                is_changed |= match (keyword.as_str(), value) {
                    (keyword, _) if UNCHANGED_KEYWORDS.contains(&keyword) => false,
                    // The keys of these objects are names, not keywords.
                    (
                        "properties" | "patternProperties" | "$defs" | "definitions"
                        | "dependentSchemas",
                        Value::Object(named),
                    ) => each(&mut named.values_mut()),
                    (_, value) => bound_schema(value),
                };
            }
            is_changed
        }
        Value::Array(schemas) => each(&mut schemas.iter_mut()),
        Value::String(text) => bound_text(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

pub(crate) fn bound_text(description: &mut String) -> bool {
    let mut bounded = text::escape_within(description, DESCRIPTION_MAX_BYTES);
    if bounded.len() > DESCRIPTION_MAX_BYTES {
        bounded
            .truncate(bounded.floor_char_boundary(DESCRIPTION_MAX_BYTES - TRUNCATION_MARK.len()));
        bounded.push_str(TRUNCATION_MARK);
    }
    let is_changed = bounded != *description;
    *description = bounded;
    is_changed
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolhost_contract::text::needs_escape;

    use super::*;

    fn item(description: &str, properties: Value) -> ToolCatalogItem {
        let parameters = json!({"type": "object", "properties": properties});
        let item = json!({"name": "a__b", "description": description, "parameters": parameters});
        serde_json::from_value(item).unwrap()
    }

    #[test]
    fn every_description_is_escaped_and_truncated() {
        let escaped: String = ('\0'..=char::MAX).filter(|c| needs_escape(*c)).collect();
        for text in [
            escaped.as_str(),
            &"가".repeat(1 << 15),
            &"\u{e0041}".repeat(1 << 15),
        ] {
            let described = json!({
                "type": "string", "description": text, "title": text, "x-note": [{"deep": text}],
            });
            let mut item = item(
                text,
                json!({
                    "x": described,
                    "default": described,
                    "y": {"anyOf": [{"type": "array", "items": described}]},
                }),
            );
            assert!(bound(&mut item));
            let parameters = item.parameters.as_ref().unwrap().to_value();
            let at = |pointer| parameters.pointer(pointer).unwrap().as_str().unwrap();
            for text in [
                item.description.as_deref().unwrap(),
                at("/properties/x/description"),
                at("/properties/x/title"),
                at("/properties/x/x-note/0/deep"),
                at("/properties/default/description"),
                at("/properties/y/anyOf/0/items/description"),
            ] {
                assert!(text.len() <= DESCRIPTION_MAX_BYTES);
                assert!(!text.contains(|c| c != '\n' && c != '\t' && needs_escape(c)));
            }
        }
    }

    #[test]
    fn keywords_that_arguments_are_checked_against_stay_unchanged() {
        let ends =
            json!({"enum": ["\n", "\r\n"], "default": "\r\n", "description": "two\nlines 가"});
        let before = item("plain\ttext", json!({"ends": ends}));
        let mut after = before.clone();
        assert!(!bound(&mut after));
        assert_eq!(after, before);
    }
}
