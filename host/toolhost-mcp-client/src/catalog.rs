//! Registers the tools of a server with agents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rmcp::model::Tool;
use serde_json::Value;
use toolhost::{
    ToolCatalogItem, ToolName,
    extension::{ExtensionApi, ExtensionError},
    lock::Words,
    mcp::McpSource,
    tool::{JsonSchemaObject, SourceType, ToolSource},
};

use crate::config::McpServerConfig;
use crate::error::McpFinding;
use crate::handler::McpTool;
use crate::list::ToolList;
use crate::names::tool_names;
use crate::state::ServerContext;

/// Most findings about the tools of one server.
const FINDINGS_MAX: usize = 100;

/// The tools of a server that agents have.
pub(crate) struct Catalog {
    /// One for each agent.
    apis: Vec<ExtensionApi>,
    registered: BTreeMap<ToolName, Registered>,
}

/// A tool that agents have.
struct Registered {
    tool: Tool,
    words: Words,
    /// A sentence for each of its patterns that is not checked.
    unchecked: Vec<String>,
}

impl Catalog {
    pub(crate) fn new(apis: Vec<ExtensionApi>) -> Self {
        Self {
            apis,
            registered: BTreeMap::new(),
        }
    }

    /// The number of tools that agents have.
    pub(crate) fn len(&self) -> usize {
        self.registered.len()
    }

    /// The descriptions and schemas of the tools that agents have, by tool name.
    pub(crate) fn words(&self) -> BTreeMap<String, Words> {
        let tools = self.registered.iter();
        tools
            .map(|(name, tool)| (name.to_string(), tool.words.clone()))
            .collect()
    }

    /// Registers the tools of a list, and removes others. Agents see the change in their next step. Returns
    /// what is wrong with tools, most of which are left out.
    pub(crate) fn update(
        &mut self,
        shared: &Arc<ServerContext>,
        list: ToolList,
    ) -> Vec<McpFinding> {
        let config = &shared.config;
        let mut findings = list.findings;
        let mut registered: BTreeMap<ToolName, Registered> = BTreeMap::new();
        let mut missing: BTreeSet<&str> =
            config.tools.iter().flatten().map(String::as_str).collect();
        let is_used = |tool: &Tool| config.tools.is_none() || missing.remove(&*tool.name);
        let tools: Vec<Tool> = list.tools.into_iter().filter(is_used).collect();
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let names = tool_names(&config.prefix, &names);
        for (tool, name) in tools.into_iter().zip(names) {
            let entry = name.and_then(|name| self.register(shared, &tool, name, &registered));
            match entry {
                Ok((name, entry)) => {
                    let notes = entry.unchecked.iter();
                    let note = |note: &String| {
                        McpFinding::note(
                            &tool.name,
                            format_args!("a pattern is not checked: {note}"),
                        )
                    };
                    findings.extend(notes.map(note));
                    registered.insert(name, entry);
                }
                Err(reason) => findings.push(McpFinding::new(&tool.name, reason)),
            }
        }
        let has_not = missing
            .iter()
            .map(|name| McpFinding::new(name, "the server has no such tool"));
        findings.extend(has_not);
        findings.truncate(FINDINGS_MAX);
        for gone in self
            .registered
            .keys()
            .filter(|name| !registered.contains_key(*name))
        {
            for api in &self.apis {
                // It fails if the agent was dropped.
                let _ = api.tools().unregister(gone.as_str());
            }
        }
        self.registered = registered;
        findings
    }

    /// Registers a tool with every agent, unless it is registered as it is.
    fn register(
        &self,
        shared: &Arc<ServerContext>,
        tool: &Tool,
        name: ToolName,
        others: &BTreeMap<ToolName, Registered>,
    ) -> Result<(ToolName, Registered), String> {
        if others.contains_key(&name) {
            return Err(format!(
                "the server has two tools of this name, and the first is {name}"
            ));
        }
        let item = item(&shared.config, tool, name.clone())?;
        let mut registered = Registered {
            words: Words::of_item(&item),
            tool: tool.clone(),
            unchecked: Vec::new(),
        };
        check_lock(&shared.config, &name, &registered.words)?;
        if let Some(earlier) = self.registered.get(&name)
            && earlier.tool == *tool
        {
            registered.unchecked.clone_from(&earlier.unchecked);
            return Ok((name, registered));
        }
        for api in &self.apis {
            let handler = McpTool {
                shared: Arc::clone(shared),
                name: tool.name.as_ref().into(),
                has_output_schema: item.output_schema.is_some(),
            };
            match api.tools().register_foreign(item.clone(), handler) {
                Ok(unchecked) => registered.unchecked = unchecked,
                // The agent was dropped: others may be alive.
                Err(ExtensionError::Gone { .. }) => {}
                Err(error) => {
                    for api in &self.apis {
                        let _ = api.tools().unregister(name.as_str());
                    }
                    return Err(error.to_string());
                }
            }
        }
        Ok((name, registered))
    }
}

/// Refuses a tool that differs from the lock.
fn check_lock(config: &McpServerConfig, name: &ToolName, words: &Words) -> Result<(), String> {
    let Some(lock) = &config.lock else {
        return Ok(());
    };
    let server = &config.name;
    for (drift, is_stopped) in lock.compare(server.as_str(), name.as_str(), words) {
        if is_stopped {
            return Err(format!(
                "{drift}; after a review: toolhost lock --update {server}"
            ));
        }
        tracing::warn!(target: "toolhost::mcp", %server, "{drift}");
    }
    Ok(())
}

/// Returns the catalog item of a tool.
fn item(config: &McpServerConfig, tool: &Tool, name: ToolName) -> Result<ToolCatalogItem, String> {
    let mut schema = toolhost::JsonObject::clone(&tool.input_schema);
    // Arguments are an object, whether the schema says it or not.
    schema
        .entry("type")
        .or_insert_with(|| Value::from("object"));
    let parameters =
        JsonSchemaObject::parse(Value::Object(schema)).map_err(|error| error.to_string())?;
    let title = || tool.title.clone();
    let output_schema = tool.output_schema.as_ref();
    let output_schema =
        output_schema.map(|schema| Value::Object(toolhost::JsonObject::clone(schema)));
    // A catalog item has an output schema only if it describes an object.
    let output_schema = output_schema.and_then(|schema| JsonSchemaObject::parse(schema).ok());
    Ok(ToolCatalogItem {
        name,
        description: tool
            .description
            .as_deref()
            .map(str::to_owned)
            .or_else(title),
        parameters: Some(parameters),
        output_schema,
        source: Some(ToolSource {
            source_type: SourceType::Mcp,
            name: config.name.to_string(),
            mcp: Some(McpSource {
                extension_name: String::new(),
                server_name: Some(config.name.to_string()),
            }),
        }),
    })
}
