//! Truncation of texts in events.

use std::sync::Arc;

/// Longest id or name, in bytes. Longer ones are truncated and end in `…`.
const ID_MAX_BYTES: usize = 256;

/// Longest error message, in bytes.
const MESSAGE_MAX_BYTES: usize = 4096;

/// Copies no text that is shared and short.
pub(super) fn bounded_id<T: AsRef<str> + Into<Arc<str>>>(text: T) -> Arc<str> {
    truncated(text, ID_MAX_BYTES)
}

pub(super) fn bounded_message(text: &str) -> Arc<str> {
    truncated(text, MESSAGE_MAX_BYTES)
}

fn truncated<T: AsRef<str> + Into<Arc<str>>>(text: T, max: usize) -> Arc<str> {
    if text.as_ref().len() <= max {
        return text.into();
    }
    let text = text.as_ref();
    let start = text.get(..text.floor_char_boundary(max));
    format!("{}…", start.unwrap_or_default()).into()
}
