//! What extensions add to one agent: its own tools over the bundle's, and its pipelines.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use toolhost_contract::ToolCatalogItem;

use super::{RegisteredTool, Runs};
use crate::middleware::pipeline::Pipeline;
use crate::middleware::{StepContext, ToolCallContext, TurnContext};

/// What an agent's extensions have registered: a snapshot.
#[derive(Clone, Default)]
pub(crate) struct Overlay {
    pub(crate) turn: Pipeline<TurnContext>,
    pub(crate) step: Pipeline<StepContext>,
    pub(crate) tool_call: Pipeline<ToolCallContext>,
    extensions: Vec<Arc<str>>,
    /// In the order first registered.
    order: Vec<Box<str>>,
    tools: HashMap<Box<str>, Arc<RegisteredTool>>,
}

impl Overlay {
    pub(crate) fn get(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.get(name).map(|tool| &**tool)
    }

    /// What a model is shown of the tools, in order.
    pub(crate) fn items(&self) -> impl Iterator<Item = &ToolCatalogItem> {
        let registered = self.order.iter().filter_map(|name| self.tools.get(name));
        registered.map(|tool| &tool.item)
    }

    /// The extension a tool belongs to.
    pub(crate) fn owner(&self, name: &str) -> Option<Arc<str>> {
        match &self.tools.get(name)?.runs {
            Runs::Native { owner, .. } => Some(Arc::clone(owner)),
            Runs::Component(_) => None,
        }
    }

    pub(crate) fn register(&mut self, tool: RegisteredTool) {
        let name: Box<str> = tool.item.name.as_str().into();
        if self.tools.insert(name.clone(), Arc::new(tool)).is_none() {
            self.order.push(name);
        }
    }

    pub(crate) fn unregister(&mut self, name: &str) {
        self.tools.remove(name);
        self.order.retain(|known| &**known != name);
    }

    /// Takes an extension's name, unless it is taken.
    pub(crate) fn enter(&mut self, extension: &Arc<str>) -> bool {
        let is_new = self.extensions.iter().all(|known| known != extension);
        if is_new {
            self.extensions.push(Arc::clone(extension));
        }
        is_new
    }

    /// Whether this very extension is there, and not a later one of its name.
    pub(crate) fn holds(&self, extension: &Arc<str>) -> bool {
        self.extensions
            .iter()
            .any(|known| Arc::ptr_eq(known, extension))
    }

    /// Removes an extension and all that is its own; says whether it was there.
    pub(crate) fn leave(&mut self, extension: &str) -> bool {
        let before = self.extensions.len();
        self.extensions.retain(|known| &**known != extension);
        if self.extensions.len() == before {
            return false;
        }
        let owned = |tool: &RegisteredTool| match &tool.runs {
            Runs::Native { owner, .. } => &**owner == extension,
            Runs::Component(_) => false,
        };
        self.tools.retain(|_, tool| !owned(tool));
        let Self { order, tools, .. } = self;
        order.retain(|name| tools.contains_key(name));
        self.turn = self.turn.without(extension);
        self.step = self.step.without(extension);
        self.tool_call = self.tool_call.without(extension);
        true
    }
}

/// The overlay as it is now. Changed as a whole, so that a snapshot never sees half a change.
#[derive(Default)]
pub(crate) struct Current(RwLock<Arc<Overlay>>);

impl Current {
    pub(crate) fn snapshot(&self) -> Arc<Overlay> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes a copy, which takes effect if the change succeeds.
    pub(crate) fn change<T, E>(
        &self,
        change: impl FnOnce(&mut Overlay) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Overlay::clone(&current);
        let done = change(&mut changed);
        let old = match &done {
            Ok(_) => std::mem::replace(&mut *current, Arc::new(changed)),
            Err(_) => Arc::new(changed),
        };
        drop(current);
        // What it alone held is dropped without the lock: it may be somebody's code.
        drop(old);
        done
    }
}
