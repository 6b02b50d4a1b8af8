//! Writes JSON as YAML that people would write: on the key's line where it is short, else below it.

use serde_json::Value;

/// Longest value on the line of its key, in characters.
const LINE_MAX: usize = 80;

/// Words that are no strings.
const NO_STRINGS: [&str; 14] = [
    "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf", "True", "False",
    "Null",
];

/// Writes a value behind a key that stands so many columns in: on its line, or beginning with a line
/// break.
pub(super) fn value(value: &Value, indent: usize) -> String {
    let inline = inline(value);
    let has_parts = match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    if !has_parts || inline.chars().count() <= LINE_MAX {
        return inline;
    }
    let mut text = String::new();
    let inner = indent + 2;
    let blanks = " ".repeat(inner);
    match value {
        Value::Array(items) => {
            for item in items {
                // A list's own parts are written on its line, however long: `- - a` is hard to read.
                text += &format!("\n{blanks}- {}", self::inline(item));
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let written = self::value(member, inner);
                let space = if written.starts_with('\n') { "" } else { " " };
                text += &format!("\n{blanks}{}:{space}{written}", key(name));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
    text
}

/// Writes a value on one line: JSON with blanks, and plain keys.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let member =
                |(name, value): (&String, &Value)| format!("{}: {}", key(name), inline(value));
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::String(text) => toolhost_contract::text::escape_json(&quoted(text)).into_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn key(name: &str) -> String {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    if begins && name.chars().all(letters) && !NO_STRINGS.contains(&name) {
        name.to_owned()
    } else {
        quoted(name)
    }
}
