//! What a path leads to.

use std::fs::File;

use cap_std::fs::{Dir, Metadata};
use rustix::fs::OFlags;
use rustix::io::Errno;
use toolhost_contract::FileId;

use super::beneath::open_path;
use super::error::FileResult;
use super::identity::file_id;
use crate::platform::read_link_of;

/// A name in a directory, which may be of either layer of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameIn {
    pub(super) dir: FileId,
    pub(super) name: String,
}

/// What a path leads to, opened for its metadata and neither for reading nor for writing.
pub(crate) struct Entry {
    pub(crate) handle: File,
    pub(crate) metadata: Metadata,
    /// Whether the last name of the path is a symlink, which was followed. False if a directory was asked for.
    pub(crate) was_link: bool,
    /// Where it lies in a transaction. None where the kernel resolved the path.
    pub(super) place: Option<MergedPlace>,
}

/// Where an entry of the merged view lies.
pub(super) struct MergedPlace {
    /// Whether it is in the staging directory, and no entry of the workdir.
    pub(super) is_staged: bool,
    /// The name that shows it. None if the path ends with a slash, `.` or `..`.
    pub(super) home: Option<NameIn>,
}

impl Entry {
    fn new(handle: File, was_link: bool) -> FileResult<Self> {
        let metadata = Metadata::from_file(&handle)?;
        Ok(Self {
            handle,
            metadata,
            was_link,
            place: None,
        })
    }

    /// Finds an entry with the kernel's path resolution. A last symlink is followed unless `flags` has
    /// `O_NOFOLLOW`.
    pub(super) fn find(dir: &Dir, path: &str, flags: OFlags) -> FileResult<Self> {
        // With the first flag no link is followed. With the second it does not matter: only files are written.
        if flags.intersects(OFlags::NOFOLLOW | OFlags::DIRECTORY) {
            return Self::new(open_path(dir, path, flags)?, false);
        }
        // First the entry itself: few are symlinks, and callers need not find that out again.
        let entry = Self::new(open_path(dir, path, flags | OFlags::NOFOLLOW)?, false)?;
        if !entry.metadata.is_symlink() {
            return Ok(entry);
        }
        Self::new(open_path(dir, path, flags)?, true)
    }

    /// The identity of the file of the system, which may be a copy that a transaction has made.
    pub(crate) fn file_id(&self) -> FileId {
        file_id(&self.metadata)
    }

    /// Whether it lies in the staging directory of a transaction.
    pub(super) fn is_staged(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.is_staged)
    }

    /// Returns the target of a symlink.
    ///
    /// # Errors
    /// `EINVAL` if it is none.
    pub(crate) fn read_link(&self) -> Result<Vec<u8>, Errno> {
        if !self.metadata.is_symlink() {
            return Err(Errno::INVAL);
        }
        Ok(read_link_of(&self.handle)?.into_bytes())
    }
}
