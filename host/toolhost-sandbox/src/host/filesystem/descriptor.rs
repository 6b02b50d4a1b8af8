//! The handles of open files and directories.

use std::io;
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use rustix::io::Errno;

use super::budget::OpenSlot;
use super::error::FsResult;
use super::file::OpenFile;

/// An open file or directory.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub enum Descriptor {
    /// A regular file.
    File(Arc<OpenFile>),
    /// A directory. The handle of the workdir itself takes no slot.
    Dir {
        dir: Arc<Dir>,
        _slot: Option<OpenSlot>,
    },
}

impl Descriptor {
    pub(super) fn file(&self) -> FsResult<&Arc<OpenFile>> {
        match self {
            Self::File(file) => Ok(file),
            Self::Dir { .. } => Err(Errno::ISDIR.into()),
        }
    }

    /// Returns the file if it was opened for reading.
    pub(super) fn file_to_read(&self) -> FsResult<&Arc<OpenFile>> {
        let file = self.file()?;
        file.access.read.then_some(file).ok_or(Errno::BADF.into())
    }

    /// Returns the file if it was opened for writing.
    pub(super) fn file_to_write(&self) -> FsResult<&Arc<OpenFile>> {
        let file = self.file()?;
        file.access.write.then_some(file).ok_or(Errno::BADF.into())
    }

    pub(super) fn dir(&self) -> FsResult<&Dir> {
        match self {
            Self::Dir { dir, .. } => Ok(dir),
            Self::File(_) => Err(Errno::NOTDIR.into()),
        }
    }

    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        match self {
            Self::File(file) => file.metadata(),
            Self::Dir { dir, .. } => dir.dir_metadata(),
        }
    }
}
