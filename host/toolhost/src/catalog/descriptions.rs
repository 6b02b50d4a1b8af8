//! What a tool's author says to the model: bounded, and nothing in it acts.

use serde_json::Value;
use toolhost_contract::{JsonSchemaObject, ToolCatalogItem};

use toolhost_contract::text;

/// Longest description of a tool or of a part of its arguments, in bytes.
pub(crate) const WORDS_MAX: usize = 8 << 10;

/// Stands where a description was cut.
const CUT: &str = "… (cut)";

/// Keywords whose texts stay: arguments must fit them, or are made of them, or they name something.
const FITTED: [&str; 19] = [
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

/// Escapes and cuts the description of a tool and all words of its parameters; says whether there was
/// anything to do. Names, `enum` and the like stay: arguments must fit them.
pub(crate) fn bound(item: &mut ToolCatalogItem) -> bool {
    let mut is_changed = item.description.as_mut().is_some_and(bound_text);
    if let Some(parameters) = &mut item.parameters {
        let mut schema = parameters.to_value();
        if bound_schema(&mut schema)
            && let Ok(bounded) = JsonSchemaObject::parse(schema)
        {
            *parameters = bounded;
            is_changed = true;
        }
    }
    is_changed
}

/// Its depth is the schema's, which is limited.
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
                    (keyword, _) if FITTED.contains(&keyword) => false,
                    // What looks like a keyword here is a name.
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
        // A keyword that is only words, known or not.
        Value::String(words) => bound_text(words),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn bound_text(words: &mut String) -> bool {
    let mut bounded = text::escape_within(words, WORDS_MAX);
    if bounded.len() > WORDS_MAX {
        bounded.truncate(bounded.floor_char_boundary(WORDS_MAX - CUT.len()));
        bounded.push_str(CUT);
    }
    let is_changed = bounded != *words;
    *words = bounded;
    is_changed
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolhost_contract::text::acts;

    use super::*;

    fn item(description: &str, properties: Value) -> ToolCatalogItem {
        let parameters = json!({"type": "object", "properties": properties});
        let item = json!({"name": "a__b", "description": description, "parameters": parameters});
        serde_json::from_value(item).unwrap()
    }

    #[test]
    fn no_description_acts_or_is_endless_wherever_it_stands() {
        let all: String = ('\0'..=char::MAX).filter(|c| acts(*c)).collect();
        for said in [
            all.as_str(),
            &"가".repeat(1 << 15),
            &"\u{e0041}".repeat(1 << 15),
        ] {
            let described = json!({
                "type": "string", "description": said, "title": said, "x-note": [{"deep": said}],
            });
            let mut item = item(
                said,
                json!({
                    "x": described,
                    "default": described,
                    "y": {"anyOf": [{"type": "array", "items": described}]},
                }),
            );
            assert!(bound(&mut item));
            let shown = item.parameters.as_ref().unwrap().to_value();
            let at = |pointer| shown.pointer(pointer).unwrap().as_str().unwrap();
            for text in [
                item.description.as_deref().unwrap(),
                at("/properties/x/description"),
                at("/properties/x/title"),
                at("/properties/x/x-note/0/deep"),
                at("/properties/default/description"),
                at("/properties/y/anyOf/0/items/description"),
            ] {
                assert!(text.len() <= WORDS_MAX);
                assert!(!text.contains(|c| c != '\n' && c != '\t' && acts(c)));
            }
        }
    }

    #[test]
    fn what_arguments_must_fit_stays_as_it_is() {
        let ends =
            json!({"enum": ["\n", "\r\n"], "default": "\r\n", "description": "two\nlines 가"});
        let before = item("plain\ttext", json!({"ends": ends}));
        let mut after = before.clone();
        assert!(!bound(&mut after));
        assert_eq!(after, before);
    }
}
