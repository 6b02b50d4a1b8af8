//! Properties of text for display.

/// Whether text has no control or bidirectional characters, and at
/// most `bytes_max` bytes.
pub(super) fn is_safe(text: &str, most: usize) {
    let acts = |c: char| {
        let turns = matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        turns || (c.is_control() && !matches!(c, '\n' | '\t'))
    };
    assert!(!text.chars().any(acts), "it acts: {text:?}");
    assert!(
        text.len() <= most,
        "{} bytes, at most {most}: {text:.200}",
        text.len()
    );
}

/// Whether text [`is_safe`] and has one line.
pub(super) fn is_one_line(text: &str, most: usize) {
    is_safe(text, most);
    assert!(!text.contains(['\n', '\t']), "more than one line: {text:?}");
}
