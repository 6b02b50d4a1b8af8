//! Converts items of the Tool Catalog to tools of MCP.

use std::sync::Arc;

use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use toolhost::{
    Agent, JsonObject, ToolCatalogItem,
    tool::{JsonSchemaObject, ToolAccess},
};

/// Returns the tool of a catalog item: the same name, description and schema. Its annotations follow from
/// what its component imports and what the policy grants to it. A tool that can return pending results has no
/// output schema here: clients would refuse these results.
///
/// Spec: tool-spec-v2 §13.1.
pub(crate) fn tool_of(item: &ToolCatalogItem, agent: &Agent) -> Tool {
    let description = item.description.clone().map(Into::into);
    let mut tool = Tool::new_with_raw(item.name.to_string(), description, input_schema(item));
    if let Some(schema) = &item.output_schema
        && !agent.tool_can_be_pending(item.name.as_str())
    {
        tool = tool.with_raw_output_schema(Arc::new(schema.as_object().clone()));
    }
    match agent.tool_access(item.name.as_str()) {
        Some(access) => tool.with_annotations(annotations(access)),
        None => tool,
    }
}

fn input_schema(item: &ToolCatalogItem) -> Arc<JsonObject> {
    let any = JsonSchemaObject::any_object;
    let schema = item.parameters.clone().unwrap_or_else(any);
    Arc::new(schema.as_object().clone())
}

fn annotations(access: ToolAccess) -> ToolAnnotations {
    let annotations = ToolAnnotations::new()
        .read_only(access.is_read_only())
        .open_world(access.network);
    if access.is_read_only() {
        annotations.destructive(false).idempotent(true)
    } else {
        annotations
    }
}

/// The tool that polls for the result of a call that is pending. Names of the catalog contain `__`.
pub(crate) const POLL: &str = "poll";

/// The tool that shows on a card that a call waits for approval.
pub(crate) const APPROVAL: &str = "approval";

/// The card of [`APPROVAL`].
pub(crate) const CARD_URI: &str = "ui://toolhost/approval";

/// Returns the definition of [`POLL`].
pub(crate) fn poll_tool() -> Tool {
    let description = "Returns the result of a call whose result was pending, or `pending` again";
    handle_tool(POLL, description)
}

/// Returns the definition of [`APPROVAL`].
pub(crate) fn approval_tool() -> Tool {
    let description = "Shows the user a card about a call that waits for approval, which opens the page where it is \
         decided. Nobody decides by it";
    let mut meta = MetaObject::new();
    meta.insert("ui".to_owned(), json!({"resourceUri": CARD_URI}));
    handle_tool(APPROVAL, description).with_meta(meta)
}

/// Returns the definition of a tool that reads how a pending call is.
fn handle_tool(name: &'static str, description: &'static str) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "handle": {
                "type": "string",
                "description": "The handle that the pending result contained",
            },
        },
        "required": ["handle"],
        "additionalProperties": false,
    });
    let Value::Object(schema) = schema else {
        return Tool::default();
    };
    Tool::new(name, description, Arc::new(schema)).with_annotations(
        ToolAnnotations::new()
            .read_only(true)
            .destructive(false)
            .open_world(false),
    )
}
