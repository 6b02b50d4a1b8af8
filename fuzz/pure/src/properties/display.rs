//! Properties of text for display.

/// Asserts that text has no control or bidirectional characters, and at most `bytes_max` bytes.
pub(super) fn is_safe(text: &str, bytes_max: usize) {
    let is_unsafe = |c: char| {
        let is_bidirectional = matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        is_bidirectional || (c.is_control() && !matches!(c, '\n' | '\t'))
    };
    assert!(!text.chars().any(is_unsafe), "unsafe characters: {text:?}");
    assert!(
        text.len() <= bytes_max,
        "{} bytes, at most {bytes_max}: {text:.200}",
        text.len()
    );
}

/// Asserts that text is safe to display and has one line.
pub(super) fn is_one_line(text: &str, bytes_max: usize) {
    is_safe(text, bytes_max);
    assert!(!text.contains(['\n', '\t']), "more than one line: {text:?}");
}
