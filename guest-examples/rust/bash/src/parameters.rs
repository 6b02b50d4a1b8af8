//! The JSON Schemas of the handlers. Those in goondan.yaml have precedence.

use toolhost_guest::{Value, json};

pub(crate) fn exec() -> Value {
    object(
        "command",
        json!({ "command": { "type": "string", "description": "What bash runs; may have many lines" } }),
    )
}

pub(crate) fn script() -> Value {
    object(
        "path",
        json!({
            "path": { "type": "string", "description": "The script, relative to the workdir" },
            "args": { "type": "array", "items": { "type": "string" }, "description": "Its $1, $2, …" },
        }),
    )
}

fn object(required: &str, mut properties: Value) -> Value {
    let both = json!({
        "cwd": { "type": "string", "description": "Folder to start in, relative to the workdir (default: the workdir)" },
        "env": { "type": "object", "additionalProperties": { "type": "string" }, "description": "Variables to export" },
        "stdin": { "type": "string", "description": "What it reads from standard input" },
        "timeoutMs": { "type": "integer", "minimum": 1, "maximum": 600_000, "description": "Stop after this long (default 20000); never beyond the host's deadline" },
    });
    if let (Some(own), Value::Object(both)) = (properties.as_object_mut(), both) {
        own.extend(both);
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": [required],
        "additionalProperties": false,
    })
}
