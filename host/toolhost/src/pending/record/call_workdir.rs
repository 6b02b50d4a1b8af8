//! The workdir that a pending call ran in.

use std::os::fd::AsFd;
use std::path::PathBuf;

use toolhost_sandbox::Workdir;

/// A workdir, by the path and the inode number that it had when the call ran. Not by its device number,
/// which may be another one after the machine has started again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallWorkdir {
    pub(crate) path: PathBuf,
    pub(crate) inode: u64,
}

impl CallWorkdir {
    /// Returns the identity of a workdir; none if it was removed.
    pub(crate) fn of(workdir: &Workdir) -> Option<Self> {
        let stat = rustix::fs::fstat(workdir.as_fd()).ok()?;
        Some(Self {
            path: workdir.real_path()?,
            inode: stat.st_ino,
        })
    }
}
