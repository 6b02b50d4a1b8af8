//! Tools that log and fail.

use std::thread::sleep;
use std::time::Duration;

use toolhost_guest::{Context, ToolError, Value};

/// Time between two records.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn log(ctx: &Context, _: Value) -> Result<&'static str, ToolError> {
    ctx.logger().info("Tool execution started");
    sleep(PAUSE);
    ctx.logger().info("Tool processing data");
    sleep(PAUSE);
    ctx.logger().info("Tool execution completed");
    Ok("Tool execution completed")
}

pub(crate) fn fail(_: &Context, _: Value) -> Result<Value, ToolError> {
    Err(ToolError::new(
        "This tool intentionally returns an error for testing",
    ))
}

/// Does nothing: the operator changes the bundle when this tool is called.
pub(crate) fn nothing(_: &Context, _: Value) -> Result<&'static str, ToolError> {
    Ok("The operator changes the bundle")
}
