//! The verbs of files, in the workdir itself or in a transaction on it.
//!
//! Only this file decides whether the kernel or the overlay performs a verb. What reads is the kernel's until the
//! first change of a transaction; what changes is never the kernel's in a transaction.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

use cap_primitives::fs::MetadataExt;
use cap_std::fs::{Dir, Metadata};
use rustix::fs::{AtFlags, Mode, OFlags, Timestamps};
use rustix::io::Errno;
use toolhost_contract::FileId;

use super::beneath::{open_beneath, open_path, path_beneath};
use super::changes::Target;
use super::entry::Entry;
use super::error::{FileError, FileResult};
use super::identity::{file_id, id_of};
use super::overlay::{Charge, ListingChanges, Overlay, WorkdirFile};
use crate::platform::{self, PATH_ONLY};

/// Flags of each open. `O_NONBLOCK`: opening must not wait, should the file have been replaced by a FIFO.
const OPEN_FLAGS: OFlags = OFlags::NONBLOCK
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Where the files of a workdir are read and changed.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    /// In the workdir itself.
    Direct,
    /// In a transaction, which keeps its changes apart.
    Transaction(Arc<Overlay>),
}

impl Tree {
    /// The merged view, once it differs from the workdir: until then, the kernel resolves paths.
    fn merged(&self) -> Option<&Overlay> {
        match self {
            Self::Transaction(overlay) if overlay.is_active() => Some(overlay),
            Self::Direct | Self::Transaction(_) => None,
        }
    }

    /// Finds an entry. A last symlink is followed unless `flags` has `O_NOFOLLOW`.
    pub(crate) fn find(&self, dir: &Dir, path: &str, flags: OFlags) -> FileResult<Entry> {
        match self.merged() {
            None => Entry::find(dir, path, flags),
            Some(overlay) => overlay.find(dir, path, flags),
        }
    }

    /// Reads the metadata of what a path leads to.
    pub(crate) fn metadata(&self, dir: &Dir, path: &str, flags: OFlags) -> FileResult<Metadata> {
        match self.merged() {
            None => Ok(Metadata::from_file(&open_path(dir, path, flags)?)?),
            Some(overlay) => Ok(overlay.find(dir, path, flags)?.metadata),
        }
    }

    /// Returns the identity by which guests know a file: of a copy that a transaction has made, that of the file
    /// of the workdir.
    pub(crate) fn identity(&self, metadata: &Metadata) -> Result<FileId, Errno> {
        let id = file_id(metadata);
        self.merged().map_or(Ok(id), |overlay| overlay.identity(id))
    }

    /// Returns how many names a file or directory has.
    pub(crate) fn links(&self, metadata: &Metadata) -> Result<u64, Errno> {
        match self.merged() {
            None => Ok(metadata.nlink()),
            Some(overlay) => overlay.links(metadata),
        }
    }

    /// Opens the very file that a path led to. A transaction opens a file of the workdir for reading only, and notes
    /// it for its commit.
    pub(crate) fn open(
        &self,
        (dir, path): (&Dir, &str),
        follow: OFlags,
        entry: &Entry,
        access: OFlags,
    ) -> FileResult<WorkdirFile> {
        let open = |access| open_found((dir, path), follow, entry, access | OPEN_FLAGS);
        // With the access that was asked for, so that the kernel checks the permissions in a transaction as well.
        let file = open(access)?;
        let Self::Transaction(overlay) = self else {
            return Ok(WorkdirFile::Own(file));
        };
        let writes = access != OFlags::RDONLY;
        let file = if writes && !entry.is_staged() {
            open(OFlags::RDONLY)?
        } else {
            file
        };
        let is_kernels = entry.place.is_none() && overlay.is_root(dir);
        let given = is_kernels.then_some(path);
        Ok(overlay.opened(file, entry, writes, given)?)
    }

    /// Returns what differs between the own entries of a directory and those to list, or `None` where they are the same.
    pub(crate) fn listing_changes(&self, dir: &Dir) -> Result<Option<ListingChanges>, Errno> {
        self.merged()
            .map_or(Ok(None), |overlay| overlay.listing(dir))
    }

