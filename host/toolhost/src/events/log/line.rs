//! Events as lines of JSON. Line separators in texts are escaped.

use serde::Serialize;
use toolhost_contract::Timestamp;
use toolhost_contract::text::escape_json;

use super::super::event::RuntimeEvent;

/// Appends an event and a line feed.
pub(super) fn event(to: &mut Vec<u8>, event: &RuntimeEvent) {
    append(to, event);
}

/// Appends a line with the number of lost events.
pub(super) fn lost(to: &mut Vec<u8>, count: u64, at: Timestamp) {
    #[derive(Serialize)]
    struct Line {
        r#type: &'static str,
        timestamp: Timestamp,
        count: u64,
    }
    let line = Line {
        r#type: "log.lost",
        timestamp: at,
        count,
    };
    append(to, &line);
}

fn append(to: &mut Vec<u8>, value: &impl Serialize) {
    // Serializing texts and numbers does not fail.
    if let Ok(json) = serde_json::to_string(value) {
        to.extend_from_slice(escape_json(&json).as_bytes());
        to.push(b'\n');
    }
}
