//! Finds what a path leads to, without opening it for reading or writing.

use std::fs::File;

use cap_std::fs::{Dir, Metadata};
use rustix::fs::OFlags;

use super::beneath::open_path;
use super::error::FsResult;
use crate::workdir::{NameIn, Walked};

/// An entry that exists, opened for its metadata.
pub(super) struct Found {
    pub(super) handle: File,
    pub(super) metadata: Metadata,
    /// Whether the last name of the path is a symlink, which was followed. False if a directory was asked
    /// for.
    pub(super) was_link: bool,
    /// Where it lies in a transaction.
    pub(super) merged: Option<MergedPlace>,
}

/// Where an entry lies in a transaction.
pub(super) struct MergedPlace {
    /// Whether it is in the staging directory, and no entry of the workdir.
    pub(super) is_staged: bool,
    /// The name that shows it, if the merged view resolved the path.
    pub(super) home: Option<NameIn>,
}

impl MergedPlace {
    /// Returns what the merged view found here.
    pub(super) fn of(self, handle: File, metadata: Metadata) -> Walked {
        Walked {
            handle,
            metadata,
            was_link: false,
            is_staged: self.is_staged,
            home: self.home,
        }
    }
}

impl From<Walked> for Found {
    fn from(found: Walked) -> Self {
        Self {
            handle: found.handle,
            metadata: found.metadata,
            was_link: found.was_link,
            merged: Some(MergedPlace {
                is_staged: found.is_staged,
                home: found.home,
            }),
        }
    }
}

impl Found {
    fn new(handle: File, was_link: bool) -> FsResult<Self> {
        let metadata = Metadata::from_file(&handle)?;
        Ok(Self {
            handle,
            metadata,
            was_link,
            merged: None,
        })
    }
}

/// Finds an existing file or directory. A last symlink is followed unless `flags` has `O_NOFOLLOW`.
pub(super) fn find(dir: &Dir, path: &str, flags: OFlags) -> FsResult<Found> {
    // With the first flag no link is followed. With the second it does not matter: only files are written.
    if flags.intersects(OFlags::NOFOLLOW | OFlags::DIRECTORY) {
        return Found::new(open_path(dir, path, flags)?, false);
    }
    // First the entry itself: few are symlinks, and callers need not find that out again.
    let entry = Found::new(open_path(dir, path, flags | OFlags::NOFOLLOW)?, false)?;
    if !entry.metadata.is_symlink() {
        return Ok(entry);
    }
    Found::new(open_path(dir, path, flags)?, true)
}
