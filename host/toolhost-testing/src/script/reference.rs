//! Resolves references in a script: `${name.path}`.

use serde_json::Value;
use toolhost_contract::JsonObject;

/// Why a reference cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// The closing brace is missing.
    #[error("'{0}' has no closing brace")]
    Unclosed(String),
    /// Nothing has the name.
    #[error("'${{{reference}}}' cannot be resolved: there is no '{missing}', only {}", .known.join(", "))]
    Missing {
        /// The reference.
        reference: String,
        /// The part that does not exist.
        missing: String,
        /// What exists instead.
        known: Vec<String>,
    },
}

/// Replaces the references in a value.
pub(super) fn resolve(value: &Value, known: &JsonObject) -> Result<Value, ReferenceError> {
    Ok(match value {
        Value::String(text) => resolve_text(text, known)?,
        Value::Array(items) => {
            let items = items.iter().map(|item| resolve(item, known));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(members) => Value::Object(resolve_object(members, known)?),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

/// Replaces the references in the values of an object.
pub(super) fn resolve_object(
    members: &JsonObject,
    known: &JsonObject,
) -> Result<JsonObject, ReferenceError> {
    let member = |(key, value): (&String, &Value)| Ok((key.clone(), resolve(value, known)?));
    members.iter().map(member).collect()
}

fn resolve_text(text: &str, known: &JsonObject) -> Result<Value, ReferenceError> {
    let whole = text
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    if let Some(reference) = whole.filter(|inner| !inner.contains("${")) {
        return find(reference, known).cloned();
    }
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((reference, after)) = after.split_once('}') else {
            return Err(ReferenceError::Unclosed(text.to_owned()));
        };
        filled.push_str(before);
        let found = find(reference, known)?;
        match found.as_str() {
            Some(text) => filled.push_str(text),
            None => filled.push_str(&found.to_string()),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(Value::String(filled))
}

fn find<'k>(reference: &str, known: &'k JsonObject) -> Result<&'k Value, ReferenceError> {
    let missing = |part: &str, known: Vec<String>| ReferenceError::Missing {
        reference: reference.to_owned(),
        missing: part.to_owned(),
        known,
    };
    let keys = |object: &JsonObject| object.keys().cloned().collect();
    let mut parts = reference.split('.');
    let first = parts.next().unwrap_or_default();
    let first = known.get(first).ok_or_else(|| missing(first, keys(known)));
    parts.try_fold(first?, |found, part| {
        let inner = found.get(part);
        inner
            .or_else(|| found.get(part.parse::<usize>().ok()?))
            .ok_or_else(|| match (found.as_object(), found.as_array()) {
                (Some(members), _) => missing(part, keys(members)),
                (_, Some(items)) => missing(part, vec![format!("{} items", items.len())]),
                (None, None) => missing(part, vec!["a plain value".to_owned()]),
            })
    })
}
