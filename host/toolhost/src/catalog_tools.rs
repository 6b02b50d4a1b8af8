//! The tools for finding and calling other tools: `tools__search`, `tools__call`.

use serde_json::{Value, json};

use crate::catalog::search::hits::HITS_MAX;
use crate::catalog::tool_names::{SEARCH, search_description};
use crate::extension::extend::extend;
use crate::extension::{ExtensionApi, ExtensionError};
use crate::loaded_bundle::LoadedBundle;
use crate::registry::CatalogTool;

/// Registers the tools with which a model searches the catalog and calls what it finds:
/// `agent.extend("tools", toolhost::catalog_tools)`.
///
/// A model that gets these two alone ([`TurnStart::with_exposure`](crate::TurnStart::with_exposure)) can use a catalog of any
/// size, and its list of tools stays the same.
///
/// | tool | output |
/// |---|---|
/// | `tools__search` `{query, limit?}` | `{tools: [{name, description?, parameters?, outputSchema?}], searched, omitted?, message?}` |
/// | `tools__call` `{name, args?}` | that of the called tool |
///
/// A call by `tools__call` is a call of the tool: it runs through the middleware under the tool's name, and is admitted,
/// validated and limited as one that the model makes. Its id is that of `tools__call` followed by `/1`, and its result is
/// the result of both.
///
/// # Errors
/// [`ExtensionError`] if a tool of the same name is registered, or the bundle has one.
pub fn catalog_tools(api: &ExtensionApi) -> Result<(), ExtensionError> {
    let register = |tool: CatalogTool, description: &str, properties: Value, required| {
        let parameters = json!({
            "type": "object", "properties": properties, "required": [required],
            "additionalProperties": false,
        });
        let name = tool.name();
        let item = json!({"name": name, "description": description, "parameters": parameters});
        let item = serde_json::from_value(item).map_err(|reason| api.error(reason))?;
        api.tools().register_catalog_tool(item, tool)
    };
    register(
        CatalogTool::Search,
        &search_description(true),
        json!({
            "query": {
                "type": "string", "minLength": 1, "maxLength": 1024,
                "description": "What the tool should do, in a few words, or its name",
            },
            "limit": {
                "type": "integer", "minimum": 1, "maximum": HITS_MAX,
                "description": "Most tools to return; default 5",
            },
        }),
        "query",
    )?;
    register(
        CatalogTool::Call,
        "Calls a tool that tools__search found, and returns its output.",
        json!({
            "name": {"type": "string", "description": "Name of the tool"},
            "args": {"type": "object", "description": "Arguments that fit its parameters"},
        }),
        "name",
    )
}

impl LoadedBundle {
    /// Adds [`catalog_tools`] to each agent of the bundle that does not have them, as the extension `tools`, and to
    /// each agent that appears when the bundle is loaded again.
    ///
    /// # Errors
    /// [`ExtensionError`] if the bundle has a tool of the same name.
    pub fn add_catalog_tools(&self) -> Result<(), ExtensionError> {
        let agents = self
            .agents()
            .iter()
            .map(|agent| (&agent.0.overlay, agent.name()));
        let all = agents.chain([(&self.0.overlays.initial, "")]);
        let mut without = all.filter(|(overlay, _)| overlay.snapshot().get(SEARCH).is_none());
        without.try_for_each(|(overlay, agent)| extend(overlay, agent, "tools", catalog_tools))
    }
}
