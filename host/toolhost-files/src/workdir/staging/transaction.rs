//! The staging directory of one transaction.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cap_std::fs::Dir;

use super::error::{Shortage, StagingError};
use super::records::make_room;
use super::root::{StagingRoot, inode_of};
use crate::workdir::WorkdirHandle;

/// The staging directory of one transaction, `{state root}/staging/{id}`, with mode 0700. It is removed when it
/// is dropped, unless a commit keeps it as an undo record.
///
/// The names in it belong to the transaction: files, directories and links that it makes, and, from the
/// commit on, what was removed or replaced. While it exists, this process holds a lock on it, so that the
/// recovery of another process leaves it alone.
#[derive(Debug)]
pub(crate) struct Staging {
    root: StagingRoot,
    id: String,
    dir: Arc<Dir>,
    path: PathBuf,
    names: AtomicU64,
    is_kept: bool,
}

impl Staging {
    /// Makes the staging directory of a transaction on this workdir. On a full disk, the oldest undo records of the
    /// workdir make room for it.
    ///
    /// # Errors
    /// [`StagingError::OtherFileSystem`] where the workdir lies on another file system or another mount than
    /// the staging root; [`StagingError::NoExchange`] where files cannot be exchanged there;
    /// [`StagingError::Io`] where the directory cannot be made.
    pub(crate) fn create(
        root: &StagingRoot,
        workdir: &WorkdirHandle,
    ) -> Result<Self, StagingError> {
        loop {
            match root.make_dir(workdir) {
                Err(error)
                    if error.shortage() == Some(Shortage::Disk)
                        && inode_of(&workdir.dir).is_ok_and(|inode| make_room(root, inode)) => {}
                made => {
                    let (id, dir) = made?;
                    return Ok(Self::of(root, id, dir));
                }
            }
        }
    }

    pub(super) fn of(root: &StagingRoot, id: String, dir: Dir) -> Self {
        Self {
            path: root.path().join(&id),
            root: root.clone(),
            id,
            dir: Arc::new(dir),
            names: AtomicU64::new(0),
            is_kept: false,
        }
    }

    /// The name of the directory in the staging root.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The directory. Names that [`new_name`](Self::new_name) returned may be made in it.
    pub(crate) fn dir(&self) -> &Arc<Dir> {
        &self.dir
    }

    /// The path of the directory, for messages. Files are reached through [`dir`](Self::dir).
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn root(&self) -> &StagingRoot {
        &self.root
    }

    /// Returns a name that is free in the directory, and that no other call of this function returns: `f0`,
    /// `f1` and so on.
    pub(crate) fn new_name(&self) -> String {
        format!("f{}", self.names.fetch_add(1, Relaxed))
    }

    /// Leaves the directory where it is when this is dropped.
    pub(super) fn leave(&mut self) {
        self.is_kept = true;
    }

    /// Removes the directory when this is dropped.
    pub(super) fn drop_with_contents(&mut self) {
        self.is_kept = false;
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What cannot be removed is removed when the host starts again.
        if !self.is_kept {
            self.root.remove(&self.id, &self.dir);
        }
        // Descriptors of a call may hold the directory open.
        self.root.unlock(&self.dir);
    }
}
