//! The filesystem of one call: its root, and what the call may change.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use cap_primitives::fs::MetadataExt;
use cap_std::fs::{Dir, Metadata};
use rustix::fs::OFlags;
use rustix::io::Errno;
use toolhost_contract::{Denial, FileId, NameChange, WorkdirAccess};
use toolhost_runtime::BlockingPool;

use super::beneath::{open_path, path_beneath};
use super::budget::Budget;
use super::dir_entry::{DirEntryRef, OpenEntry, last_name};
use super::error::{FsError, FsResult};
use super::found::{Found, find};
use super::meter::FileMeter;
use crate::accounting::call_memory::CallMemory;
use crate::accounting::file_changes::FileChangeBook;
use crate::workdir::{Overlay, Workdir, WriteProtected, file_id};

/// The filesystem of one call.
pub(crate) struct Filesystem {
    pub(super) root: Option<Workdir>,
    pub(super) budget: Budget,
    pub(super) blocking: BlockingPool,
    access: WorkdirAccess,
    protected: WriteProtected,
}

impl Filesystem {
    /// The filesystem whose `/` is `root`; without one, a guest gets no directory. What a transaction holds counts
    /// as `memory` of the call. `ends` is the deadline of the call; none where that is beyond the range
    /// of the clock.
    pub(crate) fn new(
        root: Option<Workdir>,
        access: WorkdirAccess,
        protected: WriteProtected,
        meter: Arc<FileMeter>,
        memory: &Arc<CallMemory>,
        blocking: BlockingPool,
        ends: Option<Instant>,
    ) -> Self {
        let root = root.map(|root| root.until(ends));
        if let Some(overlay) = root.as_ref().and_then(|root| root.overlay.as_ref()) {
            overlay.charge_to(Arc::clone(memory));
        }
        let usage = root.as_ref().map(|root| root.usage.clone());
        let usage = usage.unwrap_or_default();
        Self {
            root,
            budget: Budget { meter, usage, ends },
            blocking,
            access,
            protected,
        }
    }

    /// The transaction of the call, if its changes are kept apart.
    pub(super) fn overlay(&self) -> Option<&Arc<Overlay>> {
        self.root.as_ref()?.overlay.as_ref()
    }

    /// The transaction of the call, once it has changed anything: until then, the kernel resolves paths.
    pub(super) fn merged(&self) -> Option<&Arc<Overlay>> {
        self.overlay().filter(|overlay| overlay.is_active())
    }

    /// Finds an existing file or directory, without opening it for reading or writing.
    pub(super) fn find(&self, dir: &Dir, path: &str, flags: OFlags) -> FsResult<Found> {
        match self.merged() {
            None => find(dir, path, flags),
            Some(overlay) => Ok(overlay.find(dir, path, flags)?.into()),
        }
    }

    /// Finds an existing file or directory that is about to be changed.
    pub(super) fn find_to_change(&self, dir: &Dir, path: &str, flags: OFlags) -> FsResult<Found> {
        match self.overlay() {
            None => find(dir, path, flags),
            Some(overlay) => Ok(overlay.find(dir, path, flags)?.into()),
        }
    }

    /// Reads the metadata of what a path leads to.
    pub(super) fn metadata(&self, dir: &Dir, path: &str, flags: OFlags) -> FsResult<Metadata> {
        match self.merged() {
            None => Ok(Metadata::from_file(&open_path(dir, path, flags)?)?),
            Some(overlay) => Ok(overlay.find(dir, path, flags)?.metadata),
        }
    }

    /// Returns a handle of what was found whose attributes may be changed. A transaction copies a file of the
    /// workdir first.
    pub(super) fn copy_found(&self, found: Found) -> FsResult<File> {
        let Some((overlay, place)) = self.overlay().zip(found.merged) else {
            return Ok(found.handle);
        };
        let found = place.of(found.handle, found.metadata);
        let copied = overlay.copy_found(&found, &|bytes| self.budget.stage(bytes))?;
        Ok(copied.unwrap_or(found.handle))
    }

    /// Fails for a directory of the workdir in a transaction: its attributes can only be changed in place.
    pub(super) fn check_own_attributes(&self, dir: FileId) -> FsResult<()> {
        match self.overlay() {
            Some(overlay) if overlay.is_lower_dir(dir)? => Err(Errno::NOTSUP.into()),
            _ => Ok(()),
        }
    }

