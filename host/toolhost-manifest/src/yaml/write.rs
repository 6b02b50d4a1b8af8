//! Writes JSON as YAML. A short value is on the line of its key, a longer one on the lines below. Control
//! and invisible characters are escaped.

use std::fmt::Write;

use serde_json::Value;
use toolhost_contract::text::needs_escape;

/// Maximum length of a value on the line of its key, in characters.
const LINE_MAX: usize = 80;

/// Words that some YAML parsers do not read as strings.
const OTHER_TYPES: [&str; 11] = [
    "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf",
];

/// Writes a value with the blank or line break that separates it from its key, which is indented by
/// `indent` columns.
pub fn value(value: &Value, indent: usize) -> String {
    let one_line = inline(value);
    if one_line.chars().count() <= LINE_MAX {
        return format!(" {one_line}");
    }
    let line = format!("\n{:indent$}  ", "");
    if let Value::Array(items) = value {
        // Each item is on one line, whatever its length: `- - a` is hard to read.
        let items = items.iter().map(|item| format!("{line}- {}", inline(item)));
        items.collect()
    } else if let Value::Object(members) = value {
        let member = |(name, member): (&String, &Value)| {
            format!("{line}{}:{}", key(name), self::value(member, indent + 2))
        };
        members.iter().map(member).collect()
    } else {
        format!(" {one_line}")
    }
}

/// Writes a value on one line: JSON with blanks, and with keys without quotes where possible.
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

/// Writes a string in quotes.
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

/// Writes a key, in quotes unless every YAML parser reads it as a string.
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
