//! The Tool Registry: all tools that can run, in the catalog or not. Extensions add to it for one agent.

pub(crate) mod overlay;

use std::collections::HashMap;
use std::sync::Arc;

use toolhost_contract::{ErrorMessageLimit, ToolCatalogItem, ToolName};
use toolhost_sandbox::PreparedTool;

use crate::handler::ToolHandler;
use toolhost_manifest::schema::ArgsSchema;

/// One tool that can run.
#[derive(Debug, Clone)]
pub(crate) struct RegisteredTool {
    /// Its catalog item.
    pub(crate) item: ToolCatalogItem,
    /// The schema of its arguments.
    pub(crate) schema: Arc<ArgsSchema>,
    /// The limit of its error messages.
    pub(crate) error_message_limit: ErrorMessageLimit,
    /// What runs.
    pub(crate) runs: Runs,
}

impl RegisteredTool {
    /// Returns whether the component exports polling, so that it may answer `pending`.
    pub(crate) fn polls(&self) -> bool {
        match &self.runs {
            Runs::Component(component) => component.polls(),
            Runs::Native { .. } => false,
        }
    }
}

/// What runs when a tool is called.
#[derive(Clone)]
pub(crate) enum Runs {
    /// A handler of a component, in the sandbox.
    Component(PreparedTool),
    /// A handler of an extension, in this process.
    Native {
        /// The extension.
        owner: Arc<str>,
        /// The handler.
        handler: Arc<dyn ToolHandler>,
    },
}

impl std::fmt::Debug for Runs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Component(_) => f.write_str("Component"),
            Self::Native { owner, .. } => write!(f, "Native({owner})"),
        }
    }
}

/// All tools of a bundle. Its agents share it; it never changes.
///
/// Spec: tool-spec-v2 §3.
#[derive(Debug, Default)]
pub(crate) struct ToolRegistry(HashMap<ToolName, RegisteredTool>);

impl ToolRegistry {
    pub(crate) fn get(&self, name: &str) -> Option<&RegisteredTool> {
        self.0.get(name)
    }
}

impl FromIterator<RegisteredTool> for ToolRegistry {
    fn from_iter<I: IntoIterator<Item = RegisteredTool>>(tools: I) -> Self {
        let named = |tool: RegisteredTool| (tool.item.name.clone(), tool);
        Self(tools.into_iter().map(named).collect())
    }
}
