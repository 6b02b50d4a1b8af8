//! The call that is measured.

use serde_json::{Value, json};

/// The tool that is called.
pub(super) const TOOL: &str = "echo__say";

pub(super) fn arguments() -> Value {
    json!({"text": "hello", "n": 1})
}
