//! Finds what a path leads to, without opening it for reading or writing.

use std::fs::File;

use cap_std::fs::{Dir, Metadata};
use rustix::fs::OFlags;

use super::beneath::open_path;
use super::error::FsResult;

/// An entry that exists, opened for its metadata.
pub(super) struct Found {
    pub(super) handle: File,
    pub(super) metadata: Metadata,
    /// Whether the last name of the path is a symlink, which was followed. False if a directory was asked
    /// for.
    pub(super) was_link: bool,
}

impl Found {
    fn new(handle: File, was_link: bool) -> FsResult<Self> {
        let metadata = Metadata::from_file(&handle)?;
        Ok(Self {
            handle,
            metadata,
            was_link,
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
