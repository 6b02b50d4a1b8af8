//! Opening a path beneath a directory.

use std::io;
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use super::Filesystem;
use super::budget::Budget;
use super::code::{FsError, FsResult};
use super::descriptor::{Descriptor, OpenDir};
use super::file::OpenFile;
use crate::WorkdirAccess;
use crate::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use crate::workdir::FileId;

/// What a call denied for want of write access is recorded as.
const READ_ONLY: &str = "filesystem: write to a read-only workdir";
const PROTECTED: &str = "filesystem: change a write-protected file";

pub(crate) fn follow(flags: PathFlags) -> FollowSymlinks {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) {
        FollowSymlinks::Yes
    } else {
        FollowSymlinks::No
    }
}

fn custom(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or(0)
}

/// Opens a path without reading or writing what it names.
pub(crate) fn open_path(dir: &Dir, path: &str, flags: PathFlags) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(custom(OFlags::PATH))
        .follow(follow(flags));
    dir.open_with(path, &options)
}

impl Filesystem {
    pub(crate) fn is_writable(&self) -> bool {
        self.access == WorkdirAccess::ReadWrite
    }

    /// Refuses every change where the workdir is read-only.
    pub(crate) fn check_writable(&self) -> FsResult<()> {
        match self.access {
            WorkdirAccess::ReadWrite => Ok(()),
            WorkdirAccess::ReadOnly => {
                self.budget.deny(READ_ONLY);
                Err(FsError::Code(ErrorCode::ReadOnly))
            }
        }
    }

    /// Refuses a change to what is write-protected.
    pub(crate) fn check_unprotected(&self, id: FileId) -> FsResult<()> {
        if self.protected.holds(id) {
            self.budget.deny(PROTECTED);
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
        let creates = how.intersects(OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
        let truncates = how.contains(OpenFlags::TRUNCATE);
        let writes = flags.contains(DescriptorFlags::WRITE);
        if how.contains(OpenFlags::DIRECTORY) && (creates || truncates) {
            return Err(ErrorCode::Invalid.into());
        }
        if truncates && !writes {
            return Err(ErrorCode::Invalid.into());
        }
        if writes || creates {
            self.check_writable()?;
        }

        let mut options = OpenOptions::new();
        // O_NONBLOCK: opening a FIFO must not wait for its other end.
        let mut system = OFlags::NONBLOCK | OFlags::NOCTTY;
        if how.contains(OpenFlags::DIRECTORY) {
            system |= OFlags::DIRECTORY;
        }
        if flags.contains(DescriptorFlags::FILE_INTEGRITY_SYNC) {
            system |= OFlags::SYNC;
        }
        if flags.contains(DescriptorFlags::DATA_INTEGRITY_SYNC) {
            system |= OFlags::DSYNC;
        }
        options
            .read(flags.contains(DescriptorFlags::READ) || !writes)
            .write(writes)
            .custom_flags(custom(system))
            .follow(follow(path_flags));

        let slot = self.budget.open_slot()?;
        let file = open_or_create(&dir.dir, path, &mut options, how, &self.budget)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            let dir = Dir::from_std_file(file.into_std());
            return Ok(Descriptor::Dir(OpenDir::new(Arc::new(dir), slot)));
        }
        if !metadata.is_file() {
            return Err(ErrorCode::NotPermitted.into());
        }
        if writes {
            self.check_unprotected(FileId::of(&metadata))?;
        }
        let file = OpenFile::new(file.into_std(), flags, self.budget.clone(), slot);
        if truncates && metadata.len() > 0 {
            file.set_size(0)?;
        }
        Ok(Descriptor::File(Arc::new(file)))
    }
}

/// Opens what is there, else makes it where that is asked for. O_TRUNC is never passed: what was
/// opened is looked at before it is changed.
fn open_or_create(
    dir: &Dir,
    path: &str,
    options: &mut OpenOptions,
    how: OpenFlags,
    budget: &Budget,
) -> io::Result<File> {
    if !how.contains(OpenFlags::CREATE) {
        return dir.open_with(path, options);
    }
    if !how.contains(OpenFlags::EXCLUSIVE) {
        match dir.open_with(path, options) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
    }
    budget.check_new_file()?;
    if how.contains(OpenFlags::EXCLUSIVE) {
        options.create_new(true);
    } else {
        options.create(true);
    }
    // Making a file needs a handle that writes; WASI lets a reader make one as well.
    options.write(true);
    let file = dir.open_with(path, options)?;
    budget.made_file();
    Ok(file)
}
