//! Makes untrusted text safe for a terminal.

use std::path::Path;

use toolhost::text::needs_escape;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Escapes control characters as `\u{…}`, and replaces line breaks and tabs by blanks.
pub(crate) fn line(text: &str) -> String {
    toolhost::text::shorten(text, usize::MAX)
}

/// Returns a path as [`line`] does. Bytes that are not UTF-8 are replaced.
pub(crate) fn path(path: &Path) -> String {
    line(&path.to_string_lossy())
}

/// Replaces each control character in a file's text by a visible one of the same length, so that byte
/// offsets stay.
pub(crate) fn source(text: &str) -> String {
    let replacement = |c: char| match c.len_utf8() {
        1 if c == '\r' => ' ',
        1 => '?',
        2 => '¿',
        3 => '\u{fffd}',
        // A visible character of four bytes.
        _ => '\u{1f6ab}',
    };
    let plain = |c: char| {
        if needs_escape(c) && !matches!(c, '\n' | '\t') {
            replacement(c)
        } else {
            c
        }
    };
    text.chars().map(plain).collect()
}

/// Cuts a line to the columns of a terminal, and marks the cut with `…`.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    let mut short: String = line.chars().take_while(fits).collect();
    short.push('…');
    short
}

/// `1 case`, `2 cases`.
pub(crate) fn counted(count: impl TryInto<u64>, what: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            line("a\u{1b}[31m\nb\u{9b}2J\u{202e}가"),
            "a\\u{1b}[31m b\\u{9b}2J\\u{202e}가"
        );
        let escaped: String = ('\0'..=char::MAX).filter(|c| needs_escape(*c)).collect();
        assert!(!line(&escaped).contains(needs_escape));
    }

    #[test]
    fn a_source_keeps_its_offsets() {
        let text = "a\u{1b}b\r\n\u{85}c\u{2028}d";
        let formatted = source(text);
        assert_eq!(formatted.len(), text.len());
        assert_eq!(formatted, "a?b \n¿c\u{fffd}d");
        let escaped: String = ('\0'..=char::MAX).filter(|c| needs_escape(*c)).collect();
        let formatted = source(&escaped);
        assert_eq!(formatted.len(), escaped.len());
        assert!(!formatted.contains(|c| needs_escape(c) && !matches!(c, '\n' | '\t')));
    }

    #[test]
    fn a_line_is_cut_to_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("가나다라", 6), "가나…");
        assert_eq!(cut("abc", 1), "…");
    }
}
