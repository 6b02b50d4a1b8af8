//! Says in a sentence which arguments belong together.

use serde_json::Value;
use toolhost_contract::{JsonObject, text};

/// Longest sentence, in characters.
const SENTENCE_MAX: usize = 2_000;

/// One of several forms that arguments may have: such as "`kind` is \"file\", `path`, optionally `mode`".
pub(super) struct Form(String);

impl Form {
    /// Describes a schema without alternatives at its top, and what else was said of it.
    pub(super) fn of(schema: &JsonObject, notes: &[String]) -> Self {
        let names = schema.get("required").and_then(Value::as_array);
        let required: Vec<&str> = names
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let value_of = |name: &str| properties?.get(name)?.get("const");
        let mut parts: Vec<String> = required
            .iter()
            .map(|name| match value_of(name) {
                Some(value) => format!("`{name}` is {value}"),
                None => format!("`{name}`"),
            })
            .collect();
        let others = properties.into_iter().flatten();
        let others = others.filter(|(name, _)| !required.contains(&name.as_str()));
        parts.extend(others.map(|(name, _)| format!("optionally `{name}`")));
        parts.extend(notes.iter().cloned());
        if parts.is_empty() {
            parts.push("any arguments".to_owned());
        }
        Self(parts.join(", "))
    }
}

/// Returns the sentence; none if there is nothing to choose.
pub(super) fn sentence(keyword: &str, forms: &[Form]) -> Option<String> {
    if forms.len() < 2 {
        return None;
    }
    let how_many = if keyword == "oneOf" {
        "exactly one"
    } else {
        "at least one"
    };
    let forms: Vec<&str> = forms.iter().map(|Form(form)| form.as_str()).collect();
    let sentence = format!(
        "The arguments must have {how_many} of these forms: {}.",
        forms.join("; ")
    );
    Some(text::shorten(&sentence, SENTENCE_MAX))
}
