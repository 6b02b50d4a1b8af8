//! Limits of an event's fields.

use super::event::{AgentEvent, ReplyTo};
use crate::text::needs_escape;

/// Longest id, type, trace id or correlation id, in bytes.
const ID_BYTES_MAX: usize = 128;

/// Longest kind of a source, in bytes.
const KIND_BYTES_MAX: usize = 64;

/// Longest name of an agent, user or connector, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 256;

/// Longest instance key, in bytes.
const KEY_BYTES_MAX: usize = 16 << 10;

/// An invalid field of an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The field is empty.
    #[error("{0} is empty")]
    Empty(&'static str),
    /// The field is too long.
    #[error("{field} has {bytes} bytes; the limit is {max}")]
    TooLong {
        /// Name of the field.
        field: &'static str,
        /// Length in bytes.
        bytes: usize,
        /// Limit in bytes.
        max: usize,
    },
    /// The field contains a control or formatting character.
    #[error("{0} contains a control or formatting character")]
    Control(&'static str),
    /// `createdAt` is not an RFC 3339 time.
    #[error("createdAt is not an RFC 3339 time")]
    CreatedAt,
}

impl AgentEvent {
    /// Checks the limits of all fields except `input` and `metadata`.
    ///
    /// # Errors
    /// [`EventError`] for the first invalid field.
    pub fn check(&self) -> Result<(), EventError> {
        text("id", &self.id, ID_BYTES_MAX)?;
        text("type", &self.event_type, ID_BYTES_MAX)?;
        if !is_rfc3339(&self.created_at) {
            return Err(EventError::CreatedAt);
        }
        if let Some(trace_id) = &self.trace_id {
            text("traceId", trace_id, ID_BYTES_MAX)?;
        }
        text("source.kind", &self.source.kind, KIND_BYTES_MAX)?;
        text("source.name", &self.source.name, NAME_BYTES_MAX)?;
        if let Some(key) = &self.instance_key {
            within("instanceKey", key, KEY_BYTES_MAX)?;
        }
        if let Some(ReplyTo {
            target,
            correlation_id,
        }) = &self.reply_to
        {
            text("replyTo.target", target, NAME_BYTES_MAX)?;
            text("replyTo.correlationId", correlation_id, ID_BYTES_MAX)?;
        }
        Ok(())
    }
}

pub(super) fn correlation_id(id: &str) -> Result<(), EventError> {
    text("correlationId", id, ID_BYTES_MAX)
}

/// Checks that a text is not empty, within `max` bytes and free of control characters.
pub(super) fn text(field: &'static str, text: &str, max: usize) -> Result<(), EventError> {
    if text.is_empty() {
        return Err(EventError::Empty(field));
    }
    if text.contains(needs_escape) {
        return Err(EventError::Control(field));
    }
    within(field, text, max)
}

fn within(field: &'static str, text: &str, max: usize) -> Result<(), EventError> {
    let bytes = text.len();
    if bytes > max {
        return Err(EventError::TooLong { field, bytes, max });
    }
    Ok(())
}

/// Returns whether the text has the form of an RFC 3339 time: `2026-11-21T05:00:00[.000](Z|+09:00)`.
fn is_rfc3339(text: &str) -> bool {
    let form = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let form: String = text.to_ascii_uppercase().chars().map(form).collect();
    let Some(rest) = form.strip_prefix("0000-00-00T00:00:00") else {
        return false;
    };
    let offset = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => {
            let offset = fraction.trim_start_matches('0');
            if !(1..=9).contains(&(fraction.len() - offset.len())) {
                return false;
            }
            offset
        }
    };
    matches!(offset, "Z" | "+00:00" | "-00:00")
}
