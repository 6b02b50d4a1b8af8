//! Schemas without the patterns that cannot be checked.

use serde_json::{Map, Value};
use toolhost_contract::JsonSchemaObject;

use super::error::SchemaError;
use super::keywords::SUBSCHEMAS;
use super::walk::{self, Spot};
use toolhost_contract::text::short;

/// A schema that accepts all that another one accepts, and more: some of its patterns are missing.
#[derive(Debug)]
pub(super) struct Relaxed {
    pub(super) schema: JsonSchemaObject,
    /// An error for each pattern that is missing.
    pub(super) unchecked: Vec<SchemaError>,
}

impl Relaxed {
    /// Removes the patterns of the schema at a manifest's key for which `is_checkable` returns false.
    pub(super) fn of(
        key: &str,
        schema: &JsonSchemaObject,
        is_checkable: &dyn Fn(&str) -> bool,
    ) -> Self {
        let mut relaxing = Relaxing {
            is_checkable,
            unchecked: Vec::new(),
        };
        let mut keywords = schema.as_object().clone();
        relaxing.object(&mut keywords, &Spot::root(key));
        let relaxed = JsonSchemaObject::parse(Value::Object(keywords));
        Self {
            // It still has its type.
            schema: relaxed.unwrap_or_else(|_| schema.clone()),
            unchecked: relaxing.unchecked,
        }
    }
}

struct Relaxing<'r> {
    is_checkable: &'r dyn Fn(&str) -> bool,
    unchecked: Vec<SchemaError>,
}

impl Relaxing<'_> {
    /// Relaxes a schema. Returns whether it may accept more than before: a pattern is missing in it, or it
    /// refers to a schema in which one may be.
    fn schema(&mut self, schema: &mut Value, spot: &Spot) -> bool {
        schema
            .as_object_mut()
            .is_some_and(|keywords| self.object(keywords, spot))
    }

    fn object(&mut self, keywords: &mut Map<String, Value>, spot: &Spot) -> bool {
        let mut accepts_more = ["$ref", "$dynamicRef", "$recursiveRef"]
            .iter()
            .any(|reference| keywords.contains_key(*reference));
        let pattern = keywords.get("pattern").and_then(Value::as_str);
        if pattern.is_some_and(|pattern| self.is_unchecked(pattern, &spot.member("pattern"))) {
            keywords.remove("pattern");
            accepts_more = true;
        }
        if let Some(Value::Object(names)) = keywords.get_mut("patternProperties") {
            accepts_more |= self.names(names, &spot.member("patternProperties"));
        }
        for (keyword, _) in SUBSCHEMAS {
            let Some(value) = keywords.get_mut(keyword) else {
                continue;
            };
            let mut is_loose = false;
            let spot = spot.member(keyword);
            walk::each_mut(keyword, value, |step, schema| {
                is_loose |= self.schema(schema, &spot.step(&step));
            });
            if is_loose {
                accepts_more = true;
                loosen(keywords, keyword);
            }
        }
        accepts_more
    }

    /// Makes each name that cannot be checked one that every property has, so that none is refused as an
    /// additional one.
    fn names(&mut self, names: &mut Map<String, Value>, spot: &Spot) -> bool {
        let unchecked = |name: &&String| self.is_unchecked(name, &spot.member(name));
        let unchecked: Vec<String> = names.keys().filter(unchecked).cloned().collect();
        for name in &unchecked {
            names.remove(name);
            names.insert(String::new(), Value::Bool(true));
        }
        !unchecked.is_empty()
    }

    fn is_unchecked(&mut self, pattern: &str, spot: &Spot) -> bool {
        if (self.is_checkable)(pattern) {
            return false;
        }
        self.unchecked.push(SchemaError::Pattern {
            pattern: short(pattern),
            place: spot.place.clone(),
            pointer: spot.pointer.clone(),
        });
        true
    }
}

