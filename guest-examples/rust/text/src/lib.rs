//! The `text` tool: pure handlers. Read this example first.
//!
//! A tool is a set of functions from the model's arguments to a result. serde reads the arguments
//! and writes the result.

use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError, Value, handlers, json};

handlers! {
    "upper" => upper {
        description: "Turns text into upper case",
        parameters: text(),
    },
    "count" => count {
        description: "Counts the lines, words and characters of text",
        parameters: text(),
    },
    "fail" => fail {
        description: "Fails with a message of the given length, to try out error handling",
        parameters: json!({
            "type": "object",
            "properties": {
                "length": { "type": "integer", "minimum": 0, "description": "Length of the message in characters" },
                "code": { "type": "string", "description": "Code of the error" },
                "suggestion": { "type": "string", "description": "Suggestion of the error" },
            },
            "required": ["length"],
            "additionalProperties": false,
        }),
    },
}

/// Parameters of the handlers that take a text. Those in goondan.yaml have precedence.
fn text() -> Value {
    json!({
        "type": "object",
        "properties": { "text": { "type": "string" } },
        "required": ["text"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct TextInput {
    text: String,
}

#[derive(Serialize)]
struct Upper {
    text: String,
}

fn upper(_: &Context, input: TextInput) -> Result<Upper, ToolError> {
    Ok(Upper {
        text: input.text.to_uppercase(),
    })
}

#[derive(Serialize)]
struct Counts {
    lines: usize,
    words: usize,
    chars: usize,
}

fn count(_: &Context, input: TextInput) -> Result<Counts, ToolError> {
    Ok(Counts {
        lines: input.text.lines().count(),
        words: input.text.split_whitespace().count(),
        chars: input.text.chars().count(),
    })
}

#[derive(Deserialize)]
struct FailInput {
    length: usize,
    code: Option<String>,
    suggestion: Option<String>,
}

/// Fails with a message of exactly `length` characters. The host cuts it to the Tool's
/// `errorMessageLimit`.
fn fail(_: &Context, input: FailInput) -> Result<(), ToolError> {
    let message: String = "this handler always fails; "
        .chars()
        .cycle()
        .take(input.length)
        .collect();
    let mut error = ToolError::new(message);
    error.code = input.code;
    error.suggestion = input.suggestion;
    Err(error)
}
