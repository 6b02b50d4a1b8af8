//! Loops endlessly. Input: see `leave_traces`.

use toolhost_guest::{Context, ToolError, Value};
use traces::leave_traces;

toolhost_guest::handlers! { "run" => run }

fn run(_: &Context, input: Value) -> Result<Value, ToolError> {
    leave_traces(&input);
    let mut n = 0u64;
    loop {
        n = std::hint::black_box(n.wrapping_add(1));
    }
}
