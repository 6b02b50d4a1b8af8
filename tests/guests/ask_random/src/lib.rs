//! Gets random bytes. Input `{bytes, insecure?}`: with `insecure`, from the insecure interface.
//! Output `{bytes}`: the number of bytes received.

use guest_glue::wasi::random::{insecure, random};
use guest_glue::{ToolError, Value, json, number};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let bytes = number(&input, "bytes").unwrap_or(0);
    let came = if input["insecure"] == true {
        insecure::get_insecure_random_bytes(bytes)
    } else {
        random::get_random_bytes(bytes)
    };
    Ok(json!({ "bytes": came.len() }))
}
