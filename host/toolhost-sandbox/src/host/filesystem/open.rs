//! Opening a path beneath a directory.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use toolhost_contract::Denial;

use super::Filesystem;
use super::beneath::open_beneath;
use super::budget::OpenSlot;
use super::code::{FsError, FsResult};
use super::descriptor::{Descriptor, OpenDir};
use super::file::OpenFile;
use super::place::{Place, last_name};
use crate::WorkdirAccess;
use crate::host::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use crate::workdir::{FileId, file_id};

/// Most times that somebody else may make and remove what is to be opened or made.
const TRIES: usize = 8;

/// Most links to nothing that are followed to make a file, as many as the kernel follows.
const LINKS_MAX: usize = 40;

fn follow(flags: PathFlags) -> OFlags {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) {
        OFlags::empty()
    } else {
        OFlags::NOFOLLOW
    }
}

/// Opens a path without reading or writing what it names.
pub(super) fn open_path(dir: &Dir, path: &str, flags: PathFlags) -> io::Result<File> {
    open_beneath(dir, path, OFlags::PATH | follow(flags))
}

/// What is asked of a path that is opened.
struct Asked<'a> {
    path: &'a str,
    path_flags: PathFlags,
    how: OpenFlags,
    flags: DescriptorFlags,
}

impl Asked<'_> {
    fn writes(&self) -> bool {
        self.flags.contains(DescriptorFlags::WRITE)
    }

    fn follows(&self) -> bool {
        self.path_flags.contains(PathFlags::SYMLINK_FOLLOW)
    }

    /// Whether it must not be there before.
    fn is_new(&self) -> bool {
        self.how.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE)
    }

    /// The system's flags for a regular file. O_TRUNC is none of them: what was opened is looked at
    /// before it is changed.
    fn system(&self) -> OFlags {
        let system = match (self.flags.contains(DescriptorFlags::READ), self.writes()) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (_, false) => OFlags::RDONLY,
        };
        // O_NONBLOCK: were it a FIFO all the same, opening it must not wait for its other end.
        system | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
    }
}

impl Filesystem {
    /// What keeps the workdir from being changed.
    fn kept(&self) -> Option<Denial> {
        match self.access {
            WorkdirAccess::ReadOnly => Some(Denial::ReadOnly),
            WorkdirAccess::ReadWrite if self.protected.holds_all() => Some(Denial::WriteProtected),
            WorkdirAccess::ReadWrite => None,
        }
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.kept().is_none()
    }

    /// Refuses every change where the workdir is read-only.
    pub(crate) fn check_writable(&self) -> FsResult<()> {
        let Some(denial) = self.kept() else {
            return Ok(());
        };
        self.budget.deny(denial);
        Err(FsError::Code(ErrorCode::ReadOnly))
    }

    /// Refuses a change to what is write-protected.
    pub(super) fn check_unprotected(&self, id: FileId) -> FsResult<()> {
        // What it was is not what it is: a number that is free again is given to another file.
        self.unless(self.protected.holds(id) && self.protected.now().holds(id))
    }

    /// Refuses a change through a handle, whatever it was when the handle was opened.
    pub(super) fn check_unprotected_now(&self, id: FileId) -> FsResult<()> {
        self.unless(self.protected.now().holds(id))
    }

    /// Refuses a change to what a path led to, where it has become write-protected: it bears a name
    /// of what is, or a link led there.
    pub(super) fn check_unprotected_at(
        &self,
        dir: &Dir,
        path: &str,
        follows: bool,
        id: FileId,
    ) -> FsResult<()> {
        self.check_unprotected(id)?;
        let through_link = || {
            let itself = open_path(dir, path, PathFlags::empty());
            let itself = itself.and_then(|itself| Metadata::from_file(&itself));
            itself.is_ok_and(|itself| file_id(&itself) != id)
        };
        let protected = &self.protected;
        let may_be = protected.knows(last_name(path))
            || (follows && protected.asks_again() && through_link());
        self.unless(may_be && protected.now().holds(id))
    }

    /// Refuses to make, move or remove a name that is write-protected, whatever bears it.
    pub(super) fn check_name(&self, place: &Place<'_>) -> FsResult<()> {
        let is_known = self.protected.knows(place.name());
        if !is_known && !self.protected.closes_any() {
            return Ok(());
        }
        let folder = place.folder()?;
        if !is_known && !self.protected.closes(folder) {
            return Ok(());
        }
        self.unless(self.protected.now().holds_name(folder, place.name()))
    }

    fn unless(&self, protected: bool) -> FsResult<()> {
        if protected {
            self.budget.deny(Denial::WriteProtected);
            return Err(FsError::Code(ErrorCode::NotPermitted));
        }
        Ok(())
    }

