//! Where the changes of a transaction lie until they are committed, and where what they replaced lies until it
//! is dropped: a private directory on the file system of the workdir.
//!
//! A commit is a list of renames between this directory, whose names are flat, and paths of the workdir.

mod change_set;
mod error;
mod private;
mod root;
mod stamp;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cap_std::fs::Dir;

use super::WorkdirHandle;

pub(crate) use change_set::{ChangeSet, RenameOp};
pub use error::{CommitError, StagingError};
pub use root::StagingRoot;
pub(crate) use stamp::{FileKind, Stamp};

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
    /// Makes the staging directory of a transaction on this workdir.
    ///
    /// # Errors
    /// [`StagingError::OtherFileSystem`] where the workdir lies on another file system or another mount than
    /// the staging root, or there is none that can exchange files; [`StagingError::Io`] where the directory
    /// cannot be made.
    pub(crate) fn create(
        root: &StagingRoot,
        workdir: &WorkdirHandle,
    ) -> Result<Self, StagingError> {
        let (id, dir) = root.make_dir(workdir)?;
        Ok(Self {
            path: root.path().join(&id),
            root: root.clone(),
            id,
            dir: Arc::new(dir),
            names: AtomicU64::new(0),
            is_kept: false,
        })
    }

    /// The directory. Names that [`new_name`](Self::new_name) returned may be made in it.
    pub(crate) fn dir(&self) -> &Arc<Dir> {
        &self.dir
    }

    /// The path of the directory, for messages. Files are reached through [`dir`](Self::dir).
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a name that is free in the directory, and that no other call of this function returns: `f0`,
    /// `f1` and so on.
    pub(crate) fn new_name(&self) -> String {
        format!("f{}", self.names.fetch_add(1, Relaxed))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed is removed when the host starts again.
            self.root.remove(&self.id, &self.dir);
        }
    }
}
