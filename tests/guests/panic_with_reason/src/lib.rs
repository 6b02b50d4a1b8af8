//! Panics with `the reason: {reason}`. Input `{reason}`.

use guest_glue::{ToolError, Value, text};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    panic!("the reason: {}", text(&input, "reason", "none"))
}
