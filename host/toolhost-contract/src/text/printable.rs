//! Escapes and truncates a guest's text.

use super::{CUT, needs_escape};

/// Escapes control characters, line breaks and characters that reorder text. Truncates the result to
/// `bytes_max` and marks the end if it is longer.
pub fn printable(text: &str, bytes_max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(bytes_max));
    for c in text.chars() {
        let before = out.len();
        if needs_escape(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        if out.len() > bytes_max {
            out.truncate(before);
            out.push_str(CUT);
            break;
        }
    }
    // The text may be kept for long.
    out.shrink_to_fit();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_text_cannot_break_or_reorder_a_line() {
        let text = "a\nb\r\u{1b}[31m\u{2028}\u{202e}c\u{85}";
        let escaped = printable(text, 1000);
        assert!(!escaped.chars().any(char::is_control), "{escaped}");
        assert_eq!(escaped, r"a\u{a}b\u{d}\u{1b}[31m\u{2028}\u{202e}c\u{85}");
        assert_eq!(printable("가나다", 7), "가나… (cut)");
        let all: String = ('\0'..=char::MAX).filter(|c| needs_escape(*c)).collect();
        assert!(!printable(&all, 1 << 20).contains(needs_escape));
    }
}
