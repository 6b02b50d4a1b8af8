//! Truncation to a Tool's `errorMessageLimit`.

use crate::ErrorMessageLimit;

/// End of a truncated message.
const SUFFIX: &str = "... (truncated)";

/// Length of [`SUFFIX`], in UTF-16 code units; it is ASCII.
const SUFFIX_UNITS: usize = SUFFIX.len();

/// Truncates `message` to `limit` UTF-16 code units, the suffix `... (truncated)` included.
///
/// Never splits a code point, so the result may be one unit shorter. Omits the suffix for limits of 15
/// or less. Idempotent.
///
/// Spec: tool-spec-v2 §10.4, whose snippet exceeds a limit shorter than the suffix.
pub(crate) fn truncate(message: &str, limit: ErrorMessageLimit) -> String {
    let limit = limit.units();
    let whole = prefix(message, limit);
    if whole.len() == message.len() {
        return message.to_owned();
    }
    if limit <= SUFFIX_UNITS {
        return whole.to_owned();
    }
    format!("{}{SUFFIX}", prefix(message, limit - SUFFIX_UNITS))
}

/// Returns the longest prefix of `text` within `units` UTF-16 code units.
fn prefix(text: &str, units: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.len_utf16();
        if used > units {
            return text.get(..at).unwrap_or(text);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(message: &str, units: u32) -> String {
        truncate(message, ErrorMessageLimit::new(units).unwrap())
    }

    #[test]
    fn truncates_to_the_limit_with_a_suffix() {
        // tool-spec-v2 §10.4
        let check = |message: &str, units: u32, expected: &str| {
            assert_eq!(cut(message, units), expected, "{message:.20} at {units}");
        };
        let suffixed = |head: &str| format!("{head}{SUFFIX}");
        check(&"a".repeat(200), 50, &suffixed(&"a".repeat(35)));
        check("abcdefghij", 5, "abcde");
        check(&"x".repeat(20), 15, &"x".repeat(15));
        check(&"x".repeat(20), 16, &suffixed("x"));
        check(&"가".repeat(30), 20, &suffixed(&"가".repeat(5)));
        check(&"😀".repeat(20), 20, &suffixed("😀😀"));
        check("😀", 1, "");
        check("", 1, "");
    }

    #[test]
    fn keeps_a_message_of_exactly_the_limit() {
        // tool-spec-v2 §2.4(2)
        for (length, kept) in [(999, true), (1000, true), (1001, false)] {
            let message = "m".repeat(length);
            assert_eq!(cut(&message, 1000) == message, kept, "{length}");
            assert!(cut(&message, 1000).len() <= 1000);
        }
    }

    #[test]
    fn the_default_limit_is_1000() {
        // tool-spec-v2 §2.4(3), §4.3
        let cut = truncate(&"m".repeat(5000), ErrorMessageLimit::DEFAULT);
        assert_eq!(cut.len(), 1000);
        assert!(cut.ends_with(SUFFIX));
    }

    proptest! {
        #[test]
        fn never_exceeds_the_limit_and_is_idempotent(
            message in "(\\PC|[😀-😎]){0,80}",
            units in 1_u32..100,
        ) {
            let once = cut(&message, units);
            prop_assert!(once.encode_utf16().count() <= units as usize);
            prop_assert_eq!(cut(&once, units), once);
        }
    }
}
