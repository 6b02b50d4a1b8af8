//! Opens files and holds them all. Input `{count, path?}` (default `/held`, made when absent).
//! Output `{opened, error?}`.

use std::fs::OpenOptions;

use guest_glue::{ToolError, Value, io_error, json, number, text};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let count = number(&input, "count").unwrap_or(0);
    let path = text(&input, "path", "/held");
    let mut held = Vec::new();
    for _ in 0..count {
        match OpenOptions::new().append(true).create(true).open(path) {
            Ok(file) => held.push(file),
            Err(error) => return Ok(json!({ "opened": held.len(), "error": io_error(&error) })),
        }
    }
    Ok(json!({ "opened": held.len() }))
}
