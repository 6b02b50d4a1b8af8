//! The `echo` tool: says back its input, or the context it was called in.

use serde_json::{Value, json};

wit_bindgen::generate!({ path: "../../../wit", world: "tool", generate_all });

use exports::goondan::tool::handlers::Guest;
use goondan::tool::types::{ExportSpec, Outcome, ToolContext, ToolError};
use wasi::logging::logging::{Level, log};

struct Echo;
export!(Echo);

impl Guest for Echo {
    fn describe() -> Vec<ExportSpec> {
        let nothing = json!({ "type": "object", "additionalProperties": false });
        vec![
            handler("say", "Returns its input", &json!({ "type": "object" })),
            handler(
                "context",
                "Returns the context of this call and writes a line to the log",
                &nothing,
            ),
        ]
    }

    fn call(name: String, context: ToolContext, input: String) -> Result<Outcome, ToolError> {
        match name.as_str() {
            // Input and output are both JSON text: nothing has to be parsed.
            "say" => Ok(Outcome::Output(input)),
            "context" => {
                // The log is the operator's; the model never sees it.
                log(
                    Level::Info,
                    "echo",
                    &format!("called by agent {}", context.agent_name),
                );
                Ok(Outcome::Output(to_json(&context)?.to_string()))
            }
            _ => Err(error(format!("echo serves no handler `{name}`"))),
        }
    }
}

/// Returns the context under the names that the specification gives its fields.
fn to_json(context: &ToolContext) -> Result<Value, ToolError> {
    let message: Value = serde_json::from_str(&context.message)
        .map_err(|reason| error(format!("the context's message is not JSON: {reason}")))?;
    Ok(json!({
        "agentName": context.agent_name,
        "instanceKey": context.instance_key,
        "turnId": context.turn_id,
        "toolCallId": context.tool_call_id,
        "traceId": context.trace_id,
        "message": message,
        "workdir": context.workdir,
    }))
}

fn error(message: String) -> ToolError {
    ToolError {
        message,
        name: None,
        code: None,
        suggestion: None,
        help_url: None,
    }
}

fn handler(name: &str, description: &str, parameters: &Value) -> ExportSpec {
    ExportSpec {
        name: name.into(),
        description: Some(description.into()),
        parameters: Some(parameters.to_string()),
    }
}
