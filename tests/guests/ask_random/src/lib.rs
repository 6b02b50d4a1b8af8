//! Asks for random bytes. Input `{bytes}`.
//! Output `{bytes}`: how many came.

use guest_glue::wasi::random::random::get_random_bytes;
use guest_glue::{ToolError, Value, json, number};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let bytes = number(&input, "bytes").unwrap_or(0);
    Ok(json!({ "bytes": get_random_bytes(bytes).len() }))
}
