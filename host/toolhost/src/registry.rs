//! The Tool Registry: all tools that can run, in the catalog or not. Extensions add to it for one agent.

pub(crate) mod additions;
pub(crate) mod agent_overlays;
pub(crate) mod loaded_component;
pub(crate) mod loaded_tools;
pub(crate) mod overlay;

use std::collections::HashMap;
use std::sync::Arc;

use toolhost_contract::{CommitCondition, ErrorMessageLimit, ToolCatalogItem, ToolName};

use crate::catalog::tool_names::{CALL, SEARCH};
use crate::handler::ToolHandler;
use loaded_component::{Compiling, LoadedComponent};
use toolhost_schema::{ArgsSchema, OutputSchema};

/// One tool that can run.
#[derive(Clone)]
pub(crate) struct RegisteredTool {
    pub(crate) item: ToolCatalogItem,
    pub(crate) schema: Arc<ArgsSchema>,
    pub(crate) output_schema: Option<Arc<OutputSchema>>,
    /// Which outputs mean that the changes of a transaction are kept, unless the policy has a rule of its own.
    pub(crate) commit_when: Option<Arc<CommitCondition>>,
    pub(crate) error_message_limit: ErrorMessageLimit,
    pub(crate) runs: Runs,
}

impl RegisteredTool {
    /// Returns whether the component exports polling, so that it may answer `pending`.
    pub(crate) fn polls(&self) -> bool {
        match &self.runs {
            Runs::Component(component) => component.polls(),
            Runs::Native { .. } | Runs::Catalog { .. } => false,
        }
    }

    /// Returns the compilation of its component that has not ended.
    pub(crate) fn compiling(&self) -> Option<&Arc<Compiling>> {
        match &self.runs {
            Runs::Component(component) => component.compiling(),
            Runs::Native { .. } | Runs::Catalog { .. } => None,
        }
    }
}

/// What runs when a tool is called.
#[derive(Clone)]
pub(crate) enum Runs {
    /// A handler of a component, in the sandbox.
    Component(LoadedComponent),
    /// A handler of an extension, in this process.
    Native {
        owner: Arc<str>,
        handler: Arc<dyn ToolHandler>,
    },
    /// A tool over the catalog of the step.
    Catalog { owner: Arc<str>, tool: CatalogTool },
}

/// A tool over the catalog of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CatalogTool {
    /// `tools__search`
    Search,
    /// `tools__call`
    Call,
}

impl CatalogTool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Search => SEARCH,
            Self::Call => CALL,
        }
    }
}

/// All tools of a bundle. Its agents share it; it never changes.
///
/// Spec: tool-spec-v2 §3.
pub(crate) type ToolRegistry = HashMap<ToolName, RegisteredTool>;
