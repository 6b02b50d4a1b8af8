//! Resolves references in a script: `${name.path}`.

use serde_json::Value;
use toolhost_contract::JsonObject;
use toolhost_schema::json;

/// Memory of the values that the references of one step are replaced by, in bytes. Far above the arguments
/// that a call may have.
const RESOLVED_MAX: usize = 32 << 20;

/// Memory of the results that a turn keeps for later references, in bytes.
pub(super) const KEPT_MAX: usize = 64 << 20;

/// About how much memory a value takes besides its text, in bytes.
const VALUE_MEMORY: usize = 100;

/// Why a reference cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The closing brace is missing.
    #[error("'{0}' has no closing brace")]
    Unclosed(String),
    /// Nothing has the name.
    #[error("'${{{reference}}}' cannot be resolved: there is no '{missing}', only {}", .names.join(", "))]
    Missing {
        /// The reference.
        reference: String,
        /// The part that does not exist.
        missing: String,
        /// What exists instead.
        names: Vec<String>,
    },
    /// The references of one step are replaced by too much.
    #[error(
        "the references of one step are replaced by more than {most} bytes, at '${{{reference}}}': refer to \
         parts of the results, or make fewer calls in a step",
        most = RESOLVED_MAX
    )]
    TooLarge {
        /// The reference beyond the limit.
        reference: String,
    },
}

/// Returns about how much memory a value takes, in bytes.
pub(super) fn memory_of(value: &Value) -> usize {
    let size = json::measure(value);
    let values = usize::try_from(size.values).unwrap_or(usize::MAX);
    let text = usize::try_from(size.text).unwrap_or(usize::MAX);
    text.saturating_add(values.saturating_mul(VALUE_MEMORY))
}

/// Replaces the references of one step or one answer, up to a limit.
#[derive(Debug)]
pub(super) struct References<'k> {
    /// The values that references name.
    values: &'k JsonObject,
    /// Remaining memory, in bytes.
    remaining: usize,
}

impl<'k> References<'k> {
    pub(super) fn new(values: &'k JsonObject) -> Self {
        let remaining = RESOLVED_MAX;
        Self { values, remaining }
    }

    /// Replaces the references in a value.
    pub(super) fn resolve(&mut self, value: &Value) -> Result<Value, ReferenceError> {
        Ok(match value {
            Value::String(text) => self.resolve_text(text)?,
            Value::Array(items) => {
                let items = items.iter().map(|item| self.resolve(item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(members) => Value::Object(self.resolve_object(members)?),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    /// Replaces the references in the values of an object.
    pub(super) fn resolve_object(
        &mut self,
        members: &JsonObject,
    ) -> Result<JsonObject, ReferenceError> {
        let member = |(key, value): (&String, &Value)| Ok((key.clone(), self.resolve(value)?));
        members.iter().map(member).collect()
    }

    fn resolve_text(&mut self, text: &str) -> Result<Value, ReferenceError> {
        let whole = text
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'));
        if let Some(reference) = whole.filter(|inner| !inner.contains("${")) {
            let value = self.find(reference)?;
            self.take(reference, memory_of(value))?;
            return Ok(value.clone());
        }
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            let Some((reference, after)) = after.split_once('}') else {
                return Err(ReferenceError::Unclosed(text.to_owned()));
            };
            filled.push_str(before);
            let value = self.find(reference)?;
            self.take(reference, memory_of(value))?;
            match value.as_str() {
                Some(text) => filled.push_str(text),
                None => filled.push_str(&value.to_string()),
            }
            rest = after;
        }
        filled.push_str(rest);
        Ok(Value::String(filled))
    }

    /// Takes the memory of a value that a reference is about to be replaced by.
    fn take(&mut self, reference: &str, memory: usize) -> Result<(), ReferenceError> {
        let remaining = self.remaining.checked_sub(memory);
        let too_large = || ReferenceError::TooLarge {
            reference: reference.to_owned(),
        };
        self.remaining = remaining.ok_or_else(too_large)?;
        Ok(())
    }

    fn find(&self, reference: &str) -> Result<&'k Value, ReferenceError> {
        find(reference, self.values)
    }
}

fn find<'k>(reference: &str, values: &'k JsonObject) -> Result<&'k Value, ReferenceError> {
    let missing = |part: &str, names: Vec<String>| ReferenceError::Missing {
        reference: reference.to_owned(),
        missing: part.to_owned(),
        names,
    };
    let keys = |object: &JsonObject| object.keys().cloned().collect();
    let mut parts = reference.split('.');
    let first = parts.next().unwrap_or_default();
    let first = values
        .get(first)
        .ok_or_else(|| missing(first, keys(values)));
    parts.try_fold(first?, |value, part| {
        let inner = value.get(part);
        inner
            .or_else(|| value.get(part.parse::<usize>().ok()?))
            .ok_or_else(|| match (value.as_object(), value.as_array()) {
                (Some(members), _) => missing(part, keys(members)),
                (_, Some(items)) => missing(part, vec![format!("{} items", items.len())]),
                (None, None) => missing(part, vec!["a plain value".to_owned()]),
            })
    })
}