    /// Sets the times of what a path led to. A transaction copies a file of the workdir first.
    pub(crate) fn set_times(
        &self,
        entry: &Entry,
        times: &Timestamps,
        charge: Charge<'_>,
    ) -> Result<(), Errno> {
        let copied = self.copied(entry, charge)?;
        platform::set_times(copied.as_ref().unwrap_or(&entry.handle), times)
    }

    /// Sets the permissions of what a path led to. A transaction copies a file of the workdir first.
    ///
    /// # Errors
    /// `ENOTSUP` in a transaction for a directory of the workdir, as it would be changed in place.
    pub(crate) fn set_mode(
        &self,
        entry: &Entry,
        mode: Mode,
        charge: Charge<'_>,
    ) -> Result<(), Errno> {
        let copied = self.copied(entry, charge)?;
        platform::set_mode(copied.as_ref().unwrap_or(&entry.handle), mode)
    }

    /// Copies what a path led to, if it is of the workdir and the tree is a transaction. Returns the copy.
    fn copied(&self, entry: &Entry, charge: Charge<'_>) -> Result<Option<File>, Errno> {
        match self {
            Self::Direct => Ok(None),
            Self::Transaction(overlay) => overlay.copy_entry(entry, charge),
        }
    }

    /// Sets the times of an open directory.
    ///
    /// # Errors
    /// `ENOTSUP` in a transaction for a directory of the workdir, as it would be changed in place.
    pub(crate) fn set_dir_times(&self, dir: &Dir, times: &Timestamps) -> FileResult<()> {
        match self {
            Self::Transaction(overlay) if overlay.is_lower_dir(id_of(dir)?)? => {
                Err(Errno::NOTSUP.into())
            }
            Self::Direct | Self::Transaction(_) => Ok(platform::set_times(dir, times)?),
        }
    }

    /// Returns where a directory that a transaction has made lies: the directory of the workdir above it, and the
    /// names from there. Returns `None` for other directories.
    pub(crate) fn made_beneath(&self, dir: FileId) -> Result<Option<(FileId, Vec<String>)>, Errno> {
        self.merged()
            .map_or(Ok(None), |overlay| overlay.made_beneath(dir))
    }

    /// Resolves the directory of the last name of a path.
    pub(crate) fn name<'a>(&'a self, start: &'a Dir, path: &'a str) -> FileResult<EntryName<'a>> {
        let (parent_path, name) = split(path);
        let parent = if parent_path.is_empty() && !path.is_empty() {
            None
        } else {
            let flags = OFlags::DIRECTORY;
            let handle = match self.merged() {
                None => open_beneath(start, parent_path, PATH_ONLY | flags)?,
                Some(overlay) => overlay.find(start, parent_path, flags)?.handle,
            };
            Some(Dir::from_std_file(handle))
        };
        Ok(EntryName {
            tree: self,
            start,
            parent,
            parent_path,
            name,
        })
    }
}

/// Opens the very file that a path led to.
fn open_found(
    (dir, path): (&Dir, &str),
    follow: OFlags,
    entry: &Entry,
    flags: OFlags,
) -> FileResult<File> {
    // Within a transaction, the path may already lead to changed content.
    if platform::has_proc() || entry.place.is_some() {
        return Ok(platform::open_again(&entry.handle, flags)?.into());
    }
    // The path is resolved again, and may lead to another file by now.
    let file = open_beneath(dir, path, flags | follow)?;
    if file_id(&Metadata::from_file(&file)?) != entry.file_id() {
        return Err(Errno::AGAIN.into());
    }
    Ok(file)
}

/// A name in an open directory. Its parent is resolved once and kept open, so that the entry that was
/// checked is the entry that is changed, even if another call replaces a directory on the path.
pub(crate) struct EntryName<'a> {
    tree: &'a Tree,
    start: &'a Dir,
    /// The parent, if it is not `start`.
    parent: Option<Dir>,
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
pub(crate) fn last_name(path: &str) -> &str {
    split(path).1.trim_end_matches('/')
}

