//! Tools and layers that extensions add to an agent.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{RegisteredTool, Runs};
use crate::middleware::pipeline::Pipeline;
use crate::middleware::{StepContext, ToolCallContext, TurnContext};

/// Tools and layers of extensions.
#[derive(Clone, Default)]
pub(crate) struct Additions {
    pub(crate) turn: Pipeline<TurnContext>,
    pub(crate) step: Pipeline<StepContext>,
    pub(crate) tool_call: Pipeline<ToolCallContext>,
    /// In the order first registered.
    pub(super) tools: IndexMap<Box<str>, Arc<RegisteredTool>>,
}

impl Additions {
    /// The extension that registered a tool.
    pub(crate) fn owner(&self, name: &str) -> Option<&Arc<str>> {
        owner(self.tools.get(name)?)
    }

    pub(crate) fn register(&mut self, tool: RegisteredTool) {
        let name = tool.item.name.as_str().into();
        self.tools.insert(name, Arc::new(tool));
    }

    pub(crate) fn unregister(&mut self, name: &str) {
        self.tools.shift_remove(name);
    }

    /// Adds the tools and layers of an extension.
    pub(super) fn extend(&mut self, others: Self) {
        self.turn = self.turn.merged(&others.turn);
        self.step = self.step.merged(&others.step);
        self.tool_call = self.tool_call.merged(&others.tool_call);
        self.tools.extend(others.tools);
    }

    /// Removes the tools and layers of an extension.
    pub(super) fn remove(&mut self, extension: &str) {
        let is_owned =
            |tool: &RegisteredTool| owner(tool).is_some_and(|owner| &**owner == extension);
        self.tools.retain(|_, tool| !is_owned(tool));
        self.turn = self.turn.without(extension);
        self.step = self.step.without(extension);
        self.tool_call = self.tool_call.without(extension);
    }
}

fn owner(tool: &RegisteredTool) -> Option<&Arc<str>> {
    match &tool.runs {
        Runs::Native { owner, .. } | Runs::Catalog { owner, .. } => Some(owner),
        Runs::Component(_) => None,
    }
}
