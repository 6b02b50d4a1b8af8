//! Ends the process. Input `{code}` (default 0). WASI 0.2 knows 0 and "not 0".

use guest_glue::{ToolError, Value, leave_traces};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    leave_traces(&input);
    std::process::exit(input["code"].as_i64().unwrap_or(0) as i32)
}
