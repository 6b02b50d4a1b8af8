//! Writes JSON as YAML: on the line of its key where it is short, else below it. The text holds no
//! character that acts on a terminal.

use std::fmt::Write;

use serde_json::Value;
use toolhost_contract::text::needs_escape;

/// Longest value on the line of its key, in characters.
const LINE_MAX: usize = 80;

/// Words that some readers of YAML take for another type than a string.
const OTHER_TYPES: [&str; 11] = [
    "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf",
];

/// Writes a value after a key that is indented by so many columns: on its line, or beginning with a line
/// break.
#[must_use]
pub fn value(value: &Value, indent: usize) -> String {
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

/// Writes a value on one line: as JSON with blanks, and with plain keys.
#[must_use]
pub fn inline(value: &Value) -> String {
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
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Writes text between quotes. What would act on a terminal is escaped.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut yaml = String::from("\"");
    for c in text.chars() {
        let _ = match c {
            '"' | '\\' => write!(yaml, "\\{c}"),
            '\n' => write!(yaml, "\\n"),
            '\t' => write!(yaml, "\\t"),
            c if !needs_escape(c) => write!(yaml, "{c}"),
            c if u32::from(c) <= 0xffff => write!(yaml, "\\u{:04x}", u32::from(c)),
            c => write!(yaml, "\\U{:08x}", u32::from(c)),
        };
    }
    yaml.push('"');
    yaml
}

/// Writes a key, without quotes where every reader of YAML takes it for a string.
fn key(name: &str) -> String {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let plain = begins && name.chars().all(letters);
    if plain && !OTHER_TYPES.contains(&name.to_ascii_lowercase().as_str()) {
        name.to_owned()
    } else {
        quoted(name)
    }
}
