//! Names, texts and comments of Python.

use std::fmt::Write as _;

use serde_json::Value;
use toolhost_contract::text::needs_escape;

use super::super::Kind;

/// Types that a member of a class may be named like.
pub(super) const BUILTINS: [&str; 7] = ["bool", "dict", "float", "int", "list", "str", "tuple"];

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Longest part of the name of a type, in bytes.
const NAME_PART_MAX_BYTES: usize = 48;

/// Longest text that is written as a default, in bytes.
const DEFAULT_MAX_BYTES: usize = 80;

/// Returns the attribute of `tools` for a part of a tool's name: `file_system`. The kit for Python has the same rule.
pub(super) fn alias(part: &str) -> String {
    let alias = part.replace('-', "_");
    if alias.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{alias}")
    } else if KEYWORDS.contains(&alias.as_str()) {
        format!("{alias}_")
    } else {
        alias
    }
}

/// Returns a name for a type: `FileSystem`.
pub(super) fn camel_case(text: &str) -> String {
    let mut name = String::new();
    let mut is_start = true;
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() {
            is_start = true;
            continue;
        }
        if name.len() == NAME_PART_MAX_BYTES {
            break;
        }
        if name.is_empty() && c.is_ascii_digit() {
            name.push('T');
        }
        name.push(if std::mem::take(&mut is_start) {
            c.to_ascii_uppercase()
        } else {
            c
        });
    }
    if name.is_empty() {
        name.push('T');
    }
    name
}

/// Returns whether a field can be written as a name. Names that begin with `__` mean something else in a class.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = !name.starts_with(|c: char| c.is_ascii_digit()) && !name.starts_with("__");
    !name.is_empty() && name.chars().all(is_part) && starts && !KEYWORDS.contains(&name)
}

/// Returns a text as a literal.
pub(super) fn text(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if needs_escape(c) || c.is_control() => {
                // Writing to a `String` does not fail.
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns a value as a literal that `Literal` may have.
pub(super) fn literal(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("None".to_owned()),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::Number(number) => (!number.is_f64()).then(|| number.to_string()),
        Value::String(value) => Some(text(value)),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns a default as a literal, if it is short and of the type.
pub(super) fn default(kind: &Kind<'_>, value: &Value) -> Option<String> {
    let literal = match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(value) if value.len() > DEFAULT_MAX_BYTES => None,
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            literal(value)
        }
    };
    literal.filter(|_| fits(kind, value))
}

fn fits(kind: &Kind<'_>, value: &Value) -> bool {
    match kind {
        Kind::Any => true,
        Kind::Null => value.is_null(),
        Kind::Boolean => value.is_boolean(),
        Kind::Integer => value.is_i64() || value.is_u64(),
        Kind::Number => value.is_number(),
        Kind::String => value.is_string(),
        Kind::Literals(values) => values.contains(&value) && !value.is_f64(),
        Kind::Union { types, .. } => types.iter().any(|type_| fits(&type_.kind, value)),
        Kind::Never
        | Kind::Array(_)
        | Kind::Tuple(_)
        | Kind::Object(_)
        | Kind::Intersection(_)
        | Kind::Definition(_) => false,
    }
}

/// Writes comments: each line of the texts.
pub(super) fn comment(out: &mut String, indent: &str, texts: &[String]) {
    for line in texts.iter().flat_map(|text| lines(text)) {
        let _ = writeln!(out, "{indent}# {line}");
    }
}

/// Writes a docstring, or `...` where there is no text.
pub(super) fn docstring(out: &mut String, indent: &str, texts: &[String]) {
    let lines: Vec<_> = texts.iter().flat_map(|text| lines(text)).collect();
    let lines: Vec<_> = lines
        .iter()
        .map(|line| line.replace('\\', "\\\\").replace('"', "\\\""))
        .collect();
    // In a text without three of them, quotes need no escape but at its end.
    let lines: Vec<_> = lines.iter().map(|line| readable(line)).collect();
    match lines.as_slice() {
        [] => {
            let _ = writeln!(out, "{indent}...");
        }
        [line] if !line.ends_with('"') => {
            let _ = writeln!(out, "{indent}\"\"\"{line}\"\"\"");
        }
        lines => {
            let _ = writeln!(out, "{indent}\"\"\"");
            for line in lines {
                let indent = if line.is_empty() { "" } else { indent };
                let _ = writeln!(out, "{indent}{line}");
            }
            let _ = writeln!(out, "{indent}\"\"\"");
        }
    }
}

fn readable(line: &str) -> String {
    if line.contains("\\\"\\\"\\\"") {
        line.to_owned()
    } else {
        line.replace("\\\"", "\"")
    }
}

/// Returns the lines of a text, without characters that end a line or a file for Python.
fn lines(text: &str) -> Vec<String> {
    let lines = text.split(['\n', '\r']);
    let lines = lines.map(|line| {
        line.trim_end()
            .replace(|c: char| c.is_control() && c != '\t', "?")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_an_identifier() {
        for (part, expected) in [
            ("file-system", "file_system"),
            ("7z", "_7z"),
            ("import", "import_"),
            ("match", "match"),
            ("a_-b", "a__b"),
        ] {
            assert_eq!(alias(part), expected);
        }
    }

    #[test]
    fn a_docstring_ends_where_it_should() {
        for (text, expected) in [
            ("Reads.", "\"\"\"Reads.\"\"\"\n"),
            ("Says \"a\" and \\n.", "\"\"\"Says \"a\" and \\\\n.\"\"\"\n"),
            ("Ends in \"a\"", "\"\"\"\nEnds in \"a\"\n\"\"\"\n"),
            (
                "\"\"\"\nx\\\"\"\"",
                "\"\"\"\n\\\"\\\"\\\"\nx\\\\\\\"\\\"\\\"\n\"\"\"\n",
            ),
            ("a\rb\0", "\"\"\"\na\nb?\n\"\"\"\n"),
        ] {
            let mut out = String::new();
            docstring(&mut out, "", &[text.to_owned()]);
            assert_eq!(out, expected);
        }
    }
}
