//! The `echo` tool: returns its input, or the context of the call.

use toolhost_guest::{Context, ToolError, Value, handlers, json};

handlers! {
    "say" => say {
        description: "Returns its input",
        parameters: json!({ "type": "object" }),
    },
    "context" => context {
        description: "Returns the context of this call and writes a line to the log",
        parameters: json!({ "type": "object", "additionalProperties": false }),
    },
}

fn say(_: &Context, input: Value) -> Result<Value, ToolError> {
    Ok(input)
}

/// Returns the context under the names that the specification gives its fields.
fn context(ctx: &Context, _: Value) -> Result<Value, ToolError> {
    // The log is the operator's; the model never sees it.
    ctx.logger()
        .info(format_args!("called by agent {}", ctx.agent_name));
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
