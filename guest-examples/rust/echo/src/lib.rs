//! The `echo` tool: returns its input, or the context of the call.

use toolhost_guest::{Context, ToolError, Value, handlers, json, tool};

handlers! { say, context }

/// Returns its input
#[tool]
fn say(input: Value) -> Value {
    input
}

/// Returns the context of this call and writes a line to the log
#[tool]
fn context(ctx: &Context) -> Result<Value, ToolError> {
    // The log is the operator's; the model never sees it.
    ctx.logger()
        .info(format_args!("called by agent {}", ctx.agent_name));
    // Under the names that the specification gives its fields.
    Ok(json!({
        "agentName": ctx.agent_name,
        "instanceKey": ctx.instance_key,
        "turnId": ctx.turn_id,
        "toolCallId": ctx.tool_call_id,
        "traceId": ctx.trace_id,
        "message": ctx.message::<Value>()?,
        "workdir": ctx.workdir,
    }))
}
