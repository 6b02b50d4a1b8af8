//! What extensions add to one agent: tools beside the bundle's, and pipelines.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use indexmap::IndexMap;
use tokio::sync::watch;
use toolhost_contract::{ToolCatalogItem, ToolName};

use super::{RegisteredTool, Runs, ToolRegistry};
use crate::middleware::pipeline::Pipeline;
use crate::middleware::{StepContext, ToolCallContext, TurnContext};

/// A snapshot of what an agent's extensions have registered.
#[derive(Clone, Default)]
pub(crate) struct Overlay {
    pub(crate) turn: Pipeline<TurnContext>,
    pub(crate) step: Pipeline<StepContext>,
    pub(crate) tool_call: Pipeline<ToolCallContext>,
    extensions: Vec<Arc<str>>,
    /// The tools of the bundle: one registry for each load of it that is still used.
    declared: Vec<Weak<ToolRegistry>>,
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

    /// The names of the extensions, in the order added.
    pub(crate) fn extensions(&self) -> &[Arc<str>] {
        &self.extensions
    }

    /// Returns whether the bundle has a tool of this name.
    pub(crate) fn is_declared(&self, name: &str) -> bool {
        let mut declared = self.declared.iter().filter_map(Weak::upgrade);
        declared.any(|registry| registry.contains_key(name))
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

/// A tool of a bundle whose name an extension has taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TakenName {
    pub(crate) tool: ToolName,
    pub(crate) extension: Arc<str>,
}

/// The current overlay of an agent. Every change replaces it, so that no snapshot sees half a change.
pub(crate) struct CurrentOverlay {
    current: RwLock<Arc<Overlay>>,
    changes: watch::Sender<u64>,
}

impl CurrentOverlay {
    /// Creates an empty overlay. Each change adds one to `changes`.
    pub(crate) fn new(changes: watch::Sender<u64>) -> Self {
        Self {
            current: RwLock::default(),
            changes,
        }
    }

    pub(crate) fn snapshot(&self) -> Arc<Overlay> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Removes an extension. Returns whether it was there.
    pub(crate) fn remove(&self, extension: &str) -> bool {
        let removed: Result<bool, Infallible> =
            self.change(|overlay| Ok(overlay.remove_extension(extension)));
        removed.unwrap_or(false)
    }

    /// Adds the tools of a load of the bundle. From now on no extension can take their names.
    ///
    /// # Errors
    /// The tools whose names extensions have; then none is added.
    pub(crate) fn declare(&self, registry: &Arc<ToolRegistry>) -> Result<(), Vec<TakenName>> {
        self.replace(|overlay| {
            let taken = |tool: &ToolName| {
                let extension = overlay.owner(tool.as_str())?;
                let tool = tool.clone();
                Some(TakenName { tool, extension })
            };
            let taken: Vec<_> = registry.keys().filter_map(taken).collect();
            if !taken.is_empty() {
                return Err(taken);
            }
            overlay.declared.retain(|known| known.strong_count() > 0);
            overlay.declared.push(Arc::downgrade(registry));
            Ok(())
        })
    }

    /// Changes a copy, and replaces the overlay by it if the change succeeds.
    pub(crate) fn change<T, E>(
        &self,
        change: impl FnOnce(&mut Overlay) -> Result<T, E>,
    ) -> Result<T, E> {
        let changed = self.replace(change)?;
        self.changes.send_modify(|count| *count += 1);
        Ok(changed)
    }

    fn replace<T, E>(&self, change: impl FnOnce(&mut Overlay) -> Result<T, E>) -> Result<T, E> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
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
