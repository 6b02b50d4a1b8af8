//! What several measurements share.

use serde_json::Value;
use toolhost::ToolCall;

/// Returns a call of a tool. `args` is a JSON object.
pub(crate) fn call(name: &str, args: Value) -> ToolCall {
    let Value::Object(args) = args else {
        unreachable!("arguments are an object")
    };
    ToolCall::new("call-1", name, args)
}

/// Returns the middle value; `values` holds at least one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
