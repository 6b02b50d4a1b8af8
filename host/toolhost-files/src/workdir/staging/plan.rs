//! The plan of a commit: what its journal begins with.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use rustix::fs::fstat;
use serde::{Deserialize, Serialize};

use super::tree::Left;
use crate::platform::birth_time;
use crate::workdir::WorkdirHandle;
use crate::workdir::tree_path::TreePath;

/// The first line of a journal.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) workdir: WorkdirPlace,
    /// Which call it was, for whoever undoes it.
    pub(super) label: String,
    /// The renames.
    pub(super) ops: Vec<JournalOp>,
    /// What the commit gives a name in the workdir, as it is before the first rename and after the last one.
    pub(super) left: Vec<Left>,
}

/// Which directory a workdir is, and where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WorkdirPlace {
    path: PathText,
    /// Devices get other numbers when a machine starts again; workdir and staging directory share theirs.
    pub(super) inode: u64,
    /// When it was made, where the file system knows: inodes are used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born: Option<(i64, u32)>,
}

/// A rename between the staging directory and the workdir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JournalOp {
    pub(super) way: Way,
    /// The name in the staging directory.
    pub(super) staged: String,
    /// The path in the workdir.
    pub(super) path: TreePath,
    /// What is renamed.
    pub(super) inode: u64,
}

/// Which way a rename goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the staging directory to a free path.
    Put,
    /// From a path to the staging directory.
    Take,
    /// The staged inode for `replaced`, which is at the path.
    Exchange { replaced: u64 },
}

/// A path that may be none of UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}

impl WorkdirPlace {
    pub(super) fn of(workdir: &WorkdirHandle) -> io::Result<Self> {
        Self::of_dir(&workdir.dir, &workdir.real_path().unwrap_or_default())
    }

    /// The place of an open directory that lies at `path`.
    pub(super) fn of_dir(dir: &Dir, path: &Path) -> io::Result<Self> {
        let path = match path.to_str() {
            Some(text) => PathText::Text(text.to_owned()),
            None => PathText::Bytes(path.as_os_str().as_bytes().to_owned()),
        };
        let born = birth_time(dir);
        let inode = fstat(dir)?.st_ino;
        Ok(Self { path, inode, born })
    }

    pub(super) fn path(&self) -> PathBuf {
        match &self.path {
            PathText::Text(text) => text.into(),
            PathText::Bytes(bytes) => OsString::from_vec(bytes.clone()).into(),
        }
    }

    /// Whether it is the same directory, at the same path or moved, and not one that got the inode of one that
    /// was removed. The path decides only where the file system keeps no times of creation.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_it = match (self.born, other.born) {
            (Some(born), Some(other_born)) => born == other_born,
            (None, _) | (_, None) => self.path == other.path,
        };
        self.inode == other.inode && is_it
    }
}

impl Plan {
    /// Returns the first paths that it changes, sorted.
    pub(super) fn files(&self, most: usize) -> Vec<String> {
        let paths: BTreeSet<_> = self.ops.iter().map(|op| &op.path).collect();
        let paths = paths.into_iter().take(most);
        let mut paths: Vec<_> = paths.map(TreePath::to_string).collect();
        paths.sort_unstable();
        paths
    }

    /// Returns how many paths it changes.
    pub(super) fn count(&self) -> usize {
        let paths: HashSet<_> = self.ops.iter().map(|op| &op.path).collect();
        paths.len()
    }
}

/// Whether it is a name that a transaction gives to staged files.
pub(super) fn is_staged_name(name: &str) -> bool {
    let number = name.strip_prefix('f').unwrap_or_default();
    (1..=20).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether each part of a path is the name of an entry.
pub(super) fn is_path(path: &str) -> bool {
    path.split('/').all(is_name)
}

/// Whether each part of a path is the name of an entry.
pub(super) fn is_tree_path(path: &TreePath) -> bool {
    let above = path.above();
    (above.is_empty() || is_path(above)) && !path.name().contains('/') && is_name(path.name())
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('\0')
}

#[cfg(test)]
mod tests;
