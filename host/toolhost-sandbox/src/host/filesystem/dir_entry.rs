//! A name in a directory, where it is created, moved or removed.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use cap_primitives::fs::MetadataExt;
use cap_std::fs::{Dir, Metadata};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use toolhost_contract::FileId;

use super::beneath::{open_beneath, open_path, path_beneath};
use super::budget::Budget;
use super::error::{FsError, FsResult};
use crate::workdir::{ChangeGuard, FreedSpace, Overlay, Target, WorkdirUsage, file_id};
use toolhost_files::platform::{PATH_ONLY, read_link_of};

/// A name in an open directory. Its parent is resolved once and kept open, so that the entry that was
/// checked is the entry that is changed, even if another call replaces a directory on the path.
///
/// In a transaction the name is one of the merged view, and its changes are kept apart.
pub(super) struct DirEntryRef<'a> {
    overlay: Option<&'a Overlay>,
    start: &'a Dir,
    /// The parent, if it is not `start`.
    opened: Option<Dir>,
    /// The part of the guest's path before the name.
    parent_path: &'a str,
    name: &'a str,
}

/// Splits a path before its last name. Slashes behind the name stay with it. If the path ends with
/// `.` or `..`, all of it is the parent.
fn split(path: &str) -> (&str, &str) {
    let trimmed = path.trim_end_matches('/');
    let at = trimmed.rfind('/').map_or(0, |slash| slash + 1);
    match (trimmed.get(at..), path.split_at_checked(at)) {
        (None | Some("" | "." | ".."), _) | (_, None) => (path, "."),
        (Some(_), Some(split)) => split,
    }
}

/// Returns the last name of a path without the slashes behind it.
pub(super) fn last_name(path: &str) -> &str {
    split(path).1.trim_end_matches('/')
}

impl<'a> DirEntryRef<'a> {
    /// Resolves the parent of `path`, beneath `start`, in the merged view of `overlay` if there is one.
    pub(super) fn new(
        overlay: Option<&'a Overlay>,
        start: &'a Dir,
        path: &'a str,
    ) -> FsResult<Self> {
        let (parent_path, name) = split(path);
        let opened = if parent_path.is_empty() && !path.is_empty() {
            None
        } else {
            let parent = match overlay {
                None => open_beneath(start, parent_path, PATH_ONLY | OFlags::DIRECTORY)?,
                Some(overlay) => overlay.find(start, parent_path, OFlags::DIRECTORY)?.handle,
            };
            Some(Dir::from_std_file(parent))
        };
        Ok(Self {
            overlay,
            start,
            opened,
            parent_path,
            name,
        })
    }

    fn parent(&self) -> &Dir {
        self.opened.as_ref().unwrap_or(self.start)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.parent().as_fd()
    }

    pub(super) fn parent_id(&self) -> io::Result<FileId> {
        Ok(file_id(&self.parent().dir_metadata()?))
    }

    /// The name as something that a call changes.
    pub(super) fn target(&self) -> io::Result<Target> {
        Ok(Target::name(self.parent_id()?, self.name()))
    }

    /// The name without the slashes behind it.
    pub(super) fn name(&self) -> &str {
        self.name.trim_end_matches('/')
    }

    /// Returns the path of the entry in the workdir, as the kernel knows it.
    pub(super) fn path_in(&self, root: &Dir) -> Option<String> {
        let above = path_beneath(root, self.fd())?;
        match above.as_str() {
            "" => Some(self.name().to_owned()),
            _ => Some(format!("{above}/{}", self.name())),
        }
    }

    /// Returns the path from the same start to the target of a symlink of this name.
    pub(super) fn target_path(&self, target: String) -> String {
        if target.starts_with('/') {
            return target;
        }
        format!("{}{target}", self.parent_path)
    }

