//! Escapes and truncates untrusted text for models, terminals and logs.

mod cuts;
mod printable;

use std::borrow::Cow;
use std::fmt::Write;

pub use cuts::{CUT, cuts, left_out};
pub use printable::printable;

/// Returns whether a character is a control character, reorders text or is invisible.
///
/// - controls: C0 with line break and tab, DEL, C1
/// - marks that reorder text: U+061C, U+200E–F, U+202A–E, U+2066–9
/// - line and paragraph separators: U+2028, U+2029
/// - invisible characters: soft hyphen U+00AD, zero-width space U+200B,
///   word joiner, invisible operators and format characters U+2060–F, byte order mark U+FEFF,
///   annotations U+FFF9–B, tags and variation selectors of plane 14 U+E0000–E0FFF; the combining joiner
///   U+034F, fillers of Hangul U+115F–1160, U+3164 and U+FFA0, vowels of Khmer U+17B4–5, selectors of
///   Mongolian U+180B–F, controls of shorthand and music U+1BCA0–3 and U+1D173–A
///
/// Not included are the joiners U+200C and U+200D, which Persian, Indic scripts and emoji need, and the
/// variation selectors U+FE00–F, which emoji need. Flags made of tags (such as Scotland's) and rare
/// variants of ideographs are included.
pub fn needs_escape(c: char) -> bool {
    let is_invisible = matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    is_invisible || c.is_control()
}

/// Writes bytes in lower-case hexadecimal.
pub fn hex<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> String {
    let bytes = bytes.into_iter();
    bytes.fold(String::new(), |mut hex, byte| {
        let _written = write!(hex, "{byte:02x}");
        hex
    })
}

fn needs_escape_in_lines(c: char) -> bool {
    !matches!(c, '\n' | '\t') && needs_escape(c)
}

