//! The parameters of each export. goondan.yaml of the base tools has the same.

use toolhost_guest::{Value, json};

pub(crate) fn get() -> Value {
    schema(&["url"], [])
}

pub(crate) fn post() -> Value {
    schema(&["url"], [body()])
}

pub(crate) fn request() -> Value {
    let method = json!({
        "method": { "type": "string", "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] },
    });
    schema(&["method", "url"], [method, body()])
}

fn body() -> Value {
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    let part = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "value": { "type": "string" },
            "path": { "type": "string", "description": "File of the workdir, instead of `value`" },
            "filename": { "type": "string", "description": "Default: the name of the file" },
            "type": { "type": "string", "description": "Content type of the part" },
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    json!({
        "json": { "description": "Body: any JSON value, sent as application/json" },
        "form": {
            "type": "object",
            "additionalProperties": { "anyOf": [scalar, { "type": "array", "items": scalar }] },
            "description": "Body: fields, sent as application/x-www-form-urlencoded",
        },
        "multipart": { "type": "array", "items": part, "minItems": 1, "description": "Body: parts, sent as multipart/form-data" },
        "body": { "type": "string", "description": "Body: text" },
        "base64": { "type": "boolean", "description": "`body` is base64 of the bytes to send" },
        "bodyPath": { "type": "string", "description": "Body: a file of the workdir" },
    })
}

fn schema<const N: usize>(required: &[&str], parts: [Value; N]) -> Value {
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    let common = json!({
        "url": { "type": "string", "description": "http:// or https://" },
        "query": {
            "type": "object",
            "additionalProperties": { "anyOf": [scalar, { "type": "array", "items": scalar }] },
            "description": "Parameters to add to the URL",
        },
        "headers": { "type": "object", "additionalProperties": { "type": "string" }, "description": "Headers of the request" },
        "as": { "type": "string", "enum": ["raw", "markdown", "text"], "description": "Convert an HTML page (default raw)" },
        "saveTo": { "type": "string", "description": "Save the body to this file of the workdir instead of returning it" },
        "overwrite": { "type": "boolean", "description": "`saveTo` may replace a file" },
        "timeoutMs": { "type": "integer", "minimum": 1, "maximum": 600_000, "description": "Give up after this long (default 20000)" },
        "maxBytes": { "type": "integer", "minimum": 1, "maximum": 500_000, "description": "Most bytes of the body to return (default 100000)" },
        "maxRedirects": { "type": "integer", "minimum": 0, "maximum": 10, "description": "Redirects to follow (default 5)" },
    });
    let mut properties = json!({});
    for part in parts.into_iter().chain([common]) {
        if let (Some(properties), Value::Object(part)) = (properties.as_object_mut(), part) {
            properties.extend(part);
        }
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