    /// Opens the entry itself, without following a symlink. None if it does not exist.
    pub(super) fn open(&self) -> FsResult<Option<OpenEntry<'a>>> {
        let opened = match self.overlay {
            None => open_path(self.parent(), self.name, OFlags::NOFOLLOW),
            Some(overlay) => overlay
                .find(self.parent(), self.name, OFlags::NOFOLLOW)
                .map(|found| found.handle)
                .map_err(FsError::from),
        };
        match opened {
            Err(FsError::Errno(Errno::NOENT)) => Ok(None),
            opened => Ok(Some(OpenEntry::new(self.overlay, opened?)?)),
        }
    }

    // The kernel follows no symlink in a single name, unless a slash follows the name: callers of
    // those functions that would follow one then check the type of the entry first.

    pub(super) fn create_file(&self, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        match self.overlay {
            None => rustix::fs::openat(self.fd(), self.name, flags, mode).map(File::from),
            Some(overlay) => overlay.create_file(self.parent(), self.name, flags, mode),
        }
    }

    pub(super) fn create_dir(&self) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(0o777);
        match self.overlay {
            None => rustix::fs::mkdirat(self.fd(), self.name, mode),
            Some(overlay) => overlay.create_dir(self.parent(), self.name, mode),
        }
    }

    pub(super) fn create_symlink(&self, target: &str) -> Result<(), Errno> {
        match self.overlay {
            None => rustix::fs::symlinkat(target, self.fd(), self.name),
            Some(overlay) => overlay.create_symlink(self.parent(), self.name, target),
        }
    }

    /// Gives the entry a second name. `charge` counts the bytes of a file of the workdir that a transaction
    /// copies first.
    pub(super) fn hard_link(
        &self,
        to: &DirEntryRef<'_>,
        charge: &dyn Fn(u64) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        match self.overlay {
            None => rustix::fs::linkat(self.fd(), self.name, to.fd(), to.name, AtFlags::empty()),
            Some(overlay) => {
                let (from, to) = ((self.parent(), self.name), (to.parent(), to.name));
                overlay.hard_link(from, to, charge)
            }
        }
    }

    pub(super) fn read_link(&self) -> FsResult<Vec<u8>> {
        let target = match self.overlay {
            None => rustix::fs::readlinkat(self.fd(), self.name(), Vec::new())?,
            Some(overlay) => {
                let link = overlay.find(self.parent(), self.name(), OFlags::NOFOLLOW)?;
                read_link_of(link.handle)?
            }
        };
        Ok(target.into_bytes())
    }

    pub(super) fn remove_file(&self) -> Result<(), Errno> {
        match self.overlay {
            None => rustix::fs::unlinkat(self.fd(), self.name, AtFlags::empty()),
            Some(overlay) => overlay.remove_file(self.parent(), self.name),
        }
    }

    pub(super) fn remove_dir(&self) -> Result<(), Errno> {
        match self.overlay {
            None => rustix::fs::unlinkat(self.fd(), self.name, AtFlags::REMOVEDIR),
            Some(overlay) => overlay.remove_dir(self.parent(), self.name),
        }
    }

    pub(super) fn rename(&self, to: &DirEntryRef<'_>) -> Result<(), Errno> {
        match self.overlay {
            None => rustix::fs::renameat(self.fd(), self.name, to.fd(), to.name),
            Some(overlay) => overlay.rename((self.parent(), self.name), (to.parent(), to.name)),
        }
    }
}

/// An entry, opened for its metadata.
pub(super) struct OpenEntry<'o> {
    overlay: Option<&'o Overlay>,
    handle: File,
    pub(super) metadata: Metadata,
    id: FileId,
    /// Whether it is a file without another name.
    was_last: bool,
}

impl<'o> OpenEntry<'o> {
    fn new(overlay: Option<&'o Overlay>, handle: File) -> io::Result<Self> {
        let metadata = Metadata::from_file(&handle)?;
        let id = file_id(&metadata);
        Ok(Self {
            overlay,
            handle,
            id: overlay.map_or(Ok(id), |overlay| overlay.identity(id))?,
            metadata,
            was_last: false,
        })
    }

    /// Its identity; of a copy that a transaction has made, that of the file of the workdir.
    pub(super) fn id(&self) -> FileId {
        self.id
    }

    fn links(&self, metadata: &Metadata) -> Result<u64, Errno> {
        match self.overlay {
            None => Ok(metadata.nlink()),
            Some(overlay) => overlay.links(metadata),
        }
    }

    /// Locks the size of the entry until its removal is counted, and reads its metadata again.
    pub(super) fn lock_size<'a>(&mut self, budget: &'a Budget) -> io::Result<ChangeGuard<'a, 1>> {
        let guard = budget.lock([Target::Size(self.id())])?;
        self.metadata = Metadata::from_file(&self.handle)?;
        self.was_last = self.metadata.is_file() && self.links(&self.metadata)? == 1;
        Ok(guard)
    }

    /// Returns the space freed by removing the entry, under the lock of its size: none if the file has other
    /// names, if another call had removed this one, or if a call has it open.
    pub(super) fn freed(&self, usage: &WorkdirUsage) -> FreedSpace {
        let now = Metadata::from_file(&self.handle).ok();
        now.filter(|now| self.was_last && self.links(now) == Ok(0))
            .filter(|_| usage.remove(self.id()))
            .map_or_else(FreedSpace::default, |removed| FreedSpace {
                bytes: removed.len(),
                on_disk: removed.blocks().saturating_mul(512),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn splits_the_last_name_from_its_parent() {
        for (path, parent_path, name) in [
            ("a", "", "a"),
            ("a/", "", "a/"),
            ("a/b", "a/", "b"),
            ("a//b//", "a//", "b//"),
            ("/a", "/", "a"),
            ("../a", "../", "a"),
            ("", "", "."),
            ("/", "/", "."),
            (".", ".", "."),
            ("..", "..", "."),
            ("a/..", "a/..", "."),
            ("a/./", "a/./", "."),
        ] {
            assert_eq!(split(path), (parent_path, name), "{path}");
        }
    }
}
