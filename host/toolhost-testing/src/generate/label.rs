//! Names of generated cases.

use serde_json::Value;
use toolhost_contract::text;

/// Longest value in a name, in characters.
const VALUE_MAX: usize = 40;

/// Names a case after one argument: `path = "a.txt"`.
pub(super) fn label(argument: &str, value: &Value) -> String {
    let value = match value.as_str() {
        Some(text) if text.chars().nth(VALUE_MAX).is_some() => {
            let start = Value::from(text::cut(text, 8));
            format!("{start}… of {} characters", text.chars().count())
        }
        _ => value.to_string(),
    };
    format!("{argument} = {}", text::shorten(&value, VALUE_MAX))
}
