//! The files of one call: its root, and what the call may change.

use std::sync::Arc;
use std::time::Instant;

use cap_std::fs::Dir;
use rustix::io::Errno;
use toolhost_contract::{Denial, FileId, NameChange, WorkdirAccess};

use super::budget::Budget;
use super::descriptor::Descriptor;
use super::meter::FileMeter;
use crate::accounting::call_memory::CallMemory;
use crate::accounting::file_changes::FileChangeBook;
use crate::workdir::{
    Entry, EntryName, FileError, FileResult, Tree, Workdir, WorkdirUsage, WriteProtected, last_name,
};

/// The files of one call.
pub struct CallFiles {
    /// The directory that the guest gets as its `/`.
    pub(super) root: Option<Arc<Dir>>,
    pub(super) tree: Tree,
    pub(super) budget: Budget,
    protected: WriteProtected,
    access: WorkdirAccess,
    pub(super) keeps_modes: bool,
}

impl CallFiles {
    /// The files whose `/` is `workdir`; without one, a guest gets no directory. What a transaction holds counts
    /// as `memory` of the call. `ends` is the deadline of the call; none where that is beyond the range
    /// of the clock.
    pub fn new(
        workdir: Option<Workdir>,
        access: WorkdirAccess,
        protected: WriteProtected,
        meter: Arc<FileMeter>,
        memory: &Arc<CallMemory>,
        ends: Option<Instant>,
    ) -> Self {
        let (tree, usage) = match &workdir {
            None => (Tree::Direct, WorkdirUsage::default()),
            Some(workdir) => (workdir.tree(ends, memory), workdir.usage.clone()),
        };
        Self {
            root: workdir.map(|workdir| Arc::clone(&workdir.dir)),
            tree,
            budget: Budget { meter, usage, ends },
            protected,
            access,
            keeps_modes: false,
        }
    }

    /// Lets a new file that replaces another one get its permissions, for a guest that cannot set them.
    #[must_use]
    pub fn keep_modes(self) -> Self {
        Self {
            keeps_modes: true,
            ..self
        }
    }

    /// The directory that the guest gets as its `/`.
    pub fn root(&self) -> Option<Descriptor> {
        let dir = Arc::clone(self.root.as_ref()?);
        Some(Descriptor::Dir { dir, _slot: None })
    }

    /// The meter of the call.
    pub fn meter(&self) -> &FileMeter {
        &self.budget.meter
    }

    /// Counts a failed operation: a full disk is a limit that the call met.
    pub fn failed(&self, errno: Errno) {
        self.budget.failed(errno);
    }

    /// Why nothing in the workdir may be changed, if so.
    fn read_only(&self) -> Option<Denial> {
        match self.access {
            WorkdirAccess::ReadOnly => Some(Denial::ReadOnly),
            WorkdirAccess::ReadWrite if self.protected.is_everything() => {
                Some(Denial::WriteProtected)
            }
            WorkdirAccess::ReadWrite => None,
        }
    }

    /// Whether anything in the workdir may be changed.
    pub fn is_writable(&self) -> bool {
        self.read_only().is_none()
    }

    /// Refuses every change if the workdir is read-only.
    pub(super) fn check_writable(&self) -> FileResult<()> {
        let Some(denial) = self.read_only() else {
            return Ok(());
        };
        self.budget.meter.attempts.deny(denial);
        Err(Errno::ROFS.into())
    }

    /// Refuses a change to a write-protected file or directory.
    pub(super) fn check_unprotected(&self, id: FileId) -> FileResult<()> {
        // Confirmed by a refresh, as the system gives the number of a removed file to a new one.
        self.deny_if(self.protected.contains(id) && self.protected.current().contains(id))
    }

    /// Refuses a change to the file that `path` led to, if it is write-protected by now. The list is
    /// refreshed only if the path has a protected name or that of a case file, or led through a symlink.
    pub(super) fn check_path_unprotected(&self, path: &str, entry: &Entry) -> FileResult<()> {
        let id = entry.file_id();
        self.check_unprotected(id)?;
        let (protected, name) = (&self.protected, last_name(path));
        let may_be_protected = protected.has_name(name)
            || protected.may_change_cases(name, NameChange::File)
            || (entry.was_link && protected.is_refreshed());
        self.deny_if(may_be_protected && protected.current().contains(id))
    }

    /// Refuses a change to a file or directory that is write-protected by now.
    pub(super) fn check_unprotected_now(&self, id: FileId) -> FileResult<()> {
        self.deny_if(self.protected.current().contains(id))
    }

    /// Refuses to create, move or remove a write-protected name, whether or not it exists.
    pub(super) fn check_name(&self, entry: &EntryName<'_>, change: NameChange) -> FileResult<()> {
        let (protected, name) = (&self.protected, entry.name());
        let may_be_protected = protected.has_name(name) || protected.may_change_cases(name, change);
        if !may_be_protected && !protected.has_closed_dirs() {
            return Ok(());
        }
        let parent = entry.parent_id()?;
        if !may_be_protected && !protected.is_closed(parent) {
            return Ok(());
        }
        let current = protected.current();
        self.deny_if(match self.tree.made_beneath(parent)? {
            None => current.forbids(parent, name, change),
            // It is not in the workdir yet.
            Some((dir, made)) => current.forbids_beneath(dir, &made, name, change),
        })
    }

    fn deny_if(&self, is_protected: bool) -> FileResult<()> {
        if is_protected {
            self.budget.meter.attempts.deny(Denial::WriteProtected);
            return Err(FileError::Errno(Errno::PERM));
        }
        Ok(())
    }

    /// Records a change in place, with the workdir. The commit of a transaction lists its changes.
    pub(super) fn record(&self, note: impl FnOnce(&FileChangeBook, &Dir)) {
        if let (Tree::Direct, Some(root)) = (&self.tree, &self.root) {
            note(&self.budget.meter.changes, root);
        }
    }
}
