//! Fails with exactly the fields of its input `{message, name?, code?, suggestion?, helpUrl?}`.
//! With `{bytes}` instead of `message` the message is that many times `m`.

use guest_glue::{ToolError, Value, number, text};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let field = |key: &str| input[key].as_str().map(String::from);
    let message = match number(&input, "bytes") {
        Some(bytes) => "m".repeat(bytes as usize),
        None => text(&input, "message", "").to_owned(),
    };
    Err(ToolError {
        message,
        name: field("name"),
        code: field("code"),
        suggestion: field("suggestion"),
        help_url: field("helpUrl"),
    })
}
