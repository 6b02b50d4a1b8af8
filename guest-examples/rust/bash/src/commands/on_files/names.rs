//! Names of files in messages, as GNU's programs quote them.

use std::fmt::Write as _;

/// A name between quotes that the shell reads.
pub(in crate::commands) fn quoted(name: &str) -> String {
    if name.chars().any(char::is_control) {
        return with_escapes(name);
    }
    if !name.contains('\'') {
        return format!("'{name}'");
    }
    if name.chars().all(is_plain_in_double_quotes) {
        return format!("\"{name}\"");
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

/// A name that is quoted only if the shell needs it.
pub(in crate::commands) fn quoted_if_needed(name: &str) -> String {
    let is_special = |(at, char): (usize, char)| match char {
        '#' | '~' => at == 0,
        ' ' | '!' | '"' | '$' | '&' | '(' | ')' | '*' | ';' | '<' | '=' | '>' | '?' | '[' | '^'
        | '`' | '|' | '\'' | '\\' => true,
        _ => char.is_control(),
    };
    if name.is_empty() || name.char_indices().any(is_special) {
        return quoted(name);
    }
    name.to_owned()
}

fn is_plain_in_double_quotes(char: char) -> bool {
    char.is_alphanumeric() || " #~'%+,-./:]_".contains(char) || !char.is_ascii()
}

/// `'a'$'\n''b'`
fn with_escapes(name: &str) -> String {
    let mut text = String::from("'");
    let mut is_escape = false;
    for char in name.chars() {
        if char.is_control() {
            if !is_escape {
                text.push_str("'$'");
            }
            is_escape = true;
            escape(char, &mut text);
            continue;
        }
        if is_escape {
            text.push_str("''");
            is_escape = false;
        }
        match char {
            '\'' => text.push_str(r"'\''"),
            _ => text.push(char),
        }
    }
    text.push('\'');
    text
}

/// Writes a character as C does.
pub(super) fn escape(char: char, text: &mut String) {
    let short = match char {
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0b' => 'v',
        '\x0c' => 'f',
        '\r' => 'r',
        _ => {
            let mut bytes = [0; 4];
            for byte in char.encode_utf8(&mut bytes).bytes() {
                let _ = write!(text, "\\{byte:03o}");
            }
            return;
        }
    };
    text.push('\\');
    text.push(short);
}

/// The last part of an operand, without slashes at its end; `/` for the root.
pub(super) fn base(operand: &str) -> &str {
    let trimmed = operand.trim_end_matches('/');
    if trimmed.is_empty() && !operand.is_empty() {
        return "/";
    }
    trimmed.rsplit('/').next().unwrap_or(trimmed)
}

/// What is before the last part of an operand.
pub(super) fn folder(operand: &str) -> &str {
    let trimmed = operand.trim_end_matches('/');
    match trimmed.rsplit_once('/') {
        Some((folder, _)) => {
            let folder = folder.trim_end_matches('/');
            if folder.is_empty() { "/" } else { folder }
        }
        None if trimmed.is_empty() && !operand.is_empty() => "/",
        None => ".",
    }
}

/// A name in a folder, both as operands.
pub(super) fn joined(folder: &str, name: &str) -> String {
    if folder.ends_with('/') {
        format!("{folder}{name}")
    } else {
        format!("{folder}/{name}")
    }
}

/// The character that follows a backslash in a format of C, and how many bytes stand for it.
pub(super) fn escape_of(rest: &str) -> (char, usize) {
    let Some(first) = rest.chars().next() else {
        return ('\\', 0);
    };
    let short = match first {
        'a' => '\x07',
        'b' => '\x08',
        'e' => '\x1b',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '0'..='7' => {
            let length = rest
                .bytes()
                .take(3)
                .take_while(|byte| (b'0'..=b'7').contains(byte))
                .count();
            let code = rest
                .get(..length)
                .and_then(|digits| u32::from_str_radix(digits, 8).ok());
            return (code.and_then(char::from_u32).unwrap_or('\0'), length);
        }
        'x' => {
            let digits = rest.get(1..).unwrap_or_default();
            let length = digits
                .bytes()
                .take(2)
                .take_while(u8::is_ascii_hexdigit)
                .count();
            let code = digits
                .get(..length)
                .and_then(|digits| u32::from_str_radix(digits, 16).ok());
            return (code.and_then(char::from_u32).unwrap_or('x'), length + 1);
        }
        other => other,
    };
    (short, first.len_utf8())
}
