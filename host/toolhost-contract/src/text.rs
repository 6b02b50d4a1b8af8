//! Escapes control and invisible characters, in text and in JSON, and quotes words for a shell.

mod cuts;
mod display;

use std::borrow::Cow;
use std::fmt::Write;

pub use cuts::{CUT, cuts, left_out};
pub(crate) use display::is_plain;
pub use display::{cut, escape_lines, escape_within, listed, shorten};

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
#[must_use]
pub fn acts(c: char) -> bool {
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

/// Escapes the characters of [`acts`] as `\u{…}`, also line breaks and tabs.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) {
            plain.extend(c.escape_unicode());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Escapes the characters of [`acts`] in a JSON text as `\u…`. The value stays the same. Line breaks
/// are kept, because in JSON they only occur between values.
#[must_use]
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let acts = |c: char| c != '\n' && acts(c);
    if !json.contains(acts) {
        return Cow::Borrowed(json);
    }
    let mut plain = String::with_capacity(json.len() + 64);
    let mut units = [0; 2];
    for c in json.chars() {
        if !acts(c) {
            plain.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut units) {
            // Writing to a `String` does not fail.
            let _ = write!(plain, "\\u{unit:04x}");
        }
    }
    Cow::Owned(plain)
}

/// Quotes a word for a shell, if necessary.
#[must_use]
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | '+');
    match !word.is_empty() && word.chars().all(plain) && !word.starts_with('-') {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_that_acts_is_listed_and_none_that_a_script_needs() {
        let all = "\0\t\n\r\u{1b}\u{7f}\u{80}\u{85}\u{9b}\u{9f}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\
                   \u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\u{2064}\u{2066}\u{2069}\u{206f}\u{feff}\
                   \u{fff9}\u{fffb}\u{e0000}\u{e0001}\u{e0020}\u{e007f}\u{e0100}\u{e01ef}";
        for c in all.chars() {
            assert!(acts(c), "{}", c.escape_unicode());
        }
        let needed =
            "aé가나다漢字 می\u{200c}خواهم क्\u{200d}ष 👩\u{200d}💻 ❤\u{fe0f} \u{a0}\u{3000}\u{e000}";
        for c in needed.chars() {
            assert!(!acts(c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn json_stays_the_same_json() {
        let all: String = ('\0'..=char::MAX).filter(|c| acts(*c)).collect();
        let value = serde_json::json!({"a": all, all.as_str(): ["가", "\u{1f600}"]});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let plain = escape_json(&text);
        assert!(!plain.chars().any(|c| acts(c) && c != '\n'));
        let again: serde_json::Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(again, value);
        assert!(matches!(escape_json("{\n\"가\": 1}"), Cow::Borrowed(_)));
    }
}
