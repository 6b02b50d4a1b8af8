//! `%q`: a text as one word of the shell.

use std::fmt::Write as _;

/// Quotes a text as bash does: with backslashes, or as `$'…'` if it has characters that are not printed.
pub(super) fn quoted(text: &str) -> String {
    if text.is_empty() {
        return "''".to_owned();
    }
    if text.chars().any(char::is_control) {
        return in_quotes(text);
    }
    let mut quoted = String::new();
    for (at, char) in text.chars().enumerate() {
        let is_special = match char {
            ' ' | '\'' | '"' | '\\' | '|' | '&' | ';' | '(' | ')' | '<' | '>' | '!' | '{' | '}'
            | '*' | '[' | ']' | '?' | '^' | '$' | '`' | ',' => true,
            '~' | '#' => at == 0,
            _ => false,
        };
        if is_special {
            quoted.push('\\');
        }
        quoted.push(char);
    }
    quoted
}

fn in_quotes(text: &str) -> String {
    let mut quoted = "$'".to_owned();
    for char in text.chars() {
        match char {
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x1B' => quoted.push_str("\\E"),
            '\x0C' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0B' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '\'' => quoted.push_str("\\'"),
            char if char.is_control() => {
                for byte in char.to_string().bytes() {
                    // Writing to a string does not fail.
                    let _ = write!(quoted, "\\{byte:03o}");
                }
            }
            char => quoted.push(char),
        }
    }
    quoted.push('\'');
    quoted
}
