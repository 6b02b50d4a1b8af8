//! Finds the text of a value. The parser gives the start of each value, but the length of scalars only.

use toolhost_manifest::YamlSource;
use toolhost_manifest::yaml::{Key, Mark, Node, Value};

/// Returns the range from behind the key's colon to the end of the value, in bytes. Returns none for
/// values with anchors, aliases, tags or `?` keys, which are not changed.
pub(super) fn of_value(
    source: &YamlSource,
    key: &Key,
    value: &Node,
    braced: bool,
) -> Option<(usize, usize)> {
    let text = source.text();
    let key_at = offset(source, key.mark)?;
    let start = key_at + key_length(text.get(key_at..)?, key)?;
    let rest = text.get(start..)?;
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let inline = rest.get(blanks..)?;
    let first = inline.chars().next().unwrap_or('\n');
    let length = match first {
        '&' | '*' | '!' => return None,
        '{' | '[' | '"' | '\'' => blanks + token(inline)?,
        '\n' | '\r' | '#' if braced => return None,
        '\n' | '\r' | '#' if value.value == Value::Null => 0,
        '\n' | '\r' | '#' => lines_below(rest, key, value)?,
        '|' | '>' if !braced => lines_below(rest, key, value)?,
        _ if value.value == Value::Null && matches!(first, ',' | '}') => 0,
        _ => plain(source, value)?.checked_sub(start)?,
    };
    Some((start, start + length))
}

fn offset(source: &YamlSource, mark: Mark) -> Option<usize> {
    Some(source.place(mark, "").position?.span.offset)
}

/// Returns the end of a plain scalar.
fn plain(source: &YamlSource, value: &Node) -> Option<usize> {
    let span = source.place(value.mark, "").position?.span;
    let text = source.text().get(span.offset..span.offset + span.length)?;
    Some(span.offset + text.trim_end().len())
}

/// Returns the length of a key with its colon.
fn key_length(text: &str, key: &Key) -> Option<usize> {
    let name = match text.chars().next()? {
        '"' | '\'' => token(text)?,
        _ => text.starts_with(&key.name).then_some(key.name.len())?,
    };
    let rest = text.get(name..)?;
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest.get(blanks..)?
        .starts_with(':')
        .then_some(name + blanks + 1)
}

/// Returns the length of a quoted text, or of a value in braces or brackets.
fn token(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote: Option<char> = None;
    let mut before = ' ';
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some('"'), '\\') => {
                chars.next();
            }
            (Some('\''), '\'') if chars.peek().is_some_and(|(_, next)| *next == '\'') => {
                chars.next();
            }
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => (),
            // Within a plain scalar a quote is an ordinary character.
            (None, '"' | '\'') if " \t\n{[,:".contains(before) => quote = Some(c),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth = depth.checked_sub(1)?,
            (None, '#') if before.is_whitespace() => {
                while chars.next_if(|(_, c)| *c != '\n').is_some() {}
            }
            (None, _) => (),
        }
        if depth == 0 && quote.is_none() {
            return Some(at + c.len_utf8());
        }
        before = c;
    }
    None
}

/// Returns the length of a value on the lines below its key, from behind the colon: every line that is
/// indented further than the key, and of a list those that begin with a dash below the key. Empty lines
/// and comments at the end belong to the next value.
fn lines_below(text: &str, key: &Key, value: &Node) -> Option<usize> {
    let key_indent = usize::try_from(key.mark.column).ok()?.checked_sub(1)?;
    let in_block_scalar = text.trim_start().starts_with(['|', '>']);
    let mut length = 0;
    let mut end = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        length += line.len();
        let content = line.trim_end_matches(['\n', '\r']);
        let indent = content.len() - content.trim_start_matches(' ').len();
        let trimmed = content.trim();
        let comment = trimmed.starts_with('#') && !in_block_scalar;
        if number == 0 {
            end = content.trim_end().len();
            continue;
        }
        if trimmed.is_empty() || (comment && indent <= key_indent) {
            continue;
        }
        let of_list = matches!(value.value, Value::List(_)) && trimmed.starts_with('-');
        if indent < key_indent || (indent == key_indent && !of_list) {
            break;
        }
        if !comment {
            end = length - (line.len() - content.trim_end().len());
        }
    }
    Some(end)
}
