//! The `text` tool: pure handlers, the smallest tool worth reading first.
//!
//! A tool is a component that exports `goondan:tool/handlers`: `describe` names the handlers, `call`
//! runs one. Input and output are JSON text.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

// Makes the contract's types and the trait `Guest` from wit/. `generate_all` also makes the ones
// that tool.wit takes from other packages (the logger).
wit_bindgen::generate!({ path: "../../../wit", world: "tool", generate_all });

use exports::goondan::tool::handlers::Guest;
use goondan::tool::types::{ExportSpec, Outcome, ToolContext, ToolError};

struct Text;
export!(Text);

impl Guest for Text {
    fn describe() -> Vec<ExportSpec> {
        let text = json!({
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
            "additionalProperties": false,
        });
        let fail = json!({
            "type": "object",
            "properties": {
                "length": { "type": "integer", "minimum": 0, "description": "Length of the message in characters" },
                "code": { "type": "string", "description": "Code of the error" },
                "suggestion": { "type": "string", "description": "Suggestion of the error" },
            },
            "required": ["length"],
            "additionalProperties": false,
        });
        vec![
            handler("upper", "Turns text into upper case", &text),
            handler(
                "count",
                "Counts the lines, words and characters of text",
                &text,
            ),
            handler(
                "fail",
                "Fails with a message of the given length, to try out error handling",
                &fail,
            ),
        ]
    }

    fn call(name: String, _context: ToolContext, input: String) -> Result<Outcome, ToolError> {
        let output = match name.as_str() {
            "upper" => upper(&parse(&input)?),
            "count" => count(&parse(&input)?),
            "fail" => return Err(fail(parse(&input)?)),
            _ => return Err(error(format!("text serves no handler `{name}`"))),
        };
        Ok(Outcome::Output(output.to_string()))
    }
}

#[derive(Deserialize)]
struct TextInput {
    text: String,
}

fn upper(input: &TextInput) -> Value {
    json!({ "text": input.text.to_uppercase() })
}

fn count(input: &TextInput) -> Value {
    json!({
        "lines": input.text.lines().count(),
        "words": input.text.split_whitespace().count(),
        "chars": input.text.chars().count(),
    })
}

#[derive(Deserialize)]
struct FailInput {
    length: usize,
    code: Option<String>,
    suggestion: Option<String>,
}

/// Makes an error whose message has exactly `length` characters. The host cuts it to the Tool's
/// `errorMessageLimit`.
fn fail(input: FailInput) -> ToolError {
    let message: String = "this handler always fails; "
        .chars()
        .cycle()
        .take(input.length)
        .collect();
    ToolError {
        code: input.code,
        suggestion: input.suggestion,
        ..error(message)
    }
}

/// Reads the input. The host has checked it against the parameters, so this fails only where the
/// parameters in goondan.yaml and the type here disagree.
fn parse<T: DeserializeOwned>(input: &str) -> Result<T, ToolError> {
    serde_json::from_str(input).map_err(|reason| error(format!("the input does not fit: {reason}")))
}

fn error(message: String) -> ToolError {
    ToolError {
        message,
        name: None,
        code: None,
        suggestion: None,
        help_url: None,
    }
}

fn handler(name: &str, description: &str, parameters: &Value) -> ExportSpec {
    ExportSpec {
        name: name.into(),
        description: Some(description.into()),
        parameters: Some(parameters.to_string()),
    }
}
