//! Loops endlessly. Input: see `leave_traces`.

use guest_glue::{ToolError, Value, leave_traces};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    leave_traces(&input);
    let mut n = 0u64;
    loop {
        n = std::hint::black_box(n.wrapping_add(1));
    }
}
