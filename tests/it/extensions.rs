//! What a runtime adds to an agent: turns and steps, middleware, dynamic tools.

mod audit_failures;
mod catalog;
mod catalog_tools;
mod contexts;
mod extend_async;
mod middleware;
mod native_workdir;
mod open_layers;
mod tools;
mod turns;
mod typed;

use serde_json::{Value, json};
use toolhost::{HandlerError, JsonObject, ToolCatalogItem, extension::HandlerContext};

/// Returns a catalog item of this name, for any arguments.
pub(crate) fn item(name: &str) -> ToolCatalogItem {
    serde_json::from_value(json!({"name": name, "description": "for the test"})).unwrap()
}

/// A handler that returns its input.
pub(crate) async fn echo(_: HandlerContext, input: JsonObject) -> Result<Value, HandlerError> {
    Ok(Value::Object(input))
}
