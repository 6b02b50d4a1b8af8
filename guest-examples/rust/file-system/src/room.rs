//! How much fits into a result.

/// Bytes of JSON for the content of a result: below the host's limit of 1 MiB, with room for the other keys.
pub(crate) const RESULT_MAX: usize = 1_000_000;

/// Returns how many bytes a text takes in JSON, without its quotes.
pub(crate) fn json_len(text: &str) -> usize {
    text.bytes().map(json_len_of).sum()
}

fn json_len_of(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

/// Returns the first `max` characters of a text, and whether that is all of it.
pub(crate) fn first_chars(text: &str, max: usize) -> (&str, bool) {
    match text.char_indices().nth(max) {
        Some((end, _)) => (text.get(..end).unwrap_or_default(), false),
        None => (text, true),
    }
}

#[cfg(test)]
mod tests {
    use super::{first_chars, json_len};
    use toolhost_guest::json;

    #[test]
    fn counts_the_bytes_of_json() {
        for text in [
            "",
            "a\"b\\c",
            "\u{0}\u{8}\u{c}\n\r\t\u{1f}\u{7f}",
            "é가\u{1f600}",
        ] {
            assert_eq!(
                json_len(text) + 2,
                json!(text).to_string().len(),
                "{text:?}"
            );
        }
        assert_eq!(first_chars("가나", 1), ("가", false));
        assert_eq!(first_chars("가나", 2), ("가나", true));
    }
}
