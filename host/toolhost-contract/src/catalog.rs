//! Items of the Tool Catalog.

use serde::{Deserialize, Serialize};

use crate::{JsonSchemaObject, ToolName};

/// One tool in a step's Tool Catalog.
///
/// Spec: tool-spec-v2 §13.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCatalogItem {
    /// Name for the model, such as `bash__exec`.
    pub name: ToolName,
    /// Description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments; absent means any object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<JsonSchemaObject>,
    /// JSON Schema of the output: `outputSchema`. Absent means any output. Not in the specification; as MCP has it.
    #[serde(
        default,
        rename = "outputSchema",
        skip_serializing_if = "Option::is_none"
    )]
    pub output_schema: Option<JsonSchemaObject>,
    /// Source of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ToolSource>,
}

/// Source of a tool: `{"type": "config", "name": "bash"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSource {
    /// Kind of source.
    #[serde(rename = "type")]
    pub source_type: SourceType,
    /// Name of the Tool resource, the extension or the MCP connector.
    pub name: String,
    /// The MCP server, for `type: mcp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpSource>,
}

impl ToolSource {
    /// Returns the source of a tool that a bundle declares.
    pub fn config(name: impl Into<String>) -> Self {
        Self {
            source_type: SourceType::Config,
            name: name.into(),
            mcp: None,
        }
    }

    /// Returns the source of a tool that an extension registers.
    pub fn extension(name: impl Into<String>) -> Self {
        Self {
            source_type: SourceType::Extension,
            ..Self::config(name)
        }
    }
}

/// Kind of a tool's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceType {
    /// Declared in the bundle.
    Config,
    /// Registered by an extension.
    Extension,
    /// Served by an MCP server.
    Mcp,
}

/// The MCP server behind a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpSource {
    /// Extension that connects to the server.
    pub extension_name: String,
    /// Name of the server, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
}
