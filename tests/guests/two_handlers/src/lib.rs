//! Serves two handlers, `a` and `b`; each returns `{handler: its name}`.

use guest_glue::{ToolError, Value, json};

guest_glue::serve!("a" => a, "b" => b);

fn a(_input: Value) -> Result<Value, ToolError> {
    Ok(json!({ "handler": "a" }))
}

fn b(_input: Value) -> Result<Value, ToolError> {
    Ok(json!({ "handler": "b" }))
}
