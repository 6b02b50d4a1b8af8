//! Describes parameters that are not an object schema. The handler returns its input.

use toolhost_guest::{Context, ToolError, Value, json};

toolhost_guest::handlers! {
    "run" => run { parameters: json!({"type": "string"}) },
}

fn run(_: &Context, input: Value) -> Result<Value, ToolError> {
    Ok(input)
}
