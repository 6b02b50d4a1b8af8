//! Sleeps. Input `{seconds?}` (default 10⁹) and that of `leave_traces`. Output `{slept}`.

use std::thread;
use std::time::Duration;

use guest_glue::{ToolError, Value, json, leave_traces};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    leave_traces(&input);
    let seconds = input["seconds"].as_f64().unwrap_or(1e9);
    thread::sleep(Duration::from_secs_f64(seconds));
    Ok(json!({ "slept": seconds }))
}
