//! The `text` tool: pure functions. Read this example first.
//!
//! A tool is a set of functions from the model's arguments to a result. serde reads the arguments and writes the
//! result; their types and doc comments are the schemas and descriptions, of which those in goondan.yaml have precedence.

use serde::Serialize;
use toolhost_guest::{ToolError, handlers, schemars, tool};

handlers! { upper, count, fail }

/// Turns text into upper case
#[tool]
fn upper(text: &str) -> Upper {
    Upper {
        text: text.to_uppercase(),
    }
}

#[derive(Serialize, schemars::JsonSchema)]
struct Upper {
    text: String,
}

/// Counts the lines, words and characters of text
#[tool]
fn count(text: &str) -> Counts {
    Counts {
        lines: text.lines().count(),
        words: text.split_whitespace().count(),
        chars: text.chars().count(),
    }
}

#[derive(Serialize, schemars::JsonSchema)]
struct Counts {
    lines: usize,
    words: usize,
    chars: usize,
}

/// Fails with a message of the given length, to try out error handling
#[tool]
fn fail(
    /// Length of the message in characters
    length: usize,
    /// Code of the error
    code: Option<String>,
    /// Suggestion of the error
    suggestion: Option<String>,
) -> Result<(), ToolError> {
    // The host cuts it to the Tool's `errorMessageLimit`.
    let message: String = "this handler always fails; "
        .chars()
        .cycle()
        .take(length)
        .collect();
    let mut error = ToolError::new(message);
    error.code = code;
    error.suggestion = suggestion;
    Err(error)
}
