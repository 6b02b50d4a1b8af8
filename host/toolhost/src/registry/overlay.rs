//! What extensions add to one agent: tools beside the bundle's, and pipelines.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError, RwLock};

use indexmap::IndexMap;
use toolhost_contract::ToolCatalogItem;

use super::{RegisteredTool, Runs};
use crate::middleware::pipeline::Pipeline;
use crate::middleware::{StepContext, ToolCallContext, TurnContext};

/// A snapshot of what an agent's extensions have registered.
#[derive(Clone, Default)]
pub(crate) struct Overlay {
    pub(crate) turn: Pipeline<TurnContext>,
    pub(crate) step: Pipeline<StepContext>,
    pub(crate) tool_call: Pipeline<ToolCallContext>,
    extensions: Vec<Arc<str>>,
    /// In the order first registered.
    tools: IndexMap<Box<str>, Arc<RegisteredTool>>,
}

impl Overlay {
    pub(crate) fn get(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.get(name).map(|tool| &**tool)
    }

    /// The catalog items of the tools, in the order registered.
    pub(crate) fn items(&self) -> impl Iterator<Item = &ToolCatalogItem> {
        self.tools.values().map(|tool| &tool.item)
    }

    /// The extension that registered a tool.
    pub(crate) fn owner(&self, name: &str) -> Option<Arc<str>> {
        match &self.tools.get(name)?.runs {
            Runs::Native { owner, .. } => Some(Arc::clone(owner)),
            Runs::Component(_) => None,
        }
    }

    pub(crate) fn register(&mut self, tool: RegisteredTool) {
        let name = tool.item.name.as_str().into();
        self.tools.insert(name, Arc::new(tool));
    }

    pub(crate) fn unregister(&mut self, name: &str) {
        self.tools.shift_remove(name);
    }

    /// Adds an extension, unless one of its name is there. Returns whether it was added.
    pub(crate) fn add_extension(&mut self, extension: &Arc<str>) -> bool {
        let is_new = self.extensions.iter().all(|known| known != extension);
        if is_new {
            self.extensions.push(Arc::clone(extension));
        }
        is_new
    }

    /// Returns whether this extension is registered, and not a later one of its name.
    pub(crate) fn has_extension(&self, extension: &Arc<str>) -> bool {
        self.extensions
            .iter()
            .any(|known| Arc::ptr_eq(known, extension))
    }

    /// Removes an extension with its tools and layers. Returns whether it was there.
    fn remove_extension(&mut self, extension: &str) -> bool {
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
        self.turn = self.turn.without(extension);
        self.step = self.step.without(extension);
        self.tool_call = self.tool_call.without(extension);
        true
    }
}

/// The current overlay of an agent. Every change replaces it, so that no snapshot sees half a change.
#[derive(Default)]
pub(crate) struct CurrentOverlay(RwLock<Arc<Overlay>>);

impl CurrentOverlay {
    pub(crate) fn snapshot(&self) -> Arc<Overlay> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Removes an extension. Returns whether it was there.
    pub(crate) fn remove(&self, extension: &str) -> bool {
        let removed: Result<bool, Infallible> =
            self.change(|overlay| Ok(overlay.remove_extension(extension)));
        removed.unwrap_or(false)
    }

    /// Changes a copy, and replaces the overlay by it if the change succeeds.
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
        // Dropped without the lock: this may run code of an extension.
        drop(old);
        done
    }
}