impl EntryName<'_> {
    fn parent(&self) -> &Dir {
        self.parent.as_ref().unwrap_or(self.start)
    }

    pub(crate) fn parent_id(&self) -> FileResult<FileId> {
        Ok(id_of(self.parent())?)
    }

    /// The name as something that a call changes.
    pub(crate) fn target(&self) -> FileResult<Target> {
        Ok(Target::name(self.parent_id()?, self.name()))
    }

    /// The name without the slashes behind it.
    pub(crate) fn name(&self) -> &str {
        self.name.trim_end_matches('/')
    }

    /// Returns the path of the entry in the workdir, as the kernel knows it.
    pub(crate) fn path_in(&self, root: &Dir) -> Option<String> {
        let above = path_beneath(root, self.parent().as_fd())?;
        match above.as_str() {
            "" => Some(self.name().to_owned()),
            _ => Some(format!("{above}/{}", self.name())),
        }
    }

    /// Returns the path from the same start to where the symlink of this name leads, or `None` where it is no symlink.
    pub(crate) fn link_target(&self) -> Option<String> {
        let link = self.tree.find(self.parent(), self.name(), OFlags::NOFOLLOW);
        let target = String::from_utf8(link.ok()?.read_link().ok()?).ok()?;
        Some(if target.starts_with('/') {
            target
        } else {
            format!("{}{target}", self.parent_path)
        })
    }

    /// Finds the entry itself, without following a symlink. Returns `None` where it is missing.
    pub(crate) fn find(&self) -> FileResult<Option<Entry>> {
        match self.tree.find(self.parent(), self.name, OFlags::NOFOLLOW) {
            Err(FileError::Errno(Errno::NOENT)) => Ok(None),
            found => found.map(Some),
        }
    }

    // The kernel follows no symlink in a single name, unless a slash follows the name: callers of
    // those functions that would follow one then check the type of the entry first.

    pub(crate) fn create_file(&self, access: OFlags) -> Result<File, Errno> {
        let flags = access | OPEN_FLAGS | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(0o666);
        match self.tree {
            Tree::Direct => Ok(rustix::fs::openat(self.parent(), self.name, flags, mode)?.into()),
            Tree::Transaction(overlay) => {
                overlay.create_file(self.parent(), self.name, flags, mode)
            }
        }
    }

    pub(crate) fn create_dir(&self) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(0o777);
        match self.tree {
            Tree::Direct => rustix::fs::mkdirat(self.parent(), self.name, mode),
            Tree::Transaction(overlay) => overlay.create_dir(self.parent(), self.name, mode),
        }
    }

    pub(crate) fn create_symlink(&self, target: &str) -> Result<(), Errno> {
        match self.tree {
            Tree::Direct => rustix::fs::symlinkat(target, self.parent(), self.name),
            Tree::Transaction(overlay) => overlay.create_symlink(self.parent(), self.name, target),
        }
    }

    /// Gives the entry a second name. A transaction copies a file of the workdir first.
    pub(crate) fn hard_link(&self, to: &EntryName<'_>, charge: Charge<'_>) -> Result<(), Errno> {
        let (from, to) = ((self.parent(), self.name), (to.parent(), to.name));
        match self.tree {
            Tree::Direct => rustix::fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty()),
            Tree::Transaction(overlay) => overlay.hard_link(from, to, charge),
        }
    }

    pub(crate) fn remove_file(&self) -> Result<(), Errno> {
        match self.tree {
            Tree::Direct => rustix::fs::unlinkat(self.parent(), self.name, AtFlags::empty()),
            Tree::Transaction(overlay) => overlay.remove_file(self.parent(), self.name),
        }
    }

    pub(crate) fn remove_dir(&self) -> Result<(), Errno> {
        match self.tree {
            Tree::Direct => rustix::fs::unlinkat(self.parent(), self.name, AtFlags::REMOVEDIR),
            Tree::Transaction(overlay) => overlay.remove_dir(self.parent(), self.name),
        }
    }

    pub(crate) fn rename(&self, to: &EntryName<'_>) -> Result<(), Errno> {
        let (from, to) = ((self.parent(), self.name), (to.parent(), to.name));
        match self.tree {
            Tree::Direct => rustix::fs::renameat(from.0, from.1, to.0, to.1),
            Tree::Transaction(overlay) => overlay.rename(from, to),
        }
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
