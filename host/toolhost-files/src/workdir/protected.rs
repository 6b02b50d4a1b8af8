//! The files and directories that guests may not change.

use std::fmt;
use std::sync::Arc;

use toolhost_contract::{FileId, NameChange, Protected};

/// Files and directories that guests may not change: a bundle's manifest, its entries and the
/// directories above them. They are protected by identity, so that a second name does not help, and
/// by name, so that nothing takes the place of a removed file.
///
/// Cheap to clone.
#[derive(Clone, Default)]
pub struct WriteProtected(Arc<WriteProtectedInner>);

#[derive(Default)]
struct WriteProtectedInner {
    known: ProtectedSet,
    refresh: Option<Refresh>,
}

/// Returns what is protected now. None if that cannot be found out.
type Refresh = Box<dyn Fn() -> Option<Vec<Arc<Protected>>> + Send + Sync>;

#[derive(Debug, Clone)]
pub(crate) enum ProtectedSet {
    Listed(Vec<Arc<Protected>>),
    Everything,
}

impl Default for ProtectedSet {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl From<Option<Vec<Arc<Protected>>>> for ProtectedSet {
    fn from(found: Option<Vec<Arc<Protected>>>) -> Self {
        found.map_or(Self::Everything, Self::Listed)
    }
}

impl ProtectedSet {
    fn any(&self, matches: impl Fn(&Protected) -> bool) -> bool {
        match self {
            Self::Listed(listed) => listed.iter().any(|listed| matches(listed)),
            Self::Everything => true,
        }
    }

    pub(crate) fn contains(&self, id: FileId) -> bool {
        self.any(|listed| listed.contains(id))
    }

    pub(crate) fn forbids(&self, parent: FileId, name: &str, change: NameChange) -> bool {
        self.any(|listed| listed.forbids(parent, name, change))
    }

    /// See [`Protected::forbids_beneath`].
    pub(crate) fn forbids_beneath(
        &self,
        dir: FileId,
        made: &[String],
        name: &str,
        change: NameChange,
    ) -> bool {
        self.any(|listed| listed.forbids_beneath(dir, made, name, change))
    }
}

impl fmt::Debug for WriteProtected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.known.fmt(f)
    }
}

impl WriteProtected {
    /// Protects these files and directories.
    pub fn new(ids: impl IntoIterator<Item = FileId>) -> Self {
        let mut known = Protected::default();
        ids.into_iter().for_each(|id| known.add(id));
        Self::of(ProtectedSet::Listed(vec![Arc::new(known)]), None)
    }

    /// Protects everything, which makes a workdir read-only: for a host that cannot find out what to
    /// protect.
    pub fn all() -> Self {
        Self::of(ProtectedSet::Everything, None)
    }

    /// Protects what `refresh` returns, or everything if it returns `None` now. The sandbox calls it
    /// again, during a guest's file operations, whenever a guest is about to change something with a
    /// protected name: editors and builds replace a file by a new one.
    pub fn refreshed_by(
        refresh: impl Fn() -> Option<Vec<Arc<Protected>>> + Send + Sync + 'static,
    ) -> Self {
        match refresh() {
            None => Self::all(),
            found => Self::of(found.into(), Some(Box::new(refresh))),
        }
    }

    fn of(known: ProtectedSet, refresh: Option<Refresh>) -> Self {
        Self(Arc::new(WriteProtectedInner { known, refresh }))
    }

    pub(crate) fn contains(&self, id: FileId) -> bool {
        self.0.known.contains(id)
    }

    pub(crate) fn is_everything(&self) -> bool {
        matches!(self.0.known, ProtectedSet::Everything)
    }

    /// Whether a protected file in any directory has this name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.0.known.any(|listed| listed.has_name(name))
    }

    /// Whether a change may be one of case files.
    pub(crate) fn may_change_cases(&self, name: &str, change: NameChange) -> bool {
        self.0
            .known
            .any(|listed| listed.may_change_cases(name, change))
    }

    /// Whether any directory is closed.
    pub(crate) fn has_closed_dirs(&self) -> bool {
        self.0.known.any(Protected::has_closed_dirs)
    }

    pub(crate) fn is_closed(&self, dir: FileId) -> bool {
        self.0.known.any(|listed| listed.is_closed(dir))
    }

    /// Whether [`current`](Self::current) may differ from what is known.
    pub(crate) fn is_refreshed(&self) -> bool {
        self.0.refresh.is_some()
    }

    /// Returns what is protected now.
    pub(crate) fn current(&self) -> ProtectedSet {
        match &self.0.refresh {
            Some(refresh) => refresh().into(),
            None => self.0.known.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
