//! The filesystem of one call: its root, and what the call may change.

use std::sync::Arc;

use rustix::io::Errno;
use toolhost_contract::{Denial, FileId, NameChange, WorkdirAccess};

use super::budget::Budget;
use super::dir_entry::{DirEntryRef, OpenEntry, last_name};
use super::error::{FsError, FsResult};
use super::found::Found;
use crate::accounting::meter::Meter;
use crate::scheduler::blocking::BlockingPool;
use crate::workdir::{Workdir, WriteProtected, file_id};

/// The filesystem of one call.
pub(crate) struct Filesystem {
    pub(super) root: Option<Workdir>,
    pub(super) budget: Budget,
    pub(super) blocking: BlockingPool,
    access: WorkdirAccess,
    protected: WriteProtected,
}

impl Filesystem {
    /// The filesystem whose `/` is `root`; without one, a guest gets no directory.
    pub(crate) fn new(
        root: Option<Workdir>,
        access: WorkdirAccess,
        protected: WriteProtected,
        meter: Arc<Meter>,
        blocking: BlockingPool,
    ) -> Self {
        let usage = root.as_ref().map(|root| root.usage.clone());
        let usage = usage.unwrap_or_default();
        Self {
            root,
            budget: Budget { meter, usage },
            blocking,
            access,
            protected,
        }
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

    pub(super) fn is_writable(&self) -> bool {
        self.read_only().is_none()
    }

    /// Refuses every change if the workdir is read-only.
    pub(super) fn check_writable(&self) -> FsResult<()> {
        let Some(denial) = self.read_only() else {
            return Ok(());
        };
        self.budget.meter.deny(denial);
        Err(Errno::ROFS.into())
    }

    /// Refuses a change to a write-protected file or directory.
    fn check_unprotected(&self, id: FileId) -> FsResult<()> {
        // Confirmed by a refresh, as the system gives the number of a removed file to a new one.
        self.deny_if(self.protected.contains(id) && self.protected.current().contains(id))
    }

    /// Refuses a change through a handle to a file that is write-protected by now.
    pub(super) fn check_handle_unprotected(&self, id: FileId) -> FsResult<()> {
        self.deny_if(self.protected.current().contains(id))
    }

    /// Refuses a change to the file that `path` led to, if it is write-protected by now. The list is
    /// refreshed only if the path has a protected name, or led through a symlink.
    pub(super) fn check_path_unprotected(&self, path: &str, found: &Found) -> FsResult<()> {
        let id = file_id(&found.metadata);
        self.check_unprotected(id)?;
        let protected = &self.protected;
        let may_be_protected =
            protected.has_name(last_name(path)) || (found.was_link && protected.is_refreshed());
        self.deny_if(may_be_protected && protected.current().contains(id))
    }

    /// Refuses to create, move or remove a write-protected name, whether or not it exists.
    pub(super) fn check_name(&self, entry: &DirEntryRef<'_>, change: NameChange) -> FsResult<()> {
        let (protected, name) = (&self.protected, entry.name());
        let may_be_protected = protected.has_name(name) || protected.may_change_cases(name, change);
        if !may_be_protected && !protected.has_closed_dirs() {
            return Ok(());
        }
        let parent = entry.parent_id()?;
        if !may_be_protected && !protected.is_closed(parent) {
            return Ok(());
        }
        self.deny_if(protected.current().forbids(parent, name, change))
    }

    /// Opens an entry that is about to be moved, removed or replaced, if it exists and is not
    /// write-protected.
    pub(super) fn open_unprotected(
        &self,
        entry: &DirEntryRef<'_>,
        change: NameChange,
    ) -> FsResult<Option<OpenEntry>> {
        let opened = entry.open()?;
        if let Some(opened) = &opened {
            self.check_unprotected(opened.id())?;
        }
        self.check_name(entry, change)?;
        Ok(opened)
    }

    fn deny_if(&self, is_protected: bool) -> FsResult<()> {
        if is_protected {
            self.budget.meter.deny(Denial::WriteProtected);
            return Err(FsError::Errno(Errno::PERM));
        }
        Ok(())
    }
}
