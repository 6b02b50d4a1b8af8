//! Shortens texts that messages quote.

use toolhost_contract::text;

/// Maximum length of a quoted text, in characters.
pub(crate) const QUOTED_MAX: usize = 80;

/// Shortens a text to 80 characters in one line, without control characters.
pub(crate) fn short(quoted: &str) -> String {
    text::shorten(quoted, QUOTED_MAX)
}
