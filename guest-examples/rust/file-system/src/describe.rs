//! What each handler does and takes, for the model. goondan.yaml may say it differently; what it
//! says goes first.

use serde_json::{Value, json};

use crate::goondan::tool::types::ExportSpec;

/// Names the handlers that `call` runs.
pub(crate) fn handlers() -> Vec<ExportSpec> {
    let path = json!({ "type": "string", "description": "Path relative to the workdir" });
    vec![
        handler(
            "read",
            "Reads a text file of the workdir",
            &["path"],
            json!({
                "path": path,
                "maxBytes": { "type": "integer", "minimum": 1, "description": "Most bytes to read (default 100000)" },
            }),
        ),
        handler(
            "write",
            "Writes a text file of the workdir; makes the folders it needs",
            &["path", "content"],
            json!({
                "path": path,
                "content": { "type": "string", "description": "Text to write" },
                "append": { "type": "boolean", "description": "Add to the end instead of replacing (default false)" },
            }),
        ),
        handler(
            "list",
            "Lists what is in a folder of the workdir",
            &[],
            json!({
                "path": { "type": "string", "description": "Folder relative to the workdir (default: the workdir)" },
                "recursive": { "type": "boolean", "description": "Also what is in folders below (default false)" },
                "includeDirs": { "type": "boolean", "description": "List folders (default true)" },
                "includeFiles": { "type": "boolean", "description": "List files (default true)" },
            }),
        ),
        handler(
            "mkdir",
            "Makes a folder in the workdir",
            &["path"],
            json!({
                "path": path,
                "recursive": {
                    "type": "boolean",
                    "description": "Make parents too, and accept a folder that exists (default true)",
                },
            }),
        ),
    ]
}

fn handler(name: &str, description: &str, required: &[&str], properties: Value) -> ExportSpec {
    let parameters = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    ExportSpec {
        name: name.into(),
        description: Some(description.into()),
        parameters: Some(parameters.to_string()),
    }
}
