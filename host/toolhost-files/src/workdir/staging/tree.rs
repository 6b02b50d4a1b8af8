//! What a commit left in the workdir, so that an undo can tell whether it was changed since.

use std::collections::HashSet;
use std::ffi::CString;
use std::io;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::contents::{names, open_dir};
use super::error::LISTED_MAX;
use super::renames::Renames;
use super::stamp::{FileKind, of_stat};
use crate::platform::mode;
use crate::workdir::tree_path::TreePath;

/// A file, directory or link that a commit gave a name in the workdir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Left {
    /// Its path.
    pub(super) path: TreePath,
    pub(super) stamp: LeftStamp,
    /// What is in a directory that the transaction made.
    pub(super) tree: Option<Vec<TreeEntry>>,
}

/// Kind, inode, size, time of the last change of the content, mode, user and group. Not the time of the last
/// change of these: renaming a file changes it, as later commits and their undos do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeftStamp(FileKind, u64, u64, (i64, i64), (u32, u32, u32));

/// Depth, name and stamp. The entries of a directory come right after it, sorted by their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TreeEntry(usize, String, LeftStamp);

impl LeftStamp {
    pub(super) fn of(found: &Stat) -> Self {
        let stamp = of_stat(found);
        let owner = (mode(found), found.st_uid, found.st_gid);
        Self(stamp.kind, stamp.id.inode, stamp.size, stamp.mtime, owner)
    }

    pub(super) fn inode(&self) -> u64 {
        self.1
    }

    /// Whether it is the same file as before, and unchanged. Of a directory, only which one it is counts.
    pub(super) fn is_as(&self, now: &Self) -> bool {
        match self.0 {
            FileKind::Dir => (self.0, self.1) == (now.0, now.1),
            FileKind::File | FileKind::Link | FileKind::Other => self == now,
        }
    }
}

impl TreeEntry {
    /// How deep it lies: 1 in the top itself.
    pub(super) fn depth(&self) -> usize {
        self.0
    }

    pub(super) fn name(&self) -> &str {
        &self.1
    }

    pub(super) fn kind(&self) -> FileKind {
        self.2.0
    }
}

/// Returns the paths of what others have made, changed or removed in directories that a commit made.
pub(super) fn changed_trees(renames: &Renames<'_>, left: &[&Left]) -> Vec<String> {
    let tops: HashSet<u64> = left.iter().map(|left| left.stamp.inode()).collect();
    let changed = |left: &&Left| {
        let before = left.tree.as_ref()?;
        let now = renames
            .place(&left.path)
            .and_then(|place| open_dir(&place.parent, place.name))
            .map_err(io::Error::from)
            .and_then(|dir| read_tree(dir, &tops));
        match now {
            Ok(now) => difference(before, &now).map(|path| format!("{}/{path}", left.path)),
            Err(_) => Some(left.path.to_string()),
        }
    };
    left.iter().filter_map(changed).take(LISTED_MAX).collect()
}

/// Returns the paths of what a commit has put into the workdir and others have changed since. What is not
/// there by now, or is another file, is left out.
pub(super) fn changed_since(renames: &Renames<'_>, left: &[Left]) -> Result<Vec<String>, Errno> {
    let (mut there, mut changed) = (Vec::new(), Vec::new());
    for left in left {
        let now = renames.stat(&left.path)?.as_ref().map(LeftStamp::of);
        match now.filter(|now| now.inode() == left.stamp.inode()) {
            Some(now) if left.stamp.is_as(&now) => there.push(left),
            Some(_) if changed.len() < LISTED_MAX => changed.push(left.path.to_string()),
            Some(_) | None => {}
        }
    }
    changed.extend(changed_trees(renames, &there));
    Ok(changed)
}

/// Returns the path of the first difference between two trees, from their top.
fn difference(before: &[TreeEntry], now: &[TreeEntry]) -> Option<String> {
    let is_same = |(one, other): &(&TreeEntry, &TreeEntry)| {
        (one.0, &one.1) == (other.0, &other.1) && one.2.is_as(&other.2)
    };
    let same = before.iter().zip(now).take_while(is_same).count();
    if same == before.len() && same == now.len() {
        None
    } else {
        Some(
            path_of(now, same)
                .or_else(|| path_of(before, same))
                .unwrap_or_default(),
        )
    }
}

/// Returns the path of an entry.
fn path_of(tree: &[TreeEntry], index: usize) -> Option<String> {
    let mut depth = tree.get(index)?.0;
    let mut names = vec![tree.get(index)?.1.as_str()];
    for entry in tree.get(..index)?.iter().rev() {
        if entry.0 < depth {
            names.push(&entry.1);
            depth = entry.0;
        }
    }
    names.reverse();
    Some(names.join("/"))
}

/// Reads all that is in a directory, without following links. Leaves out the files and directories with the
/// inodes `without`, and what is in them. The depth of a tree costs neither stack nor descriptors.
pub(super) fn read_tree(top: Dir, without: &HashSet<u64>) -> io::Result<Vec<TreeEntry>> {
    let mut entries = Vec::new();
    let mut above = vec![Level::of(&top)?];
    let mut here = top;
    while let Some(level) = above.last_mut() {
        let Some(name) = level.rest.next() else {
            above.pop();
            if let Some(level) = above.last() {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                here = Dir::from_std_file(openat(&here, "..", flags, Mode::empty())?.into());
                check(&here, level.inode)?;
            }
            continue;
        };
        let stamp = LeftStamp::of(&statat(&here, &name, AtFlags::SYMLINK_NOFOLLOW)?);
        if without.contains(&stamp.inode()) {
            continue;
        }
        let text = name.to_string_lossy().into_owned();
        entries.push(TreeEntry(above.len(), text, stamp));
        if stamp.0 == FileKind::Dir {
            let next = open_dir(&here, &name)?;
            check(&next, stamp.inode())?;
            above.push(Level::of(&next)?);
            here = next;
        }
    }
    Ok(entries)
}

/// A directory on the way to the one that is read.
struct Level {
    inode: u64,
    /// The names that were not read yet.
    rest: std::vec::IntoIter<CString>,
}

impl Level {
    fn of(dir: &Dir) -> io::Result<Self> {
        let mut names: Vec<_> = names(dir)?.into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        let inode = fstat(dir)?.st_ino;
        let rest = names.into_iter();
        Ok(Self { inode, rest })
    }
}

/// Checks that another program has not moved a directory meanwhile.
fn check(dir: &Dir, inode: u64) -> io::Result<()> {
    if fstat(dir)?.st_ino == inode {
        Ok(())
    } else {
        Err(Errno::STALE.into())
    }
}
