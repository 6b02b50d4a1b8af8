//! Lists a folder. Input `{path?, hold?}` (default `/`).
//!
//! With `hold` it opens that many listings, takes one name of each and keeps them all open.
//! Output `{count, error?}`: names read, or listings held.

use std::fs;

use guest_glue::{ToolError, Value, io_error, json, number, text};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let path = text(&input, "path", "/");
    Ok(match number(&input, "hold") {
        Some(listings) => hold(path, listings),
        None => count(path),
    })
}

fn count(path: &str) -> Value {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return json!({ "count": 0, "error": io_error(&error) }),
    };
    let mut count = 0;
    for entry in entries {
        if let Err(error) = entry {
            return json!({ "count": count, "error": io_error(&error) });
        }
        count += 1;
    }
    json!({ "count": count })
}

fn hold(path: &str, listings: u64) -> Value {
    let mut held = Vec::new();
    for _ in 0..listings {
        let mut entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return json!({ "count": held.len(), "error": io_error(&error) }),
        };
        if let Some(Err(error)) = entries.next() {
            return json!({ "count": held.len(), "error": io_error(&error) });
        }
        held.push(entries);
    }
    json!({ "count": held.len() })
}
