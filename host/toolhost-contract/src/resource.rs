//! Resources of a bundle: Tool and Agent.

use std::collections::BTreeMap;

use crate::{CommitCondition, ExportName, JsonSchemaObject, ResourceName, ToolName};

/// `metadata` of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceMetadata {
    /// Name, unique among the resources of its kind.
    pub name: ResourceName,
    /// Labels, not used by the host.
    pub labels: BTreeMap<String, String>,
}

/// `kind: Tool`.
///
/// Spec: tool-spec-v2 §4.1.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResource {
    /// Name and labels.
    pub metadata: ResourceMetadata,
    /// `spec`.
    pub spec: ToolSpec,
}

/// `spec` of a Tool.
///
/// Spec: tool-spec-v2 §4.2.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Path of the component, relative to the bundle's directory.
    pub entry: String,
    /// Longest error message for the model.
    pub error_message_limit: ErrorMessageLimit,
    /// Functions for the model. At least one, with unique names.
    pub exports: Vec<ToolExportSpec>,
    /// The OAuthApps that the Tool asks to use. The operator's policy grants them.
    pub oauth_apps: Vec<ResourceName>,
}

/// One function of a Tool.
///
/// Spec: tool-spec-v2 §6.1.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolExportSpec {
    /// Name. The tool name for the model is `{tool}__{name}`.
    pub name: ExportName,
    /// Description for the model.
    pub description: Option<String>,
    /// JSON Schema of the arguments. `None` allows any object.
    pub parameters: Option<JsonSchemaObject>,
    /// JSON Schema of the output. `None` allows any output. Not in the specification.
    pub output_schema: Option<JsonSchemaObject>,
    /// Which outputs mean that the changes of a transaction are kept. `None`: all. Not in the specification.
    pub commit_when: Option<CommitCondition>,
}

/// Longest `error.message` for the model, in UTF-16 code units. Positive.
///
/// Default: 1000. Greatest: [`ErrorMessageLimit::MOST`].
///
/// Spec: tool-spec-v2 §2.4(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorMessageLimit(u32);

impl ErrorMessageLimit {
    /// The default, also for calls that reach no Tool.
    pub const DEFAULT: Self = Self(1000);

    /// The highest limit: 65,536. Bounds the share of the model's context that a Tool's author can use.
    pub const MOST: Self = Self(64 << 10);

    /// Creates a limit. Returns `None` for 0, and for more than [`Self::MOST`].
    pub fn new(units: u32) -> Option<Self> {
        (units > 0 && units <= Self::MOST.0).then_some(Self(units))
    }

    /// Returns the limit in UTF-16 code units.
    #[must_use]
    pub fn units(self) -> usize {
        self.0 as usize
    }
}

impl Default for ErrorMessageLimit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// `kind: Agent`, with the fields that concern tools.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentResource {
    /// Name and labels.
    pub metadata: ResourceMetadata,
    /// `spec`.
    pub spec: AgentSpec,
}

/// `spec` of an Agent, with the fields that concern tools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentSpec {
    /// Tools in the catalog of each step, in order of declaration.
    pub tools: Vec<ResourceName>,
    /// MCP servers whose tools follow them, in order of declaration.
    pub mcp_servers: Vec<ResourceName>,
    /// If not empty, at least one of these tools must succeed before a turn can end.
    pub required_tools: Vec<ToolName>,
}

/// `kind: McpServer`: a server whose tools agents get, if the operator's policy grants exactly it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerResource {
    /// Name and labels.
    pub metadata: ResourceMetadata,
    /// `spec`.
    pub spec: McpServerSpec,
}

/// `spec` of an McpServer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerSpec {
    /// How the server is reached.
    pub transport: McpTransportSpec,
    /// The server's tools that are used, by the server's names. Default: all.
    pub tools: Option<Vec<String>>,
    /// First part of the names of its tools. Default: the name of the resource.
    pub prefix: ResourceName,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransportSpec {
    /// `stdio`: a process of the host's machine.
    Stdio {
        /// The program and its arguments; not empty.
        command: Vec<String>,
        /// Environment variables, sorted by name. The policy may add others.
        env: Vec<(String, String)>,
    },
    /// `http`: a Streamable HTTP endpoint.
    Http {
        /// Its URL.
        url: String,
    },
}
