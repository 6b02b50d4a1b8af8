//! The permissions of files: what a guest learns of them, what it may set, and what a replaced file leaves.

use std::os::fd::AsFd;

use cap_primitives::fs::MetadataExt;
use cap_std::fs::{Dir, Metadata};
use rustix::fs::{Mode, OFlags, RawMode};
use rustix::io::Errno;

use super::files::CallFiles;
use crate::platform;
use crate::workdir::{Entry, FileResult, path_beneath};

/// Read, write and execute, of the owner, the group and others.
const PERMISSIONS: u32 = 0o777;

/// What the owner of a file keeps: the host reads it for receipts and copies it for transactions.
const OWNER_OF_FILE: u32 = 0o400;

/// What the owner of a folder keeps: the host commits changes in it and takes them back.
const OWNER_OF_DIR: u32 = 0o700;

impl CallFiles {
    /// Returns the permissions (`0o777`) of what a path from the root leads to. A last symlink is followed unless
    /// `flags` has `O_NOFOLLOW`.
    pub fn mode(&self, path: &str, flags: OFlags) -> FileResult<u32> {
        let metadata = self.tree.metadata(self.root_dir()?, path, flags)?;
        Ok(metadata.mode() & PERMISSIONS)
    }

    /// Sets the permissions of the file or folder that a path from the root leads to, as far as a guest may.
    ///
    /// - The group and others get what new files of this process may have, or what they had. They lose what is not
    ///   asked for.
    /// - The owner keeps reading a file, and everything of a folder.
    /// - Set-user-ID, set-group-ID and sticky bits are never set. A file loses them; a folder keeps them.
    ///
    /// # Errors
    /// `EINVAL` for other bits than permissions, `EPERM` for what is neither a file nor a folder, `ENOTSUP` for a
    /// folder that a transaction did not make.
    pub fn set_mode(&self, path: &str, mode: u32) -> FileResult<()> {
        self.check_writable()?;
        if mode & !PERMISSIONS != 0 {
            return Err(Errno::INVAL.into());
        }
        let entry = self.tree.find(self.root_dir()?, path, OFlags::empty())?;
        self.check_path_unprotected(path, &entry)?;
        let metadata = &entry.metadata;
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(Errno::PERM.into());
        }
        let mode = permitted(metadata, mode, platform::umask());
        if mode == metadata.mode() & 0o7777 {
            return Ok(());
        }
        self.change_mode(&entry, mode)?;
        self.record_changed(&entry.handle);
        Ok(())
    }

    /// Gives a file that is about to replace another one its permissions, if it has those of a new file: a tool that
    /// knows of no modes writes a new file and moves it to the place of the former one.
    pub(super) fn keep_replaced_mode(&self, entry: &Entry, replaced: &Entry) -> Result<(), Errno> {
        let (new, former) = (&entry.metadata, &replaced.metadata);
        let modes = (new.mode() & PERMISSIONS, former.mode() & PERMISSIONS);
        if !self.keeps_modes || modes.0 == modes.1 || !new.is_file() || !former.is_file() {
            return Ok(());
        }
        if modes.0 != 0o666 & !platform::umask() {
            return Ok(());
        }
        match self.change_mode(entry, modes.1) {
            // It belongs to another user, who has made it.
            Err(Errno::PERM) => Ok(()),
            changed => changed,
        }
    }

    fn change_mode(&self, entry: &Entry, mode: u32) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(mode as RawMode);
        self.tree
            .set_mode(entry, mode, &|bytes| self.budget.stage(bytes))
    }

    fn root_dir(&self) -> Result<&Dir, Errno> {
        self.root.as_deref().ok_or(Errno::NOENT)
    }

    /// Records that an attribute of a file or folder was changed in place.
    pub(super) fn record_changed(&self, handle: impl AsFd) {
        self.record(|changes, root| changes.changed(path_beneath(root, handle.as_fd())));
    }
}

/// Returns the mode that a guest gets when it asks for one.
fn permitted(metadata: &Metadata, asked: u32, umask: u32) -> u32 {
    let former = metadata.mode();
    let may_have = 0o700 | !umask | former;
    let (keeps, owner) = if metadata.is_dir() {
        (former & 0o7000, OWNER_OF_DIR)
    } else {
        (0, OWNER_OF_FILE)
    };
    (asked & PERMISSIONS & may_have) | keeps | owner
}