    pub(crate) fn open(
        &self,
        dir: &OpenDir,
        path_flags: PathFlags,
        path: &str,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Descriptor> {
        // Each write would wait for the disk, and all others of the workdir with it. A guest may sync
        // when it has written.
        let synced = [
            DescriptorFlags::FILE_INTEGRITY_SYNC,
            DescriptorFlags::DATA_INTEGRITY_SYNC,
        ];
        if synced.iter().any(|synced| flags.contains(*synced)) {
            return Err(ErrorCode::Unsupported.into());
        }
        let asked = Asked {
            path,
            path_flags,
            how,
            flags,
        };
        let creates = how.intersects(OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
        let truncates = how.contains(OpenFlags::TRUNCATE);
        if how.contains(OpenFlags::DIRECTORY) && (creates || truncates) {
            return Err(ErrorCode::Invalid.into());
        }
        if truncates && !asked.writes() {
            return Err(ErrorCode::Invalid.into());
        }
        if asked.writes() || creates {
            self.check_writable()?;
        }
        let slot = self.budget.open_slot()?;
        for _ in 0..TRIES {
            let found = match asked.is_new() {
                true => None,
                false => self.find(&dir.dir, &asked)?,
            };
            if let Some(found) = found {
                return self.opened(&dir.dir, &asked, found, slot);
            }
            if let Some(made) = self.make(&dir.dir, &asked)? {
                let file = OpenFile::new(made, flags, self.budget.clone(), slot);
                return Ok(Descriptor::File(Arc::new(file)));
            }
        }
        Err(ErrorCode::Busy.into())
    }

    /// Opens what was found for what is asked.
    fn opened(
        &self,
        dir: &Dir,
        asked: &Asked<'_>,
        (found, metadata): (File, Metadata),
        slot: OpenSlot,
    ) -> FsResult<Descriptor> {
        if metadata.is_dir() {
            if asked.writes() {
                return Err(ErrorCode::IsDirectory.into());
            }
            let dir = Dir::from_std_file(found);
            return Ok(Descriptor::Dir(OpenDir::new(Arc::new(dir), Some(slot))));
        }
        if metadata.is_symlink() {
            return Err(ErrorCode::Loop.into());
        }
        // A FIFO is not even opened: that alone would let go whoever waits at its other end.
        if !metadata.is_file() {
            return Err(ErrorCode::NotPermitted.into());
        }
        let id = file_id(&metadata);
        if asked.writes() {
            self.check_unprotected_at(dir, asked.path, asked.follows(), id)?;
        }
        let file = reopen(dir, asked, &found)?;
        let opened = Metadata::from_file(&file)?;
        if file_id(&opened) != id {
            return Err(ErrorCode::WouldBlock.into());
        }
        let file = OpenFile::new(file, asked.flags, self.budget.clone(), slot);
        if asked.how.contains(OpenFlags::TRUNCATE) && opened.len() > 0 {
            file.set_size(0)?;
        }
        Ok(Descriptor::File(Arc::new(file)))
    }

    /// Finds what is there, good for nothing yet but its path. None where it is to be made.
    fn find(&self, dir: &Dir, asked: &Asked<'_>) -> FsResult<Option<(File, Metadata)>> {
        let mut flags = OFlags::PATH | follow(asked.path_flags);
        if asked.how.contains(OpenFlags::DIRECTORY) {
            flags |= OFlags::DIRECTORY;
        }
        match open_beneath(dir, asked.path, flags) {
            Err(e)
                if e.kind() == io::ErrorKind::NotFound && asked.how.contains(OpenFlags::CREATE) =>
            {
                Ok(None)
            }
            found => {
                let found = found?;
                let metadata = Metadata::from_file(&found)?;
                Ok(Some((found, metadata)))
            }
        }
    }

    /// Makes a file, where a link to nothing leads as well. None where somebody else made it.
    fn make(&self, dir: &Dir, asked: &Asked<'_>) -> FsResult<Option<File>> {
        let mut path = asked.path.to_owned();
        for _ in 0..LINKS_MAX {
            let place = Place::of(dir, &path)?;
            self.check_name(&place)?;
            match self.budget.make(|| place.make_file(asked.system())) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && !asked.is_new() => {
                    let target = place.read_link().ok();
                    let target = target.and_then(|target| String::from_utf8(target).ok());
                    match target {
                        Some(target) if asked.follows() => path = place.beside(target),
                        _ => return Ok(None),
                    }
                }
                made => return Ok(Some(made?)),
            }
        }
        Err(ErrorCode::Loop.into())
    }
}

/// Opens what was found, and nothing else, for what is asked.
fn reopen(dir: &Dir, asked: &Asked<'_>, found: &File) -> io::Result<File> {
    let itself = format!("/proc/self/fd/{}", found.as_raw_fd());
    match rustix::fs::open(itself, asked.system(), Mode::empty()) {
        // Where there is no /proc, the path is walked once more.
        Err(Errno::NOENT) => {
            open_beneath(dir, asked.path, asked.system() | follow(asked.path_flags))
        }
        opened => Ok(opened?.into()),
    }
}
