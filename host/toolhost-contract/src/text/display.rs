//! Escapes and truncates untrusted text for models, terminals and logs.

/// [`acts`](super::acts) without line breaks and tabs.
fn acts(c: char) -> bool {
    !matches!(c, '\n' | '\t') && super::acts(c)
}

/// Escapes the characters of [`acts`](super::acts) as `\u{…}`, except line breaks and tabs.
#[must_use]
pub fn escape_lines(text: &str) -> String {
    escape_chars(text.chars())
}

/// Like [`escape_lines`], but reads only the first `limit + 1` characters. A caller that truncates to
/// `limit` can still detect that the text was longer.
#[must_use]
pub fn escape_within(text: &str, limit: usize) -> String {
    escape_chars(text.chars().take(limit.saturating_add(1)))
}

fn escape_chars(chars: impl Iterator<Item = char>) -> String {
    let mut escaped = String::new();
    for c in chars {
        if acts(c) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Escapes a text for one line of a message: replaces line breaks and tabs with spaces, and truncates to
/// `max` characters and `…`.
#[must_use]
pub fn shorten(text: &str, max: usize) -> String {
    let line = |c: char| if matches!(c, '\n' | '\t') { ' ' } else { c };
    let mut short = escape_chars(text.chars().take(max).map(line));
    if text.chars().nth(max).is_some() {
        short.push('…');
    }
    short
}

/// Lists up to `most` names in one line, each truncated to 80 characters, and `…` if there are more.
#[must_use]
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>, most: usize) -> String {
    const NAME_MAX: usize = 80;
    let mut names = names.into_iter();
    let mut listed: Vec<String> = names
        .by_ref()
        .take(most)
        .map(|name| shorten(name, NAME_MAX))
        .collect();
    if names.next().is_some() {
        listed.push("…".to_owned());
    }
    listed.join(", ")
}

/// Truncates text to `max` characters.
#[must_use]
pub fn cut(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}

/// Returns whether the text contains no whitespace and no characters of [`acts`](super::acts).
pub(crate) fn is_plain(text: &str) -> bool {
    !text.chars().any(|c| acts(c) || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_would_act_on_a_terminal_or_reorder_text() {
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
        let all: String = ('\0'..=char::MAX).filter(|c| acts(*c)).collect();
        assert!(!escape_lines(&all).contains(acts));
    }

    #[test]
    fn quotes_in_one_short_line() {
        assert_eq!(shorten("a\nb\tc", 10), "a b c");
        assert_eq!(shorten("abcdef", 6), "abcdef");
        assert_eq!(shorten("abcdefg", 6), "abcdef…");
        assert_eq!(shorten("\u{1b}[0m", 2), "\\u{1b}[…");
    }

    #[test]
    fn lists_so_many_names_and_no_more() {
        assert_eq!(listed([], 2), "");
        assert_eq!(listed(["a", "b\n"], 2), "a, b ");
        assert_eq!(listed(["a", "b", "c"], 2), "a, b, …");
        assert_eq!(listed(["n".repeat(99).as_str()], 1).chars().count(), 81);
    }
}