fn escape_chars(chars: impl Iterator<Item = char>, needs_escape: fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(chars.size_hint().0);
    for c in chars {
        if needs_escape(c) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Escapes the characters of [`needs_escape`] as `\u{…}`, also line breaks and tabs.
pub(crate) fn escape(text: &str) -> String {
    escape_chars(text.chars(), needs_escape)
}

/// Escapes the characters of [`needs_escape`] as `\u{…}`, except line breaks and tabs.
pub fn escape_lines(text: &str) -> String {
    escape_chars(text.chars(), needs_escape_in_lines)
}

/// Like [`escape_lines`], but reads only the first `limit + 1` characters. A caller that truncates to
/// `limit` can still detect that the text was longer.
pub fn escape_within(text: &str, limit: usize) -> String {
    let chars = text.chars().take(limit.saturating_add(1));
    escape_chars(chars, needs_escape_in_lines)
}

/// Escapes a text for one line of a message: replaces line breaks and tabs with spaces, and truncates to
/// `max` characters and `…`.
pub fn shorten(text: &str, max: usize) -> String {
    // Names and ids are short and plain, and need not be read character by character.
    if text.len() <= max && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let line = |c: char| if matches!(c, '\n' | '\t') { ' ' } else { c };
    let mut short = escape_chars(text.chars().take(max).map(line), needs_escape);
    if text.chars().nth(max).is_some() {
        short.push('…');
    }
    short
}

/// Maximum length of a text that a message quotes, in characters.
pub const QUOTED_MAX: usize = 80;

/// Shortens a text that a message quotes, as [`shorten`] does to 80 characters.
pub fn short(quoted: &str) -> String {
    shorten(quoted, QUOTED_MAX)
}

/// Lists up to `most` names in one line, each as [`short`] writes it, and `…` if there are more.
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>, most: usize) -> String {
    let mut names = names.into_iter();
    let texts = names.by_ref().take(most);
    let mut texts: Vec<String> = texts.map(short).collect();
    if names.next().is_some() {
        texts.push("…".to_owned());
    }
    texts.join(", ")
}

/// Truncates text to `max` characters.
pub fn cut(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}

/// Returns whether the text contains no whitespace and no characters of [`needs_escape`].
pub(crate) fn is_plain(text: &str) -> bool {
    !text.contains(|c: char| needs_escape(c) || c.is_whitespace())
}

/// Escapes the characters of [`needs_escape`] in a JSON text as `\u…`. The value stays the same. Line breaks
/// are kept, because in JSON they only occur between values.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let needs_escape = |c: char| c != '\n' && needs_escape(c);
    if !json.contains(needs_escape) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 64);
    let mut units = [0; 2];
    for c in json.chars() {
        if !needs_escape(c) {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut units) {
            // Writing to a `String` does not fail.
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    Cow::Owned(escaped)
}

/// Quotes a word for a shell, if necessary.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | '+');
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('-') {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_each_unsafe_character_and_none_that_a_script_needs() {
        let all = "\0\t\n\r\u{1b}\u{7f}\u{80}\u{85}\u{9b}\u{9f}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\
                   \u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\u{2064}\u{2066}\u{2069}\u{206f}\u{feff}\
                   \u{fff9}\u{fffb}\u{e0000}\u{e0001}\u{e0020}\u{e007f}\u{e0100}\u{e01ef}";
        for c in all.chars() {
            assert!(needs_escape(c), "{}", c.escape_unicode());
        }
        let needed =
            "aé가나다漢字 می\u{200c}خواهم क्\u{200d}ष 👩\u{200d}💻 ❤\u{fe0f} \u{a0}\u{3000}\u{e000}";
        for c in needed.chars() {
            assert!(!needs_escape(c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn escaping_json_keeps_its_value() {
        let all: String = ('\0'..=char::MAX).filter(|c| needs_escape(*c)).collect();
        let value = serde_json::json!({"a": all, all.as_str(): ["가", "\u{1f600}"]});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let plain = escape_json(&text);
        assert!(!plain.chars().any(|c| needs_escape(c) && c != '\n'));
        let again: serde_json::Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(again, value);
        assert!(matches!(escape_json("{\n\"가\": 1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn escapes_control_characters_and_those_that_reorder_text() {
        let check = |text: &str, expected: &str| {
            assert_eq!(escape_lines(text), expected);
            assert_eq!(
                escape_lines(expected),
                expected,
                "escaping twice is escaping once"
            );
        };
        check("two\nlines\tand 한글 😀", "two\nlines\tand 한글 😀");
        check("\u{1b}[31mred", "\\u{1b}[31mred");
        check("a\rb\0c\u{7f}", "a\\u{d}b\\u{0}c\\u{7f}");
        check("\u{85}\u{9b}2J", "\\u{85}\\u{9b}2J");
        check("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}");
        check("\u{202e}gpj\u{2066}", "\\u{202e}gpj\\u{2066}");
        check("a\u{200f}\u{61c}\u{e0041}", "a\\u{200f}\\u{61c}\\u{e0041}");
        let all: String = ('\0'..=char::MAX).filter(|c| needs_escape(*c)).collect();
        assert!(!escape_lines(&all).contains(needs_escape_in_lines));
        assert!(!escape(&all).contains(needs_escape));
    }

    #[test]
    fn shortens_text_to_one_line() {
        assert_eq!(shorten("a\nb\tc", 10), "a b c");
        assert_eq!(shorten("abcdef", 6), "abcdef");
        assert_eq!(shorten("abcdefg", 6), "abcdef…");
        assert_eq!(shorten("\u{1b}[0m", 2), "\\u{1b}[…");
    }

    #[test]
    fn lists_at_most_so_many_names() {
        assert_eq!(listed([], 2), "");
        assert_eq!(listed(["a", "b\n"], 2), "a, b ");
        assert_eq!(listed(["a", "b", "c"], 2), "a, b, …");
        assert_eq!(listed(["n".repeat(99).as_str()], 1).chars().count(), 81);
    }
}
