//! Truncation of texts in events.

use std::sync::Arc;

/// Longest id or name, in bytes. Longer ones are truncated and end in `…`.
const ID_MAX_BYTES: usize = 256;

/// Longest error message, in bytes.
const MESSAGE_MAX_BYTES: usize = 4096;

pub(super) fn bounded_id(text: &str) -> Arc<str> {
    truncated(text, ID_MAX_BYTES)
}

pub(super) fn bounded_message(text: &str) -> Arc<str> {
    truncated(text, MESSAGE_MAX_BYTES)
}

fn truncated(text: &str, max: usize) -> Arc<str> {
    if text.len() <= max {
        return text.into();
    }
    let kept = text.get(..text.floor_char_boundary(max));
    format!("{}…", kept.unwrap_or_default()).into()
}