    /// Resolves the directory of a name that is only read.
    pub(super) fn entry<'a>(&'a self, dir: &'a Dir, path: &'a str) -> FsResult<DirEntryRef<'a>> {
        DirEntryRef::new(self.merged().map(|overlay| &**overlay), dir, path)
    }

    /// Resolves the directory of a name that is about to change.
    pub(super) fn entry_to_change<'a>(
        &'a self,
        dir: &'a Dir,
        path: &'a str,
    ) -> FsResult<DirEntryRef<'a>> {
        DirEntryRef::new(self.overlay().map(|overlay| &**overlay), dir, path)
    }

    /// Returns the identity by which a guest knows a file.
    pub(super) fn identity(&self, metadata: &Metadata) -> Result<FileId, Errno> {
        let id = file_id(metadata);
        self.merged().map_or(Ok(id), |overlay| overlay.identity(id))
    }

    /// Returns how many names a file or directory has for the call.
    pub(super) fn links(&self, metadata: &Metadata) -> Result<u64, Errno> {
        match self.merged() {
            None => Ok(metadata.nlink()),
            Some(overlay) => overlay.links(metadata),
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
        self.budget.meter.attempts.deny(denial);
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
    /// refreshed only if the path has a protected name or that of a case file, or led through a symlink.
    pub(super) fn check_path_unprotected(&self, path: &str, found: &Found) -> FsResult<()> {
        let id = file_id(&found.metadata);
        self.check_unprotected(id)?;
        let (protected, name) = (&self.protected, last_name(path));
        let may_be_protected = protected.has_name(name)
            || protected.may_change_cases(name, NameChange::File)
            || (found.was_link && protected.is_refreshed());
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
        let current = protected.current();
        let made = match self.merged() {
            None => None,
            Some(overlay) => overlay.made_beneath(parent)?,
        };
        self.deny_if(match made {
            None => current.forbids(parent, name, change),
            // It is not in the workdir yet.
            Some((dir, made)) => current.forbids_beneath(dir, &made, name, change),
        })
    }

    /// Opens an entry that is about to be moved, removed or replaced, if it exists and is not
    /// write-protected.
    pub(super) fn open_unprotected<'a>(
        &self,
        entry: &DirEntryRef<'a>,
        change: NameChange,
    ) -> FsResult<Option<OpenEntry<'a>>> {
        let opened = entry.open()?;
        if let Some(opened) = &opened {
            self.check_unprotected(opened.id())?;
        }
        self.check_name(entry, change)?;
        Ok(opened)
    }

    /// Where changes in place are recorded, and the workdir. None for a transaction, whose commit lists them.
    fn changes_in_place(&self) -> Option<(&FileChangeBook, &Dir)> {
        let root = self.root.as_ref()?;
        let changes = &self.budget.meter.changes;
        root.overlay.is_none().then_some((changes, &*root.dir))
    }

    /// Records that an entry was created.
    pub(super) fn record_created(&self, entry: &DirEntryRef<'_>) {
        if let Some((changes, root)) = self.changes_in_place() {
            changes.created(entry.path_in(root));
        }
    }

    /// Records that an entry was removed.
    pub(super) fn record_removed(&self, entry: &DirEntryRef<'_>) {
        if let Some((changes, root)) = self.changes_in_place() {
            changes.removed(entry.path_in(root));
        }
    }

    /// Records that an entry was moved. `replaced`: the new name existed.
    pub(super) fn record_moved(
        &self,
        from: &DirEntryRef<'_>,
        to: &DirEntryRef<'_>,
        replaced: bool,
    ) {
        if let Some((changes, root)) = self.changes_in_place() {
            changes.renamed(from.path_in(root), to.path_in(root), replaced);
        }
    }

    /// Records that an existing file was opened for writing.
    pub(super) fn record_opened(&self, file: &File) {
        if let Some((changes, root)) = self.changes_in_place() {
            changes.changed(path_beneath(root, file.as_fd()));
        }
    }

    fn deny_if(&self, is_protected: bool) -> FsResult<()> {
        if is_protected {
            self.budget.meter.attempts.deny(Denial::WriteProtected);
            return Err(FsError::Errno(Errno::PERM));
        }
        Ok(())
    }
}
