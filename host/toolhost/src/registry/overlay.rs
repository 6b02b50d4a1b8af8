//! What extensions add to one agent: tools beside the bundle's, and pipelines.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use tokio::sync::watch;
use toolhost_contract::{ToolCatalogItem, ToolName};

use super::additions::Additions;
use super::{RegisteredTool, ToolRegistry};

/// A snapshot of what an agent's extensions have registered.
#[derive(Clone, Default)]
pub(crate) struct Overlay {
    /// What the extensions have added.
    pub(crate) added: Additions,
    extensions: Vec<Arc<str>>,
    /// Extensions that are still being added. What they have registered has no effect yet, but its names
    /// are taken.
    unfinished: Vec<(Arc<str>, Additions)>,
    /// The tools of the bundle: one registry for each load of it that is still used.
    declared: Vec<Weak<ToolRegistry>>,
}

impl Overlay {
    pub(crate) fn get(&self, name: &str) -> Option<&RegisteredTool> {
        self.added.tools.get(name).map(|tool| &**tool)
    }

    /// The catalog items of the tools, in the order registered.
    pub(crate) fn items(&self) -> impl Iterator<Item = &ToolCatalogItem> {
        self.added.tools.values().map(|tool| &tool.item)
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

    /// The extension that registered a tool, or is about to.
    pub(crate) fn owner(&self, name: &str) -> Option<Arc<str>> {
        let unfinished = self.unfinished.iter().map(|(_, additions)| additions);
        let mut all_additions = std::iter::once(&self.added).chain(unfinished);
        all_additions.find_map(|additions| additions.owner(name).cloned())
    }

    /// Where an extension registers its tools and layers; none if it was removed, or a later one has its
    /// name.
    fn additions(&mut self, extension: &Arc<str>) -> Option<&mut Additions> {
        if is_in(&self.extensions, extension) {
            return Some(&mut self.added);
        }
        let mut unfinished = self.unfinished.iter_mut();
        let entry = unfinished.find(|(other, _)| Arc::ptr_eq(other, extension));
        entry.map(|(_, additions)| additions)
    }

    /// Begins to add an extension, unless one of its name is there. Returns whether it was added.
    fn begin(&mut self, extension: &Arc<str>) -> bool {
        let unfinished = self.unfinished.iter().map(|(it, _)| it);
        let mut others = self.extensions.iter().chain(unfinished);
        let is_new = others.all(|other| other != extension);
        if is_new {
            let unfinished = (Arc::clone(extension), Additions::default());
            self.unfinished.push(unfinished);
        }
        is_new
    }

    /// Makes what an extension has registered take effect. Returns whether the extension was there.
    fn finish(&mut self, extension: &Arc<str>) -> bool {
        let mut unfinished = self.unfinished.iter();
        let Some(at) = unfinished.position(|(known, _)| Arc::ptr_eq(known, extension)) else {
            return false;
        };
        let (extension, additions) = self.unfinished.remove(at);
        self.extensions.push(extension);
        self.added.extend(additions);
        true
    }

    /// Removes an extension with its tools and layers. Returns whether it was there.
    fn remove(&mut self, extension: &str) -> bool {
        let before = self.extensions.len() + self.unfinished.len();
        self.unfinished.retain(|(it, _)| &**it != extension);
        self.extensions.retain(|it| &**it != extension);
        self.added.remove(extension);
        self.extensions.len() + self.unfinished.len() < before
    }
}

/// Returns whether this extension is among them, and not another one of its name.
fn is_in(extensions: &[Arc<str>], extension: &Arc<str>) -> bool {
    extensions.iter().any(|it| Arc::ptr_eq(it, extension))
}

/// A tool of a bundle whose name an extension has taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TakenName {
    pub(crate) tool: ToolName,
    pub(crate) extension: Arc<str>,
}

/// The current overlay of an agent. Every change replaces it, so that no snapshot sees half a change.
#[derive(Default)]
pub(crate) struct CurrentOverlay {
    current: RwLock<Arc<Overlay>>,
    changes: watch::Sender<u64>,
}

impl CurrentOverlay {
    /// Creates an overlay that begins as `initial`. Each change adds one to `changes`.
    pub(crate) fn new(initial: Arc<Overlay>, changes: watch::Sender<u64>) -> Self {
        Self {
            current: RwLock::new(initial),
            changes,
        }
    }

    pub(crate) fn snapshot(&self) -> Arc<Overlay> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins to add an extension, unless one of its name is there. Returns whether it was added. It has no
    /// effect until [`Self::finish`].
    pub(crate) fn begin(&self, extension: &Arc<str>) -> bool {
        self.replaced(|overlay| overlay.begin(extension))
    }

    /// Makes what an extension has registered take effect, all at once. Returns whether the extension was
    /// there.
    pub(crate) fn finish(&self, extension: &Arc<str>) -> bool {
        let is_finished = self.replaced(|overlay| overlay.finish(extension));
        if is_finished {
            self.notify();
        }
        is_finished
    }

    /// Removes the extension of a name. Returns whether it was there.
    pub(crate) fn remove(&self, extension: &str) -> bool {
        let is_removed = self.replaced(|overlay| overlay.remove(extension));
        if is_removed {
            self.notify();
        }
        is_removed
    }

    /// Removes this extension, and not a later one of its name. Returns whether it was there.
    pub(crate) fn remove_own(&self, extension: &Arc<str>) -> bool {
        let is_removed = self.replaced(|overlay| {
            overlay.additions(extension).is_some() && overlay.remove(extension)
        });
        if is_removed {
            self.notify();
        }
        is_removed
    }

    /// Changes what an extension adds. `check` looks at what all extensions have registered.
    ///
    /// # Errors
    /// The error of `check`, or `gone` if the extension was removed or a later one has its name; then nothing is
    /// changed.
    pub(crate) fn change<T, E>(
        &self,
        extension: &Arc<str>,
        gone: impl FnOnce() -> E,
        check: impl FnOnce(&Overlay) -> Result<(), E>,
        change: impl FnOnce(&mut Additions) -> T,
    ) -> Result<T, E> {
        let (changed, is_finished) = self.replace(|overlay| {
            check(overlay)?;
            let is_finished = is_in(&overlay.extensions, extension);
            let additions = overlay.additions(extension).ok_or_else(gone)?;
            Ok((change(additions), is_finished))
        })?;
        if is_finished {
            self.notify();
        }
        Ok(changed)
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
            overlay.declared.retain(|it| it.strong_count() > 0);
            overlay.declared.push(Arc::downgrade(registry));
            Ok(())
        })
    }

    fn notify(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn replaced<T>(&self, change: impl FnOnce(&mut Overlay) -> T) -> T {
        let Ok(changed) = self.replace(|overlay| Ok::<_, Infallible>(change(overlay)));
        changed
    }

    /// Changes a copy, and replaces the overlay by it if the change succeeds.
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
