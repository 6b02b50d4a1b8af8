//! Opens a path for a guest: finds the file and checks it, before it is opened or changed.

use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use rustix::fs::OFlags;
use rustix::io::Errno;
use toolhost_contract::NameChange;

use super::budget::OpenSlot;
use super::descriptor::Descriptor;
use super::file::{FileAccess, OpenFile};
use super::files::CallFiles;
use crate::workdir::{Entry, FileError, FileResult, WorkdirFile};

/// Maximum attempts while other processes create and remove the file.
const ATTEMPTS_MAX: usize = 8;

/// Maximum dangling symlinks followed to create a file: the kernel's own limit.
const LINKS_MAX: usize = 40;

/// What a guest asks to open.
pub struct OpenRequest<'a> {
    /// From the directory at which it starts.
    pub path: &'a str,
    /// `O_NOFOLLOW`, unless a last symlink is followed.
    pub follow: OFlags,
    /// Of `O_CREAT`, `O_EXCL`, `O_TRUNC` and `O_DIRECTORY`.
    pub how: OFlags,
    /// What the guest wants to do with a file.
    pub access: FileAccess,
}

impl OpenRequest<'_> {
    /// Whether the file must not exist yet.
    fn is_exclusive(&self) -> bool {
        self.how.contains(OFlags::CREATE | OFlags::EXCL)
    }

    /// The system's flags of a regular file's access. The file is checked before it changes.
    fn system_access(&self) -> OFlags {
        match (self.access.read, self.access.write) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (_, false) => OFlags::RDONLY,
        }
    }
}

impl CallFiles {
    /// Opens a file or directory, and creates the file if the guest asks for that.
    pub fn open(&self, dir: &Dir, request: &OpenRequest<'_>) -> FileResult<Descriptor> {
        let creates = request.how.intersects(OFlags::CREATE | OFlags::EXCL);
        let truncates = request.how.contains(OFlags::TRUNC);
        let is_dir = request.how.contains(OFlags::DIRECTORY);
        let writes = request.access.write;
        if (is_dir && (creates || truncates)) || (truncates && !writes) {
            return Err(Errno::INVAL.into());
        }
        if writes || creates {
            self.check_writable()?;
        }
        let slot = self.budget.open_slot()?;
        for _ in 0..ATTEMPTS_MAX {
            if let Some(entry) = self.find_existing(dir, request)? {
                return self.open_entry(dir, request, entry, slot);
            }
            if let Some(file) = self.create(dir, request)? {
                return self.opened(file, None, request, slot);
            }
        }
        Err(Errno::BUSY.into())
    }

    /// Finds an existing file. None if it does not exist and is to be created.
    fn find_existing(&self, dir: &Dir, request: &OpenRequest<'_>) -> FileResult<Option<Entry>> {
        if request.is_exclusive() {
            return Ok(None);
        }
        let flags = request.follow | (request.how & OFlags::DIRECTORY);
        match self.tree.find(dir, request.path, flags) {
            Err(FileError::Errno(Errno::NOENT)) if request.how.contains(OFlags::CREATE) => Ok(None),
            entry => entry.map(Some),
        }
    }

    /// Opens the file or directory that was found.
    fn open_entry(
        &self,
        dir: &Dir,
        request: &OpenRequest<'_>,
        entry: Entry,
        slot: OpenSlot,
    ) -> FileResult<Descriptor> {
        let (metadata, writes) = (&entry.metadata, request.access.write);
        if metadata.is_dir() {
            if writes {
                return Err(Errno::ISDIR.into());
            }
            return Ok(Descriptor::Dir {
                dir: Arc::new(Dir::from_std_file(entry.handle)),
                _slot: Some(slot),
            });
        }
        if metadata.is_symlink() {
            return Err(Errno::LOOP.into());
        }
        // A FIFO is not opened even for a moment: that would wake up a process at its other end.
        if !metadata.is_file() {
            return Err(Errno::PERM.into());
        }
        if writes {
            self.check_path_unprotected(request.path, &entry)?;
        }
        let at = (dir, request.path);
        let access = request.system_access();
        let file = self.tree.open(at, request.follow, &entry, access)?;
        if writes {
            self.record_changed(&entry.handle);
        }
        self.opened(file, Some(metadata), request, slot)
    }

    /// Creates a file, also at the target of a dangling symlink. None if it exists by now.
    fn create(&self, dir: &Dir, request: &OpenRequest<'_>) -> FileResult<Option<WorkdirFile>> {
        let mut path = request.path.to_owned();
        for _ in 0..LINKS_MAX {
            let name = self.tree.name(dir, &path)?;
            // Held until it is counted: a call that moves a file here counts what it replaces.
            let _name = self.budget.lock([name.target()?])?;
            self.check_name(&name, NameChange::File)?;
            let access = request.system_access();
            match self.budget.create(|| name.create_file(access)) {
                Err(Errno::EXIST) if !request.is_exclusive() => {
                    let follows = request.follow.is_empty();
                    match name.link_target().filter(|_| follows) {
                        Some(target) => path = target,
                        None => return Ok(None),
                    }
                }
                created => {
                    let created = created?;
                    self.record(|changes, root| changes.created(name.path_in(root)));
                    return Ok(Some(WorkdirFile::Own(created)));
                }
            }
        }
        Err(Errno::LOOP.into())
    }

    /// Hands out a file that was opened. `former` is what it was like before, if it was not created.
    fn opened(
        &self,
        file: WorkdirFile,
        former: Option<&Metadata>,
        request: &OpenRequest<'_>,
        slot: OpenSlot,
    ) -> FileResult<Descriptor> {
        let id = match former {
            Some(former) => self.tree.identity(former)?,
            None => self.tree.identity(&Metadata::from_file(&file.get())?)?,
        };
        let file = OpenFile::new(file, id, request.access, self.budget.clone(), slot)?;
        if request.how.contains(OFlags::TRUNC) && former.is_some_and(|former| former.len() > 0) {
            file.set_size(0)?;
        }
        Ok(Descriptor::File(Arc::new(file)))
    }
}
