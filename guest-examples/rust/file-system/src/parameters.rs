//! The JSON Schemas of the handlers. Those in goondan.yaml have precedence.

use toolhost_guest::{Value, json};

pub(crate) fn read() -> Value {
    object(
        &["path"],
        json!({
            "path": path(),
            "maxBytes": { "type": "integer", "minimum": 1, "description": "Most bytes to read (default 100000)" },
        }),
    )
}

pub(crate) fn write() -> Value {
    object(
        &["path", "content"],
        json!({
            "path": path(),
            "content": { "type": "string", "description": "Text to write" },
            "append": { "type": "boolean", "description": "Add to the end instead of replacing (default false)" },
        }),
    )
}

pub(crate) fn list() -> Value {
    object(
        &[],
        json!({
            "path": { "type": "string", "description": "Folder relative to the workdir (default: the workdir)" },
            "recursive": { "type": "boolean", "description": "Also what is in folders below (default false)" },
            "includeDirs": { "type": "boolean", "description": "List folders (default true)" },
            "includeFiles": { "type": "boolean", "description": "List files (default true)" },
        }),
    )
}

pub(crate) fn mkdir() -> Value {
    object(
        &["path"],
        json!({
            "path": path(),
            "recursive": {
                "type": "boolean",
                "description": "Make parents too, and accept a folder that exists (default true)",
            },
        }),
    )
}

fn path() -> Value {
    json!({ "type": "string", "description": "Path relative to the workdir" })
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
