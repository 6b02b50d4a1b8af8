//! Paths in a workdir, of which a transaction holds many.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use toolhost_contract::FileId;

/// A path in a workdir: names with `/` between them. The paths in one directory share its path, and clones share
/// everything.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TreePath {
    /// The path of the directory, empty for the workdir itself.
    above: Arc<str>,
    name: Arc<str>,
}

impl TreePath {
    pub(crate) fn new(above: Arc<str>, name: Arc<str>) -> Self {
        Self { above, name }
    }

    pub(crate) fn above(&self) -> &Arc<str> {
        &self.above
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn shared_name(&self) -> &Arc<str> {
        &self.name
    }

    /// How many directories are above it.
    pub(crate) fn depth(&self) -> usize {
        let slashes = self.above.matches('/').count();
        slashes + usize::from(!self.above.is_empty())
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.above.is_empty() {
            write!(f, "{}/", self.above)?;
        }
        f.write_str(&self.name)
    }
}

impl From<&str> for TreePath {
    fn from(path: &str) -> Self {
        let (above, name) = match path.rsplit_once('/') {
            Some((above, name)) if !above.is_empty() => (above, name),
            _ => ("", path),
        };
        Self::new(above.into(), name.into())
    }
}

/// Files and directories by their paths.
#[derive(Debug, Default)]
pub(crate) struct ByPath(HashMap<Arc<str>, HashMap<Arc<str>, FileId>>);

impl ByPath {
    pub(crate) fn insert(&mut self, path: &TreePath, id: FileId) {
        let in_dir = self.0.entry(Arc::clone(&path.above)).or_default();
        in_dir.insert(Arc::clone(&path.name), id);
    }

    pub(crate) fn remove(&mut self, path: &TreePath) {
        if let Some(in_dir) = self.0.get_mut(&path.above) {
            in_dir.remove(&path.name);
            if in_dir.is_empty() {
                self.0.remove(&path.above);
            }
        }
    }

    pub(crate) fn get(&self, above: &str, name: &str) -> Option<FileId> {
        self.0.get(above)?.get(name).copied()
    }

    pub(crate) fn contains(&self, path: &TreePath) -> bool {
        self.get(&path.above, &path.name).is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests;
