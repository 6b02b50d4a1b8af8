//! The `http-fetch` tool: gets and posts over HTTP.
//!
//! The policy decides which origins may be reached; the host checks each request, also those
//! that follow a redirect. Refused requests and network failures have different codes.

use toolhost_guest::{Value, handlers, json};

mod body;
mod exchange;
mod fault;
mod fetch;
mod headers;

handlers! {
    "get" => fetch::get {
        description: "Gets a URL; only origins that the policy allows",
        parameters: parameters(json!({})),
    },
    "post" => fetch::post {
        description: "Posts a body to a URL; only origins that the policy allows",
        parameters: parameters(json!({
            "body": { "type": "string", "description": "The body, as text" },
            "json": { "description": "The body, as a JSON value; sets the content type" },
        })),
    },
}

fn parameters(mut properties: Value) -> Value {
    let both = json!({
        "url": { "type": "string", "description": "http:// or https://" },
        "headers": { "type": "object", "additionalProperties": { "type": "string" }, "description": "Headers of the request" },
        "timeoutMs": { "type": "integer", "minimum": 1, "maximum": 600_000, "description": "Give up after this long (default 20000)" },
        "maxBytes": { "type": "integer", "minimum": 1, "maximum": 500_000, "description": "Most bytes of the body to return (default 100000)" },
        "maxRedirects": { "type": "integer", "minimum": 0, "maximum": 10, "description": "Redirects to follow (default 5)" },
    });
    if let (Some(own), Value::Object(both)) = (properties.as_object_mut(), both) {
        own.extend(both);
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": ["url"],
        "additionalProperties": false,
    })
}