/// Changes a keyword that refuses a value because a schema in it accepts one.
fn loosen(keywords: &mut Map<String, Value>, keyword: &str) {
    match keyword {
        "not" => {
            keywords.remove("not");
        }
        "if" => {
            for keyword in [
                "if",
                "then",
                "else",
                "unevaluatedProperties",
                "unevaluatedItems",
            ] {
                keywords.remove(keyword);
            }
        }
        "contains" => {
            keywords.remove("maxContains");
        }
        "oneOf" => {
            let Some(branches) = keywords.remove("oneOf") else {
                return;
            };
            let any = Value::from_iter([("anyOf".to_owned(), branches)]);
            match keywords.get_mut("allOf") {
                Some(Value::Array(all)) => all.push(any),
                _ => {
                    keywords.insert("allOf".to_owned(), Value::Array(vec![any]));
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Patterns with `?!` cannot be checked.
    fn relaxed(schema: Value) -> (Value, Vec<String>) {
        let schema = JsonSchemaObject::parse(schema).unwrap();
        let relaxed = Relaxed::of("parameters", &schema, &|pattern| !pattern.contains("?!"));
        let place = |error: &SchemaError| {
            let SchemaError::Pattern { place, .. } = error else {
                panic!("{error}");
            };
            place.clone()
        };
        let unchecked = relaxed.unchecked.iter().map(place).collect();
        (relaxed.schema.to_value(), unchecked)
    }

    #[test]
    fn a_pattern_that_cannot_be_checked_is_removed_and_all_else_stays() {
        let (schema, unchecked) = relaxed(json!({
            "type": "object",
            "required": ["to"],
            "properties": {
                "to": {"type": "string", "pattern": "(?!a)", "maxLength": 9},
                "all": {"type": "array", "items": {"pattern": "(?!b)"}},
                "good": {"pattern": "^a$"},
                "pattern": {"enum": [{"pattern": "(?!c)"}]},
            },
        }));
        let expected = json!({
            "type": "object",
            "required": ["to"],
            "properties": {
                "to": {"type": "string", "maxLength": 9},
                "all": {"type": "array", "items": {}},
                "good": {"pattern": "^a$"},
                "pattern": {"enum": [{"pattern": "(?!c)"}]},
            },
        });
        assert_eq!(schema, expected);
        let places = ["properties.to.pattern", "properties.all.items.pattern"];
        assert_eq!(unchecked, places.map(|place| format!("parameters.{place}")));
    }

    #[test]
    fn a_schema_without_a_pattern_never_refuses_more() {
        let broken = json!({"pattern": "(?!a)"});
        let reference = json!({"$ref": "#/$defs/mail"});
        for inner in [broken, reference] {
            for (before, after) in [
                (json!({"not": inner}), json!({})),
                (
                    json!({"if": inner, "then": {"minLength": 1}, "else": {"minLength": 2}}),
                    json!({}),
                ),
                (
                    json!({"contains": inner, "maxContains": 1}),
                    json!({"contains": 0}),
                ),
                (
                    json!({"oneOf": [inner, {"minLength": 1}]}),
                    json!({"allOf": 0}),
                ),
            ] {
                let of = |value: &Value| {
                    json!({
                        "type": "object",
                        "$defs": {"mail": {"pattern": "(?!a)"}},
                        "properties": {"x": value},
                    })
                };
                let (schema, _) = relaxed(of(&before));
                let keys = |value: &Value| {
                    let keys = value.as_object().unwrap().keys();
                    keys.cloned().collect::<Vec<String>>()
                };
                let property = &schema["properties"]["x"];
                assert_eq!(keys(property), keys(&after), "{before}: {property}");
            }
        }
        let names =
            json!({"type": "object", "patternProperties": {"(?!a)": {"type": "null"}, "b": {}}});
        let (schema, unchecked) = relaxed(names);
        assert_eq!(schema["patternProperties"], json!({"b": {}, "": true}));
        assert_eq!(unchecked, ["parameters.patternProperties[\"(?!a)\"]"]);
    }
}
