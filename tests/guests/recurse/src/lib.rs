//! Recurses until the stack overflows. Input: see `leave_traces`.

use std::hint::black_box;

use guest_glue::{ToolError, Value, json, leave_traces};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    leave_traces(&input);
    Ok(json!(deeper(1)))
}

#[expect(unconditional_recursion, reason = "it is what this guest is for")]
fn deeper(n: u64) -> u64 {
    // Neither a loop nor a tail call: the frame is needed after the call.
    let frame = black_box([n; 8]);
    deeper(n + 1) + frame[0]
}
